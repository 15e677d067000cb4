//! Starting, ending and describing, truly or not.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use execution_model::{Runtime, RuntimeConfig, RuntimeInfo, ShutdownTimedOut, VariantInfo};

use crate::fault::Fault;

const OWN_THREAD: &str = "a request has its thread to itself";

/// A thread for each request, and a fault.
#[derive(Debug)]
pub(crate) struct Mutant {
    pub(crate) fault: Fault,
    /// Each thread holds a share while it runs.
    alive: Arc<()>,
}

impl Runtime for Mutant {
    const INFO: RuntimeInfo = RuntimeInfo {
        id: "mutant",
        library: "std",
        library_version: "the compiler's",
        execution_model: "OS threads with a fault",
        suspends_by: "the kernel parks the thread",
    };

    type Variant = Fault;

    fn variants() -> Vec<Fault> {
        Fault::ALL.to_vec()
    }

    fn parse_variant(name: &str) -> Result<Fault, String> {
        Fault::ALL.into_iter().find(|fault| fault.name() == name).ok_or_else(|| {
            let names = Fault::ALL.map(Fault::name).join(", ");
            format!("unknown variant {name:?}; there are {names}")
        })
    }

    fn describe(fault: &Fault, _workers: usize) -> VariantInfo {
        VariantInfo {
            name: fault.name().into(),
            summary: format!("{fault:?}"),
            in_flight_limit: (*fault == Fault::IgnoresItsOwnLimit).then_some(20),
            thread_per_request: !matches!(fault, Fault::HidesThreads | Fault::ShowsAnothersLag),
            refuses_offload: (!offloads(*fault)).then_some(OWN_THREAD),
            refuses_in_place: Some(OWN_THREAD),
        }
    }

    fn handler_threads(fault: &Fault, workers: usize) -> Option<usize> {
        (*fault == Fault::OffloadsInSecret).then_some(workers)
    }

    fn offload_threads(fault: &Fault) -> Option<usize> {
        // Its threads are as many as there are blocks.
        offloads(*fault).then_some(512)
    }

    #[expect(clippy::print_stderr, reason = "to panic where standard error is full is this mutant's fault")]
    fn start(fault: Fault, _config: &RuntimeConfig) -> io::Result<Mutant> {
        if fault == Fault::NeedsStandardError {
            eprintln!("mutant: it begins");
        }
        Ok(Mutant { fault, alive: Arc::new(()) })
    }

    fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut> {
        while Arc::strong_count(&self.alive) > 1 && self.fault != Fault::DoesNotDrain {
            if Instant::now() >= deadline && self.fault != Fault::IgnoresDeadline {
                return Err(ShutdownTimedOut);
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// Whether it says so.
fn offloads(fault: Fault) -> bool {
    matches!(fault, Fault::IgnoresOffloadThreads | Fault::OffloadsNothing)
}

impl Mutant {
    pub(crate) fn spawn(&self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        spawn(&self.alive, work)
    }

    pub(crate) fn spawner(&self) -> impl Fn(Box<dyn FnOnce() + Send>) -> io::Result<()> + Send + 'static {
        let alive = Arc::clone(&self.alive);
        move |work| spawn(&alive, work)
    }
}

fn spawn(alive: &Arc<()>, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let alive = Arc::clone(alive);
    let work = move || {
        work();
        drop(alive);
    };
    thread::Builder::new().spawn(work).map(drop)
}
