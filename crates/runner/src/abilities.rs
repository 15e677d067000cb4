//! What a runtime can do, as values that only a runtime with the matching trait can make.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use execution_model::pipeline::{PipelineRuntime, Stages};
use execution_model::server::{ListenSpec, ServerState};
use execution_model::{HandlerRuntime, Server, ServerRuntime};
use load_driver::in_process::{self, Account, Board, Offer, StagedOffer};
use workload::{LoopLag, ServerCounts};

/// What a runtime can and cannot do: a field for each ability that there is.
pub struct Abilities<R> {
    /// Carry out requests dispatched in process.
    pub handler: Support<HandlerAbility<R>>,
    /// Serve requests over HTTP.
    pub server: Support<ServerAbility<R>>,
    /// Send images through the batching pipeline.
    pub pipeline: Support<PipelineAbility<R>>,
}

/// An ability, or the reason why it is missing.
#[derive(Debug)]
pub enum Support<T> {
    /// It is there.
    Yes(T),
    /// It is not, because of this limitation.
    No(&'static str),
}

/// The ability of a [`HandlerRuntime`].
pub struct HandlerAbility<R> {
    pub(crate) offer: OfferWith<R>,
    pub(crate) offer_in_stages: OfferInStages<R>,
}

pub(crate) type OfferWith<R> = fn(&R, &Offer, &mut dyn FnMut()) -> Account;
/// Beside what watches, with what calls for each stage.
pub(crate) type OfferInStages<R> =
    fn(&R, &StagedOffer, &'static Board, &mut dyn FnMut() -> bool, &mut dyn FnMut()) -> Account;

/// The ability of a [`ServerRuntime`].
pub struct ServerAbility<R> {
    pub(crate) serve: Serve<R>,
}

type Serve<R> = fn(&R, &ListenSpec, Arc<ServerState>) -> io::Result<Box<dyn RunningServer>>;

/// The ability of a [`PipelineRuntime`].
pub struct PipelineAbility<R> {
    pub(crate) start: StartPipeline<R>,
}

type StartPipeline<R> = fn(&R, &Arc<Stages>) -> io::Result<()>;

/// Registers a runtime that implements [`HandlerRuntime`].
#[must_use]
pub fn handler<R: HandlerRuntime>() -> Support<HandlerAbility<R>> {
    Support::Yes(HandlerAbility {
        offer: |runtime, offer, watch| in_process::offer(runtime, offer, watch),
        offer_in_stages: |runtime, offer, board, call, watch| {
            in_process::offer_in_stages(runtime, offer, board, call, watch)
        },
    })
}

/// Registers a runtime that implements [`ServerRuntime`].
#[must_use]
pub fn server<R: ServerRuntime>() -> Support<ServerAbility<R>> {
    Support::Yes(ServerAbility {
        serve: |runtime, listen, state| Ok(Box::new(runtime.serve(listen, state)?)),
    })
}

/// Registers a runtime that implements [`PipelineRuntime`].
#[must_use]
pub fn pipeline<R: PipelineRuntime>() -> Support<PipelineAbility<R>> {
    Support::Yes(PipelineAbility { start: |runtime, stages| runtime.start_pipeline(stages) })
}

impl<T> Support<T> {
    pub(crate) fn reason(&self) -> Option<&'static str> {
        match self {
            Support::Yes(_) => None,
            Support::No(reason) => Some(reason),
        }
    }
}

/// A server of any runtime.
pub(crate) trait RunningServer: Send {
    fn address(&self) -> SocketAddr;
    fn counts(&self) -> ServerCounts;
    fn loop_lag(&self) -> LoopLag;
    fn drain(&mut self, deadline: Instant) -> u64;
}

impl<S: Server> RunningServer for S {
    fn address(&self) -> SocketAddr {
        Server::address(self)
    }

    fn counts(&self) -> ServerCounts {
        self.state().counts()
    }

    fn loop_lag(&self) -> LoopLag {
        self.state().loop_lag()
    }

    fn drain(&mut self, deadline: Instant) -> u64 {
        Server::drain(self, deadline)
    }
}
