//! A blocking step: where the task runs, on the blocking pool, or here after handing other tasks away.

use std::thread;
use std::time::Duration;

use execution_model::BlockingStrategy;
use tokio::task;

/// Why a current-thread runtime cannot block in place.
pub(crate) const NO_OTHER_WORKER: &str =
    "block_in_place panics on a current-thread runtime: there is no other worker to hand the tasks to";

/// Blocks as `strategy` says.
pub(crate) async fn block(duration: Duration, strategy: BlockingStrategy) {
    match strategy {
        BlockingStrategy::Inline => sleep(duration),
        BlockingStrategy::Offload => {
            task::spawn_blocking(move || sleep(duration)).await.expect("a sleep does not panic");
        }
        BlockingStrategy::InPlace => task::block_in_place(|| sleep(duration)),
    }
}

#[expect(clippy::disallowed_methods, reason = "blocking the thread is what this step is for")]
fn sleep(duration: Duration) {
    thread::sleep(duration);
}
