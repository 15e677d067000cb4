//! Starting and ending: what the two variants are, and how their threads are counted.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use execution_model::{
    Runtime, RuntimeConfig, RuntimeInfo, STD_VERSION, ShutdownTimedOut, VariantInfo, wait_until,
};

use crate::blocking::NOBODY_TO_PROTECT;
use crate::pool::Pool;

/// The most threads of a pool that a name may ask for.
const POOL_MAX: usize = 30_000;

/// OS threads.
#[derive(Debug)]
pub(crate) enum Threads {
    /// A thread for each request and each connection. Each holds a share of `alive` while it runs.
    PerRequest { alive: Arc<()> },
    /// A fixed pool.
    Pool(Arc<Pool>),
}

/// How threads meet requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Variant {
    PerRequest,
    Pool { threads: usize },
}

impl Runtime for Threads {
    const INFO: RuntimeInfo = RuntimeInfo {
        id: "threads",
        library: "std",
        library_version: STD_VERSION,
        execution_model: "OS threads",
        suspends_by: "the kernel parks the thread",
    };

    type Variant = Variant;

    fn variants() -> Vec<Variant> {
        vec![Variant::PerRequest, Variant::Pool { threads: 200 }]
    }

    fn parse_variant(name: &str) -> Result<Variant, String> {
        if name == "per-request" {
            return Ok(Variant::PerRequest);
        }
        let threads = name.strip_prefix("pool=").and_then(|threads| threads.parse().ok());
        match threads {
            Some(threads @ 1..=POOL_MAX) => Ok(Variant::Pool { threads }),
            _ => Err(format!(
                "unknown variant {name:?}; there are per-request and pool=N, with N from 1 to {POOL_MAX}"
            )),
        }
    }

    fn describe(variant: &Variant, _workers: usize) -> VariantInfo {
        let (name, summary, in_flight_limit) = match *variant {
            Variant::PerRequest => {
                ("per-request".into(), "a thread for each request, and for each connection".into(), None)
            }
            Variant::Pool { threads } => (
                format!("pool={threads}"),
                format!("{threads} threads that take requests from one bounded queue"),
                Some(threads as u64),
            ),
        };
        VariantInfo {
            name,
            summary,
            in_flight_limit,
            thread_per_request: matches!(variant, Variant::PerRequest),
            refuses_offload: Some(NOBODY_TO_PROTECT),
            refuses_in_place: Some(NOBODY_TO_PROTECT),
        }
    }

    fn handler_threads(variant: &Variant, _workers: usize) -> Option<usize> {
        match *variant {
            Variant::PerRequest => None,
            Variant::Pool { threads } => Some(threads),
        }
    }

    fn start(variant: Variant, config: &RuntimeConfig) -> io::Result<Threads> {
        match variant {
            Variant::PerRequest => Ok(Threads::PerRequest { alive: Arc::new(()) }),
            Variant::Pool { threads } => {
                Ok(Threads::Pool(Arc::new(Pool::start(threads, config.queue_capacity)?)))
            }
        }
    }

    fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut> {
        match self {
            Threads::PerRequest { alive } => {
                wait_until(deadline, || Arc::strong_count(&alive) == 1).then_some(()).ok_or(ShutdownTimedOut)
            }
            // A server's loop shares the pool until it has drained.
            Threads::Pool(pool) => Arc::into_inner(pool).ok_or(ShutdownTimedOut)?.shutdown(deadline),
        }
    }
}

/// Starts a thread that counts as alive until its work is over.
pub(crate) fn spawn(name: &str, alive: &Arc<()>, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let alive = Arc::clone(alive);
    let work = move || {
        work();
        drop(alive);
    };
    thread::Builder::new().name(name.into()).spawn(work).map(drop)
}
