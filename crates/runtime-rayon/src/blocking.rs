//! A blocking step: the thread is the handler's until it ends, so it simply blocks.

use std::thread;
use std::time::Duration;

/// Why neither offloading nor blocking in place has a meaning here.
pub(crate) const THREAD_IS_HELD: &str = "a job holds its thread of the pool until it ends, also while it \
     would wait for another pool, and what queues behind it is open to the other threads anyway";

/// Blocks this OS thread.
#[expect(clippy::disallowed_methods, reason = "blocking the thread is what this step is for")]
pub(crate) fn block(duration: Duration) {
    thread::sleep(duration);
}
