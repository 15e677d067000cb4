//! A blocking step: the thread is the request's own, so it simply blocks.

use std::thread;
use std::time::Duration;

/// Why neither offloading nor blocking in place has a meaning here.
pub(crate) const NOBODY_TO_PROTECT: &str =
    "a request has its thread to itself, so a block holds up nobody whom another strategy could protect";

/// Blocks this OS thread.
pub(crate) fn block(duration: Duration) {
    thread::sleep(duration);
}
