//! Starting and ending: what the two variants are, and how tasks are counted at the end.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use execution_model::{Runtime, RuntimeConfig, RuntimeInfo, ShutdownTimedOut, VariantInfo, wait_until};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::blocking::NO_OTHER_WORKER;

/// tokio's own default, stated so that rows can say it.
const BLOCKING_THREADS: usize = 512;

/// A tokio runtime.
#[derive(Debug)]
pub(crate) enum Tokio {
    /// Workers that steal tasks from one another.
    MultiThread(tokio::runtime::Runtime),
    /// One thread, which is in `block_on` until it is told to stop.
    CurrentThread { handle: Handle, stop: oneshot::Sender<()>, thread: JoinHandle<()> },
}

/// How many threads run tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Variant {
    MultiThread,
    CurrentThread,
}

impl Runtime for Tokio {
    const INFO: RuntimeInfo = RuntimeInfo {
        id: "tokio",
        library: "tokio",
        library_version: "1.54.1",
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
        let (name, summary, refuses_in_place) = match variant {
            Variant::MultiThread => {
                ("multi-thread", format!("{workers} workers that steal tasks from one another"), None)
            }
            Variant::CurrentThread => {
                ("current-thread", "one thread, whatever the number of workers".into(), Some(NO_OTHER_WORKER))
            }
        };
        VariantInfo {
            name: name.into(),
            summary,
            in_flight_limit: None,
            thread_per_request: false,
            refuses_offload: None,
            refuses_in_place,
        }
    }

    fn handler_threads(variant: &Variant, workers: usize) -> Option<usize> {
        match variant {
            Variant::MultiThread => Some(workers),
            Variant::CurrentThread => Some(1),
        }
    }

    fn offload_threads(_variant: &Variant) -> Option<usize> {
        Some(BLOCKING_THREADS)
    }

    fn start(variant: Variant, config: &RuntimeConfig) -> io::Result<Tokio> {
        let build = |mut builder: Builder| {
            builder.max_blocking_threads(config.offload_threads.unwrap_or(BLOCKING_THREADS));
            builder.enable_all().build()
        };
        match variant {
            Variant::MultiThread => {
                let mut builder = Builder::new_multi_thread();
                builder.worker_threads(config.workers);
                build(builder).map(Tokio::MultiThread)
            }
            Variant::CurrentThread => {
                let runtime = build(Builder::new_current_thread())?;
                let handle = runtime.handle().clone();
                let (stop, stopped) = oneshot::channel();
                let run = move || {
                    // A sender that is dropped says "stop" too.
                    let _told = runtime.block_on(stopped);
                    runtime.shutdown_background();
                };
                let thread = thread::Builder::new().name("tokio-current-thread".into()).spawn(run)?;
                Ok(Tokio::CurrentThread { handle, stop, thread })
            }
        }
    }

    fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut> {
        // tokio's own shutdown_timeout drops tasks that still wait and tells nobody, so they are counted first.
        let idle = wait_until(deadline, || self.handle().metrics().num_alive_tasks() == 0);
        match self {
            Tokio::MultiThread(runtime) => runtime.shutdown_background(),
            Tokio::CurrentThread { stop, thread, .. } => {
                let _ended_already = stop.send(());
                wait_until(deadline, || thread.is_finished());
            }
        }
        if idle { Ok(()) } else { Err(ShutdownTimedOut) }
    }
}

impl Tokio {
    pub(crate) fn handle(&self) -> &Handle {
        match self {
            Tokio::MultiThread(runtime) => runtime.handle(),
            Tokio::CurrentThread { handle, .. } => handle,
        }
    }
}
