//! Starting and ending: may's global configuration, how a coroutine is spawned, and how those that
//! are alive are counted.

use std::any::Any;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use execution_model::{Runtime, RuntimeConfig, RuntimeInfo, ShutdownTimedOut, VariantInfo, wait_until};
use may::coroutine;

use crate::blocking::{self, SOCKETS_STAY};
use crate::overflow;
use crate::variant::Variant;

/// How generator, the library below may, begins its panic where a stack cannot be had.
const NO_STACK: &str = "failed to alloc sys stack";

/// may's scheduler, which is the process's.
#[derive(Debug)]
pub(crate) struct May {
    /// Each coroutine holds a share while it runs.
    pub(crate) alive: Arc<()>,
}

impl Runtime for May {
    const INFO: RuntimeInfo = RuntimeInfo {
        id: "may",
        library: "may",
        library_version: "0.3.51",
        execution_model: "stackful coroutines",
        suspends_by: "the coroutine switches to its worker's stack",
    };

    type Variant = Variant;

    fn variants() -> Vec<Variant> {
        vec![Variant::DEFAULT, Variant { pool: 20_000, ..Variant::DEFAULT }]
    }

    fn parse_variant(name: &str) -> Result<Variant, String> {
        Variant::parse(name)
    }

    fn describe(variant: &Variant, workers: usize) -> VariantInfo {
        VariantInfo {
            name: variant.to_string(),
            summary: format!("{workers} workers, {}", variant.summary()),
            in_flight_limit: None,
            thread_per_request: false,
            refuses_offload: None,
            refuses_in_place: Some(SOCKETS_STAY),
        }
    }

    fn handler_threads(_variant: &Variant, workers: usize) -> Option<usize> {
        Some(workers)
    }

    fn offload_threads(variant: &Variant) -> Option<usize> {
        Some(variant.offload)
    }

    fn start(variant: Variant, config: &RuntimeConfig) -> io::Result<May> {
        may::config()
            .set_workers(config.workers)
            .set_stack_size(variant.stack_words())
            .set_pool_capacity(variant.pool)
            .set_worker_pin(false);
        keep_quiet_about_stacks();
        blocking::start(config.offload_threads.unwrap_or(variant.offload));
        let may = May { alive: Arc::new(()) };
        // The first coroutine starts the workers and fills the pool, which is no request's cost, and
        // installs the handlers that are then replaced.
        let (up, is_up) = mpsc::channel::<()>();
        spawn(&may.alive, move || drop(up)).map_err(io::Error::other)?;
        let _closed = is_up.recv();
        overflow::end_process()?;
        Ok(may)
    }

    fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut> {
        wait_until(deadline, || Arc::strong_count(&self.alive) == 1).then_some(()).ok_or(ShutdownTimedOut)
    }
}

/// There was no stack for a coroutine.
#[derive(Debug)]
pub(crate) struct NoStack {
    said: String,
}

impl std::error::Error for NoStack {}

impl std::fmt::Display for NoStack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.said)
    }
}

/// Starts a coroutine that counts as alive until its work is over. Where there is no stack for it, the
/// work is dropped.
pub(crate) fn spawn(alive: &Arc<()>, work: impl FnOnce() + Send + 'static) -> Result<(), NoStack> {
    let alive = Arc::clone(alive);
    let work = move || {
        work();
        drop(alive);
    };
    // SAFETY: what runs in a coroutine here keeps no reference to a thread-local over a wait, and an
    // overflow of its stack meets a guard page.
    #[expect(unsafe_code, reason = "may's spawn is unsafe")]
    let spawn = || unsafe { coroutine::spawn(work) };
    // may panics where it gets no stack. Nothing is half done then: it has only counted its pool.
    match panic::catch_unwind(AssertUnwindSafe(spawn)) {
        Ok(_detached) => Ok(()),
        Err(payload) => Err(NoStack { said: said(payload.as_ref()).unwrap_or("may panicked").to_owned() }),
    }
}

/// Leaves panics for want of a stack out of what is reported: each is a refusal with the same words.
fn keep_quiet_about_stacks() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !said(panic.payload()).is_some_and(|said| said.starts_with(NO_STACK)) {
            report(panic);
        }
    }));
}

fn said(payload: &(dyn Any + Send)) -> Option<&str> {
    payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref().copied())
}
