//! Which connection the next request of an open loop takes.

use std::collections::VecDeque;

/// The connections that no request has.
#[derive(Debug)]
pub(super) struct Pool {
    /// By the time for which they have been idle. An entry counts only if its slot's state says so: the server may
    /// have closed the connection since.
    idle: VecDeque<u32>,
    vacant: Vec<u32>,
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Busy,
    Idle,
    Vacant,
}

impl Pool {
    /// All slots are busy until they are put in.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            idle: VecDeque::with_capacity(slots),
            vacant: Vec::with_capacity(slots),
            slots: vec![Slot::Busy; slots],
        }
    }

    /// The slot's connection is open and has no request.
    pub(super) fn put_idle(&mut self, slot: u32) {
        self.slots[slot as usize] = Slot::Idle;
        self.idle.push_back(slot);
    }

    /// The slot has no connection, and may have one.
    pub(super) fn put_vacant(&mut self, slot: u32) {
        self.slots[slot as usize] = Slot::Vacant;
        self.vacant.push(slot);
    }

    /// The connection that has been idle for longest; where none is, a slot whose connection must be opened.
    ///
    /// For longest and not for shortest, so that a low rate does not keep to a few connections, and with them to a few
    /// of the server's workers.
    pub(super) fn take(&mut self) -> Option<u32> {
        while let Some(slot) = self.idle.pop_front() {
            if self.slots[slot as usize] == Slot::Idle {
                self.slots[slot as usize] = Slot::Busy;
                return Some(slot);
            }
        }
        let slot = self.vacant.pop()?;
        self.slots[slot as usize] = Slot::Busy;
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_take_turns_and_open_ones_come_first() {
        let mut pool = Pool::new(4);
        assert_eq!(pool.take(), None);
        pool.put_vacant(3);
        for slot in 0..3 {
            pool.put_idle(slot);
        }
        assert_eq!(pool.take(), Some(0));
        pool.put_idle(0);
        pool.put_vacant(1); // its server closed it while it was idle
        assert_eq!(
            [pool.take(), pool.take(), pool.take(), pool.take()],
            [Some(2), Some(0), Some(1), Some(3)]
        );
        assert_eq!(pool.take(), None);
    }

    #[test]
    fn a_connection_that_was_closed_and_opened_again_is_taken_once() {
        let mut pool = Pool::new(1);
        pool.put_idle(0);
        pool.put_vacant(0);
        assert_eq!(pool.take(), Some(0));
        pool.put_idle(0);
        assert_eq!([pool.take(), pool.take()], [Some(0), None]);
    }
}
