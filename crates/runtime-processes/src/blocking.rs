//! A blocking step: it blocks the thread that carries the request out, and what else is on that thread.

use std::thread;
use std::time::Duration;

/// Why an event loop has nowhere to offload to or to hand its other requests.
pub(crate) const ONE_THREAD: &str = "a worker is one thread by design, with no pool beside it and no way to \
     hand a socket to another process: what a block holds up is its own worker, and no other";
/// Why neither offloading nor blocking in place has a meaning in a pool.
pub(crate) const NOBODY_TO_PROTECT: &str =
    "a request has its thread to itself, so a block holds up nobody whom another strategy could protect";

/// Blocks this OS thread.
pub(crate) fn block(duration: Duration) {
    thread::sleep(duration);
}
