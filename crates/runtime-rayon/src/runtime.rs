//! Starting and ending: what the two variants are.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use execution_model::{Runtime, RuntimeConfig, RuntimeInfo, ShutdownTimedOut, VariantInfo, wait_until};

use crate::blocking::THREAD_IS_HELD;
use crate::pool::Pool;

/// The most threads of a pool that a name may ask for.
const POOL_MAX: usize = 30_000;

/// A rayon pool, which is not the global one.
#[derive(Debug)]
pub(crate) struct Rayon {
    pub(crate) pool: Arc<Pool>,
}

/// How many threads the pool has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Variant {
    /// One a worker.
    Workers,
    /// So many, whatever the number of workers.
    Pool { threads: usize },
}

impl Variant {
    fn threads(self, workers: usize) -> usize {
        match self {
            Variant::Workers => workers,
            Variant::Pool { threads } => threads,
        }
    }
}

impl Runtime for Rayon {
    const INFO: RuntimeInfo = RuntimeInfo {
        id: "rayon",
        library: "rayon",
        library_version: "1.12.0",
        execution_model: "work-stealing pool",
        suspends_by: "it does not: a wait keeps its thread of the pool",
    };

    type Variant = Variant;

    fn variants() -> Vec<Variant> {
        vec![Variant::Workers, Variant::Pool { threads: 64 }]
    }

    fn parse_variant(name: &str) -> Result<Variant, String> {
        if name == "workers" {
            return Ok(Variant::Workers);
        }
        let threads = name.strip_prefix("pool=").and_then(|threads| threads.parse().ok());
        match threads {
            Some(threads @ 1..=POOL_MAX) => Ok(Variant::Pool { threads }),
            _ => Err(format!(
                "unknown variant {name:?}; there are workers and pool=N, with N from 1 to {POOL_MAX}"
            )),
        }
    }

    fn describe(variant: &Variant, workers: usize) -> VariantInfo {
        let name = match variant {
            Variant::Workers => "workers".into(),
            Variant::Pool { threads } => format!("pool={threads}"),
        };
        let threads = variant.threads(workers);
        VariantInfo {
            name,
            summary: format!("{threads} threads that steal jobs from one another"),
            in_flight_limit: Some(threads as u64),
            thread_per_request: false,
            refuses_offload: Some(THREAD_IS_HELD),
            refuses_in_place: Some(THREAD_IS_HELD),
        }
    }

    fn handler_threads(variant: &Variant, workers: usize) -> Option<usize> {
        Some(variant.threads(workers))
    }

    fn start(variant: Variant, config: &RuntimeConfig) -> io::Result<Rayon> {
        let pool = Pool::start(variant.threads(config.workers), config.queue_capacity)?;
        Ok(Rayon { pool: Arc::new(pool) })
    }

    fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut> {
        // A server's loop shares the pool until it has drained, and the thread of a pipeline that has just been closed does.
        wait_until(deadline, || Arc::strong_count(&self.pool) == 1);
        Arc::into_inner(self.pool).ok_or(ShutdownTimedOut)?.shutdown(deadline)
    }
}
