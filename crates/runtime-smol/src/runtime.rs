//! Starting and ending: the threads that run one executor, and how its tasks are waited for at the end.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use execution_model::{Runtime, RuntimeConfig, RuntimeInfo, ShutdownTimedOut, VariantInfo, wait_until};
use smol::Executor;
use smol::channel::{self, Sender};

use crate::blocking::{self, NO_HAND_OVER, POOL_THREADS};

/// An executor and the threads that run it.
#[derive(Debug)]
pub(crate) struct Smol {
    executor: Arc<Executor<'static>>,
    /// Nothing is ever sent: the threads wait for its end.
    stop: Sender<Infallible>,
    threads: Vec<JoinHandle<()>>,
}

/// How many threads run tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Variant {
    MultiThread,
    CurrentThread,
}

impl Runtime for Smol {
    const INFO: RuntimeInfo = RuntimeInfo {
        id: "smol",
        library: "smol",
        library_version: "2.0.2",
        execution_model: "event loop",
        suspends_by: "the task yields to the event loop",
    };

    type Variant = Variant;

    fn variants() -> Vec<Variant> {
        vec![Variant::MultiThread, Variant::CurrentThread]
    }

    fn parse_variant(name: &str) -> Result<Variant, String> {
        match name {
            "multi-thread" => Ok(Variant::MultiThread),
            "current-thread" => Ok(Variant::CurrentThread),
            _ => Err(format!("unknown variant {name:?}; there are multi-thread and current-thread")),
        }
    }

    fn describe(variant: &Variant, workers: usize) -> VariantInfo {
        let (name, summary) = match variant {
            Variant::MultiThread => ("multi-thread", format!("{workers} threads that run one executor")),
            Variant::CurrentThread => {
                ("current-thread", "one thread that runs the executor, whatever the number of workers".into())
            }
        };
        VariantInfo {
            name: name.into(),
            summary,
            in_flight_limit: None,
            thread_per_request: false,
            refuses_offload: None,
            refuses_in_place: Some(NO_HAND_OVER),
        }
    }

    fn handler_threads(variant: &Variant, workers: usize) -> Option<usize> {
        match variant {
            Variant::MultiThread => Some(workers),
            Variant::CurrentThread => Some(1),
        }
    }

    fn offload_threads(_variant: &Variant) -> Option<usize> {
        Some(POOL_THREADS)
    }

    fn start(variant: Variant, config: &RuntimeConfig) -> io::Result<Smol> {
        blocking::start(config.offload_threads_of(POOL_THREADS).map_err(io::Error::other)?)?;
        let threads = Smol::handler_threads(&variant, config.workers).unwrap_or(1);
        let executor = Arc::new(Executor::new());
        let (stop, stopped) = channel::bounded::<Infallible>(1);
        let start = |_| {
            let (executor, stopped) = (Arc::clone(&executor), stopped.clone());
            let run = move || {
                // An error: that the sender is gone is what it waits for.
                let _told = smol::block_on(executor.run(stopped.recv()));
            };
            thread::Builder::new().name("smol".into()).spawn(run)
        };
        let threads = (0..threads).map(start).collect::<io::Result<_>>()?;
        Ok(Smol { executor, stop, threads })
    }

    fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut> {
        // An executor that is dropped drops its tasks and tells nobody, so they are waited for first.
        let idle = wait_until(deadline, || self.executor.is_empty());
        drop(self.stop);
        wait_until(deadline, || self.threads.iter().all(JoinHandle::is_finished));
        if idle { Ok(()) } else { Err(ShutdownTimedOut) }
    }
}

impl Smol {
    pub(crate) fn executor(&self) -> &Arc<Executor<'static>> {
        &self.executor
    }
}
