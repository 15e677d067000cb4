//! What a runtime crate provides.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use workload::BlockingStrategy;

use crate::request::{Refused, Request};
use crate::server::{ListenSpec, ServerState};

/// What a runtime is, for people and for rows.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeInfo {
    /// The runtime's name, which its crate's name ends with: `tokio`.
    pub id: &'static str,
    /// The library that carries the model out.
    pub library: &'static str,
    /// The version of that library, as its manifest pins it.
    pub library_version: &'static str,
    /// The execution model in words: `event loop`.
    pub execution_model: &'static str,
    /// How a request that waits gives up its core.
    pub suspends_by: &'static str,
}

/// One configuration of a runtime that is worth a row of its own.
#[derive(Clone, Debug)]
pub struct VariantInfo {
    /// The name: `current-thread`, `pool=200`.
    pub name: String,
    /// What it is, in one line.
    pub summary: String,
    /// The most requests that this variant can have in service at once, where the model has such a limit.
    pub in_flight_limit: Option<u64>,
    /// Whether each request in service has an OS thread to itself, so that threads grow with requests.
    pub thread_per_request: bool,
    /// Why a blocking step cannot be offloaded, where it cannot.
    pub refuses_offload: Option<&'static str>,
    /// Why a blocking step cannot run in place after handing other tasks away, where it cannot.
    pub refuses_in_place: Option<&'static str>,
}

impl VariantInfo {
    /// Why this variant cannot carry out blocking steps with `strategy`, where it cannot.
    #[must_use]
    pub fn refuses(&self, strategy: BlockingStrategy) -> Option<&'static str> {
        match strategy {
            BlockingStrategy::Inline => None,
            BlockingStrategy::Offload => self.refuses_offload,
            BlockingStrategy::InPlace => self.refuses_in_place,
        }
    }
}

/// The values that a runtime is started with: the same for every model.
#[derive(Clone, Debug)]
pub struct RuntimeConfig {
    /// Worker threads, or worker processes.
    pub workers: usize,
    /// How many requests may wait to be started, where the model has a queue.
    pub queue_capacity: usize,
    /// The most threads that blocking steps are offloaded to; none for what [`Runtime::offload_threads`] says. It is
    /// given only to a variant that does not refuse to offload.
    pub offload_threads: Option<usize>,
}

/// One execution model, started in one variant. A process starts one.
pub trait Runtime: Sized + Send + Sync + 'static {
    /// What this runtime is.
    const INFO: RuntimeInfo;

    /// One configuration, parsed: an enum of the crate's own.
    type Variant: Clone + Send + 'static;

    /// The variants that reports show, the default one first.
    fn variants() -> Vec<Self::Variant>;

    /// The variant that a name stands for, also one that [`variants`](Runtime::variants) does not list.
    ///
    /// # Errors
    ///
    /// Says which names there are.
    fn parse_variant(name: &str) -> Result<Self::Variant, String>;

    /// What a variant is. `workers` matters where the number of workers is the limit.
    fn describe(variant: &Self::Variant, workers: usize) -> VariantInfo;

    /// The most threads that carry handlers out at one time, in all processes: as many blocks or computations hold all
    /// others up. None where each request has a thread of its own.
    fn handler_threads(variant: &Self::Variant, workers: usize) -> Option<usize>;

    /// The most threads to which this variant offloads blocking steps where nobody says how many; none where it cannot
    /// offload.
    fn offload_threads(variant: &Self::Variant) -> Option<usize> {
        let _of_any = variant;
        None
    }

    /// Starts the runtime.
    ///
    /// # Errors
    ///
    /// What the operating system refused.
    fn start(variant: Self::Variant, config: &RuntimeConfig) -> io::Result<Self>;

    /// The live processes that carry requests out for this one, where the model has such. What they use
    /// counts as the runtime's.
    fn worker_processes(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Ends what would outlive this process, which is about to end, in whatever way.
    fn end_workers() {}

    /// Finishes what was accepted and ends, by `deadline`.
    ///
    /// # Errors
    ///
    /// Requests were still running at the deadline. Their threads are left to the end of the process.
    fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut>;
}

/// Requests were still running at the shutdown deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("requests were still running at the shutdown deadline")]
pub struct ShutdownTimedOut;

/// A runtime that carries out requests dispatched in process.
pub trait HandlerRuntime: Runtime {
    /// Starts a request and does not wait for it. The request's ticket tells how it ended.
    ///
    /// # Errors
    ///
    /// Hands back a request that cannot be started, with the reason.
    fn dispatch(&self, request: Request) -> Result<(), Refused>;
}

/// A runtime that serves requests over HTTP.
pub trait ServerRuntime: Runtime {
    /// A server that is up.
    type Server: Server;

    /// Listens and serves. `state` holds the limits and takes the counts.
    ///
    /// # Errors
    ///
    /// The address cannot be bound, or a thread cannot be started.
    fn serve(&self, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<Self::Server>;
}

/// A server that is up.
pub trait Server: Send + 'static {
    /// Where it listens.
    fn address(&self) -> SocketAddr;

    /// What all of its connections share: among it, what it has counted up to now.
    fn state(&self) -> &ServerState;

    /// Stops accepting, closes idle connections, finishes what is in flight, and ends by `deadline`.
    /// Returns how many accepted requests had not finished by then. What it has counted can still be read.
    fn drain(&mut self, deadline: Instant) -> u64;
}
