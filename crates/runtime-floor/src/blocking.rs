//! A blocking step: the floor's one thread blocks, and everything else with it.

use std::thread;
use std::time::Duration;

/// Why neither offloading nor blocking in place can be had here.
pub(crate) const ONE_THREAD: &str = "the floor has one thread and no pool";

/// Blocks the floor's thread.
pub(crate) fn block(duration: Duration) {
    thread::sleep(duration);
}
