//! Starting and ending: how many workers the global executor has, and how its tasks are counted.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use async_global_executor::GlobalExecutorConfig;
use execution_model::{Runtime, RuntimeConfig, RuntimeInfo, ShutdownTimedOut, VariantInfo, wait_until};

use crate::blocking::{self, NO_HAND_OVER, POOL_THREADS};

/// The name of each worker, which the kernel cuts to 15 bytes.
const WORKER: &str = "async-std";

/// The library's one executor, which lives as long as the process.
#[derive(Debug)]
pub(crate) struct AsyncStd {
    /// Each task holds a share of it until its work is over.
    alive: Arc<()>,
}

/// There is one executor, and so one variant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant;

impl Runtime for AsyncStd {
    const INFO: RuntimeInfo = RuntimeInfo {
        id: "async-std",
        library: "async-std",
        library_version: "1.13.2",
        execution_model: "event loop",
        suspends_by: "the task yields to the event loop",
    };

    type Variant = Variant;

    fn variants() -> Vec<Variant> {
        vec![Variant]
    }

    fn parse_variant(name: &str) -> Result<Variant, String> {
        match name {
            "multi-thread" => Ok(Variant),
            _ => Err(format!("unknown variant {name:?}; there is multi-thread")),
        }
    }

    fn describe(_variant: &Variant, workers: usize) -> VariantInfo {
        VariantInfo {
            name: "multi-thread".into(),
            summary: format!(
                "{workers} workers of one global executor; discontinued upstream, which says: use smol"
            ),
            in_flight_limit: None,
            thread_per_request: false,
            refuses_offload: None,
            refuses_in_place: Some(NO_HAND_OVER),
        }
    }

    fn handler_threads(_variant: &Variant, workers: usize) -> Option<usize> {
        Some(workers)
    }

    fn offload_threads(_variant: &Variant) -> Option<usize> {
        Some(POOL_THREADS)
    }

    fn start(_variant: Variant, config: &RuntimeConfig) -> io::Result<AsyncStd> {
        blocking::start(config.offload_threads_of(POOL_THREADS).map_err(io::Error::other)?)?;
        // The first configuration of the executor is the one that holds, so that async-std's own, which it
        // would read from the environment, comes too late. No variable has an empty name: none is read here.
        let executor = GlobalExecutorConfig::default()
            .with_env_var("")
            .with_min_threads(config.workers)
            .with_max_threads(config.workers)
            .with_thread_name_fn(|| WORKER.into());
        async_global_executor::init_with_config(executor);
        Ok(AsyncStd { alive: Arc::new(()) })
    }

    fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut> {
        // The workers stay: the library has no call that ends them.
        wait_until(deadline, || Arc::strong_count(&self.alive) == 1).then_some(()).ok_or(ShutdownTimedOut)
    }
}

impl AsyncStd {
    /// What a task holds while it counts as alive.
    pub(crate) fn share(&self) -> Arc<()> {
        Arc::clone(&self.alive)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use async_std::task;

    use super::*;

    #[test]
    fn there_are_as_many_workers_as_asked_for() {
        let config = RuntimeConfig { workers: 3, queue_capacity: 1, offload_threads: None };
        let deadline = Instant::now() + Duration::from_secs(10);
        let runtime = AsyncStd::start(Variant, &config).unwrap();
        // async-std's own configuration, which comes with its first task, must change nothing.
        task::block_on(task::spawn(async {}));
        // A thread names itself, so that one that has just begun has another name.
        while workers() < 3 && Instant::now() < deadline {
            task::block_on(task::sleep(Duration::from_millis(1)));
        }
        assert_eq!(workers(), 3);
        runtime.shutdown(deadline).unwrap();
    }

    fn workers() -> usize {
        let threads = fs::read_dir("/proc/self/task").unwrap();
        let name = |thread: &fs::DirEntry| fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        threads.filter(|thread| name(thread.as_ref().unwrap()).trim_end() == WORKER).count()
    }
}
