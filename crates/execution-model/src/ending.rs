//! Waiting for an end, until a deadline: what every shutdown and every drain does.

use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked whether something has ended.
const LOOK: Duration = Duration::from_millis(1);

/// Waits until something is done or `deadline` has come, and tells whether it is done.
///
/// It blocks the calling thread, which is one that ends a runtime or a server and none of their workers.
pub fn wait_until(deadline: Instant, mut done: impl FnMut() -> bool) -> bool {
    while !done() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_with_what_is_awaited_or_with_the_deadline() {
        let soon = Instant::now() + Duration::from_millis(20);
        let mut looks = 0;
        assert!(wait_until(soon, || {
            looks += 1;
            looks == 3
        }));
        assert!(!wait_until(soon, || false));
        assert!(Instant::now() >= soon);
        // What is done is done, also after the deadline.
        assert!(wait_until(soon, || true));
    }
}
