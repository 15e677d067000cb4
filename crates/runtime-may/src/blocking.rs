//! A step that keeps its thread: on the worker that runs the coroutine, or on a pool of OS threads that is ours,
//! since may has none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use execution_model::{BlockingStrategy, Progress};
use may::sync::{Blocker, Semphore};

use crate::suspend;

/// Why may cannot block in place.
pub(crate) const SOCKETS_STAY: &str =
    "a worker polls its own sockets, and may has no call that hands them and its queue to another worker";

/// As global as may's scheduler.
static OFFLOAD: OnceLock<OffloadPool> = OnceLock::new();

/// Blocks as `strategy` says.
pub(crate) fn block(duration: Duration, strategy: BlockingStrategy) {
    carry_out(strategy, move || sleep(duration));
}

/// Computes as `strategy` says.
pub(crate) fn compute(mut progress: Progress, rounds: u64, strategy: BlockingStrategy) -> Progress {
    carry_out(strategy, move || {
        progress.compute(rounds);
        progress
    })
}

fn carry_out<T: Send + Sync + 'static>(
    strategy: BlockingStrategy,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    match strategy {
        BlockingStrategy::Inline => work(),
        BlockingStrategy::Offload => {
            let result = Arc::new(OnceLock::new());
            let given = Arc::clone(&result);
            let pool = OFFLOAD.get().expect("the runtime has started");
            // It is given once, so it cannot come back.
            pool.run(Box::new(move || drop(given.set(work()))));
            Arc::into_inner(result).and_then(OnceLock::into_inner).expect("the work is done, and gone")
        }
        BlockingStrategy::InPlace => unreachable!("refused: {SOCKETS_STAY}"),
    }
}

#[expect(clippy::disallowed_methods, reason = "blocking the thread is what this step is for")]
fn sleep(duration: Duration) {
    thread::sleep(duration);
}

/// Makes the pool, of which no thread runs yet.
pub(crate) fn start(threads_max: usize) {
    OFFLOAD.get_or_init(|| OffloadPool::new(threads_max));
}

type Work = Box<dyn FnOnce() + Send>;

/// Threads that block for coroutines, started as they are needed.
struct OffloadPool {
    /// A place for each thread that there may be. A coroutine that finds none waits in may's way.
    places: Semphore,
    queue: Sender<(Work, Arc<Blocker>)>,
    work: Receiver<(Work, Arc<Blocker>)>,
    /// Threads that no place has claimed.
    idle: Arc<AtomicUsize>,
}

impl OffloadPool {
    fn new(threads_max: usize) -> OffloadPool {
        let (queue, work) = bounded(threads_max);
        OffloadPool { places: Semphore::new(threads_max), queue, work, idle: Arc::default() }
    }

    /// Runs work on a thread of the pool while the coroutine waits. The work must not panic.
    fn run(&self, work: Work) {
        suspend::wait(&self.places);
        self.claim_thread();
        let done = Blocker::current();
        // There are as many places in the queue as holders of a place, so this never waits.
        self.queue.send((work, Arc::clone(&done))).expect("the pool holds the other end");
        suspend::park(&done);
        self.places.post();
    }

    /// Claims an idle thread, or starts one: there are never more threads than places.
    fn claim_thread(&self) {
        let claim = |idle: usize| idle.checked_sub(1);
        if self.idle.fetch_update(Ordering::AcqRel, Ordering::Relaxed, claim).is_err() {
            let (work, idle) = (self.work.clone(), Arc::clone(&self.idle));
            let run = move || {
                for (work, done) in work {
                    work();
                    // Idle first: whom this wakes may have more work at once.
                    idle.fetch_add(1, Ordering::AcqRel);
                    done.unpark();
                }
            };
            thread::Builder::new().name("offload".into()).spawn(run).expect("a thread to offload to");
        }
    }
}
