//! A step that keeps its thread: on the thread that runs the task, or on the thread pool that smol has for it.

use std::thread;
use std::time::Duration;
use std::{env, io};

use execution_model::{BlockingStrategy, Progress};
use smol::lock::Semaphore;

/// How many threads smol's pool for blocking calls has at most.
pub(crate) const POOL_THREADS: usize = 500;
/// Where the pool looks for another number.
const POOL_VARIABLE: &str = "BLOCKING_MAX_THREADS";

/// Why nothing can block in place.
pub(crate) const NO_HAND_OVER: &str = "smol has no call by which a thread hands its other tasks and the reactor to another one before it blocks";

/// A place for each thread that may block for a task. As global as smol's pool, whose own limit is not for a program
/// to set.
static PLACES: Semaphore = Semaphore::new(0);

/// Blocks as `strategy` says.
pub(crate) async fn block(duration: Duration, strategy: BlockingStrategy) {
    carry_out(strategy, move || sleep(duration)).await;
}

/// Computes as `strategy` says.
pub(crate) async fn compute(mut progress: Progress, rounds: u64, strategy: BlockingStrategy) -> Progress {
    carry_out(strategy, move || {
        progress.compute(rounds);
        progress
    })
    .await
}

async fn carry_out<T: Send + 'static>(
    strategy: BlockingStrategy,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    match strategy {
        BlockingStrategy::Inline => work(),
        BlockingStrategy::Offload => {
            let _place = PLACES.acquire().await;
            smol::unblock(work).await
        }
        BlockingStrategy::InPlace => unreachable!("refused: {NO_HAND_OVER}"),
    }
}

#[expect(clippy::disallowed_methods, reason = "blocking the thread is what this step is for")]
fn sleep(duration: Duration) {
    thread::sleep(duration);
}

/// Lets as many threads block for tasks at one time.
///
/// # Errors
///
/// The environment has another number for the pool.
pub(crate) fn start(threads_max: usize) -> io::Result<()> {
    if env::var_os(POOL_VARIABLE).is_some() {
        let why =
            format!("{POOL_VARIABLE} is set, and would limit what is offloaded beside the cell: unset it");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    PLACES.add_permits(threads_max);
    Ok(())
}
