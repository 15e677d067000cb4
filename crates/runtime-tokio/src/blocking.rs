//! A step that keeps its thread: where the task runs, on the blocking pool, or here after handing other tasks away.

use std::thread;
use std::time::Duration;

use execution_model::{BlockingStrategy, Progress};
use tokio::task;

/// Why a current-thread runtime cannot block in place.
pub(crate) const NO_OTHER_WORKER: &str =
    "block_in_place panics on a current-thread runtime: there is no other worker to hand the tasks to";

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
            task::spawn_blocking(work).await.expect("neither a sleep nor the kernel panics")
        }
        BlockingStrategy::InPlace => task::block_in_place(work),
    }
}

#[expect(clippy::disallowed_methods, reason = "blocking the thread is what this step is for")]
fn sleep(duration: Duration) {
    thread::sleep(duration);
}
