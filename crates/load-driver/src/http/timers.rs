//! Deadlines of connections, kept so that a request costs nothing.
//!
//! A connection has at most one entry that counts. A new request only moves the connection's own deadline later;
//! its entry stays where it is, and when that comes up the real deadline is looked at and entered anew.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// "No entry" in a connection's own field.
pub(super) const NO_TIMER: u64 = u64::MAX;

/// Entries by instant, in nanoseconds of the monotonic clock.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Timers {
    /// Makes sure that `slot` comes up at `at_ns` or before; `entry_ns` is the connection's own note of the entry that
    /// counts.
    #[inline]
    pub(super) fn schedule(&mut self, slot: u32, at_ns: u64, entry_ns: &mut u64) {
        if at_ns < *entry_ns {
            *entry_ns = at_ns;
            self.heap.push(Reverse((at_ns, slot)));
        }
    }

    /// The first entry, whether it still counts or not.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|&Reverse((at_ns, _))| at_ns)
    }

    /// Takes the first entry that is due. It counts only if the connection's own note has the same instant.
    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<(u64, u32)> {
        let &Reverse((at_ns, slot)) = self.heap.peek()?;
        if at_ns > now_ns {
            return None;
        }
        self.heap.pop();
        Some((at_ns, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_deadline_makes_no_entry_and_an_earlier_one_does() {
        let mut timers = Timers::default();
        let mut entry_ns = NO_TIMER;
        timers.schedule(3, 100, &mut entry_ns);
        timers.schedule(3, 200, &mut entry_ns);
        assert_eq!((timers.heap.len(), entry_ns), (1, 100));
        timers.schedule(3, 50, &mut entry_ns);
        assert_eq!((timers.heap.len(), entry_ns), (2, 50));
        assert_eq!(timers.next_ns(), Some(50));
        assert_eq!(timers.pop_due(49), None);
        assert_eq!(timers.pop_due(60), Some((50, 3)));
        assert_eq!(timers.pop_due(60), None);
        assert_eq!(timers.pop_due(100), Some((100, 3)), "it no longer counts, and its instant tells");
    }
}
