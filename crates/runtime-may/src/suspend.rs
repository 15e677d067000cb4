//! The ways in which a coroutine waits, each with its handle left behind.
//!
//! may's worker goes on with a coroutine that has just switched away: it sets the timer or stores the coroutine where it
//! is to be found, and writes to the coroutine's handle after that. Whoever is woken in between, on another thread, and
//! ends, frees a handle that nobody else has, and the worker writes to what is freed. So the coroutine leaves its handle
//! with the thread, which keeps it until another coroutine switches away there: by then, the worker is done with it.

use std::cell::Cell;
use std::time::Duration;

use may::coroutine::{self, Coroutine};
use may::sync::{Blocker, Semphore};

thread_local! {
    /// Of the coroutine that switched away last on this thread.
    static LEFT: Cell<Option<Coroutine>> = const { Cell::new(None) };
}

/// Sleeps, and goes on on a worker: giving way at once moves the coroutine there from where may resumes it.
pub(crate) fn sleep(duration: Duration) {
    sleep_on_timer(duration);
    coroutine::yield_now();
}

/// Sleeps, and goes on on may's one timer thread, where may resumes a sleeper and leaves it until it next gives way: all
/// other sleepers wait for it. So this is for who has next to nothing left to do.
#[expect(clippy::disallowed_methods, reason = "its handle is left")]
pub(crate) fn sleep_on_timer(duration: Duration) {
    leave_handle();
    coroutine::sleep(duration);
}

/// Waits until the semaphore is posted.
#[expect(clippy::disallowed_methods, reason = "its handle is left")]
pub(crate) fn wait(semaphore: &Semphore) {
    leave_handle();
    semaphore.wait();
}

/// Waits until the blocker, which is of this coroutine, is unparked.
#[expect(clippy::disallowed_methods, reason = "its handle is left")]
pub(crate) fn park(blocker: &Blocker) {
    leave_handle();
    blocker.park(None).expect("a coroutine of ours is never cancelled");
}

/// Never inlined, so that no address of a thread's own variable is kept over the switch: the coroutine may go on elsewhere.
#[inline(never)]
fn leave_handle() {
    let before = LEFT.replace(Some(coroutine::current()));
    // Outside of the variable: this may free what belonged to the coroutine.
    drop(before);
}
