//! What follows when a connection has done its work, and how soon after it has failed.

use std::collections::VecDeque;

use super::connection::{Connection, State};
use super::open::OpenLoop;

/// Time between the new attempts of all connections together while none can be opened: at most 1,000 a second.
const RECONNECT_GAP_NS: u64 = 1_000_000;

/// Where requests come from, as far as a connection that has become free must know.
#[derive(Debug)]
pub(super) enum Arrivals {
    /// Set-up or drain: no request begins.
    None,
    /// Each connection goes on with its next request, until the end.
    Closed { end_ns: u64 },
    /// A connection ends with its request; its slot is used again.
    OneEach(OpenSlots),
    /// Requests come by a schedule; a connection goes on with one that waits, or waits for one.
    Open(Box<OpenLoop>),
}

impl Arrivals {
    /// The load is over: no further request begins.
    pub(super) fn end(&mut self) {
        *self = Self::None;
    }

    /// Whether a connection that becomes free now has a next request.
    #[inline]
    pub(super) fn next_follows(&self, now_ns: u64) -> bool {
        matches!(self, Self::Closed { end_ns } if now_ns < *end_ns)
    }

    /// Whether a connection that has failed now will be opened again.
    pub(super) fn opens_again(&self, now_ns: u64) -> bool {
        self.next_follows(now_ns) || matches!(self, Self::Open(_))
    }
}

/// The slots of connections that serve one request each.
#[derive(Debug)]
pub(super) struct OpenSlots {
    free: Vec<u32>,
    /// Slots whose request is done and whose server has not closed yet, by age, with their generation.
    closing: VecDeque<(u32, u32)>,
}

impl OpenSlots {
    pub(super) fn new(slots: u32) -> Self {
        // The last one is taken first, so that a load which needs few touches few.
        Self { free: (0..slots).rev().collect(), closing: VecDeque::new() }
    }

    /// A slot without a socket: a free one, or else the one that has waited longest for its server to close.
    pub(super) fn take(&mut self, connections: &mut [Connection]) -> Option<u32> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        while let Some((slot, generation)) = self.closing.pop_front() {
            if still_closing(connections, slot, generation) {
                connections[slot as usize].close();
                return Some(slot);
            }
        }
        None
    }

    /// The slot's socket is closed.
    pub(super) fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// The slot waits for its server to close.
    pub(super) fn await_close(&mut self, slot: u32, connections: &[Connection]) {
        // Most servers close soon, in order; dropping what is over here keeps the queue short.
        while let Some(&(oldest, generation)) = self.closing.front()
            && !still_closing(connections, oldest, generation)
        {
            self.closing.pop_front();
        }
        self.closing.push_back((slot, connections[slot as usize].generation));
    }
}

fn still_closing(connections: &[Connection], slot: u32, generation: u32) -> bool {
    let connection = &connections[slot as usize];
    connection.generation == generation && connection.state == State::Closing
}

/// Keeps a dead server from being stormed by many connections at once.
#[derive(Debug, Default)]
pub(super) struct Reconnects {
    not_before_ns: u64,
}

impl Reconnects {
    /// A connection could not be opened: the next attempt goes to the end of the line.
    pub(super) fn refused(&mut self, now_ns: u64) {
        self.not_before_ns = self.not_before_ns.max(now_ns).saturating_add(RECONNECT_GAP_NS);
    }

    /// A connection was opened: the server lives.
    pub(super) fn opened(&mut self) {
        self.not_before_ns = 0;
    }

    /// When an attempt that its connection would make at `wanted_ns` may be made.
    pub(super) fn earliest_ns(&self, wanted_ns: u64) -> u64 {
        wanted_ns.max(self.not_before_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closing_slot_is_taken_when_no_free_one_is_left() {
        let mut connections = [Connection::vacant(), Connection::vacant()];
        let mut slots = OpenSlots::new(2);
        for expected in [0, 1] {
            assert_eq!(slots.take(&mut connections), Some(expected));
            connections[expected as usize].state = State::Waiting;
        }
        assert_eq!(slots.take(&mut connections), None, "both are in use");
        connections[1].state = State::Closing;
        slots.await_close(1, &connections);
        assert_eq!(slots.take(&mut connections), Some(1));
        assert_eq!(connections[1].state, State::Vacant);
        assert_eq!(slots.take(&mut connections), None, "it is not taken twice");
    }

    #[test]
    fn attempts_on_a_dead_server_stand_in_line() {
        let mut reconnects = Reconnects::default();
        assert_eq!(reconnects.earliest_ns(7), 7);
        for _ in 0..1_000 {
            reconnects.refused(5);
        }
        assert_eq!(reconnects.earliest_ns(7), 5 + 1_000 * RECONNECT_GAP_NS);
        reconnects.opened();
        assert_eq!(reconnects.earliest_ns(7), 7);
    }
}
