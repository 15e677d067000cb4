//! The life of a request, from its start to its one outcome, and of the connection under it.

use rustix::event::epoll::{self, EventFlags};
use rustix::net::sockopt::socket_error;

use super::arrivals::Arrivals;
use super::connection::{Discarded, Received, State};
use super::driver::Driver;
use super::failure::Failure;
use super::open::Freed;
use super::response::Verdict;
use super::socket::begin_connect;
use super::tally::Times;
use crate::pace::monotonic_ns;

/// How long a server may take to close a connection after its last answer, before this side does.
pub(super) const CLOSING_GRACE_NS: u64 = 100_000_000;
/// The first back-off of a connection after a failure; each further one in a row is twice as long.
const BACK_OFF_NS_MIN: u64 = 1_000_000;
/// The longest back-off of a connection.
const BACK_OFF_NS_MAX: u64 = 256_000_000;

/// Registered once for good. Edge-triggered, so that a socket that stays writable costs nothing.
const INTEREST: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);
const PEER_CLOSED: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);
const READABLE: EventFlags = EventFlags::IN.union(PEER_CLOSED);

/// How a request ended, and what is left of its connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    pub(super) verdict: Verdict,
    pub(super) keep_alive: bool,
    pub(super) peer_closed: bool,
}

impl Driver<'_> {
    /// A request begins on a slot whose connection is idle, or is opened for it.
    pub(super) fn begin(&mut self, slot: usize, intended_ns: u64, now_ns: u64) {
        let connection = &mut self.connections[slot];
        connection.times = Times { intended_ns, begun_ns: now_ns, sent_ns: now_ns };
        connection.has_request = true;
        let deadline_ns = now_ns.saturating_add(self.spec.timeout_ns);
        self.timers.schedule(slot_number(slot), deadline_ns, &mut connection.timer_ns);
        self.tally.begin(now_ns);
        if connection.state == State::Idle {
            self.send(slot, now_ns);
        } else {
            self.open(slot, now_ns);
        }
    }

    /// A request of the schedule begins, on a connection of its own.
    pub(super) fn begin_scheduled(&mut self, intended_ns: u64, now_ns: u64) {
        self.tally.lagged(now_ns - intended_ns);
        let slot = match &mut self.arrivals {
            Arrivals::OneEach(slots) => slots.take(&mut self.connections),
            Arrivals::None | Arrivals::Closed { .. } | Arrivals::Open(_) => None,
        };
        match slot {
            Some(slot) => self.begin(slot as usize, intended_ns, now_ns),
            None => {
                let times = Times { intended_ns, begun_ns: now_ns, sent_ns: now_ns };
                self.tally.refuse(times, Failure::ConnectionLimit);
            }
        }
    }

    /// Opens a connection, for the slot's request if it has one.
    pub(super) fn open(&mut self, slot: usize, now_ns: u64) {
        let connection = &mut self.connections[slot];
        if !connection.has_request {
            self.setting_up += 1;
        }
        let opened = begin_connect(&self.spec.server, &mut self.sources).and_then(|socket| {
            let token = u64::from(connection.generation) << 32 | slot as u64;
            epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(token), INTEREST)?;
            Ok(socket)
        });
        match opened {
            Ok(socket) => {
                connection.socket = Some(socket);
                connection.state = State::Connecting;
                connection.state_ns = now_ns;
                let deadline_ns = now_ns.saturating_add(self.spec.timeout_ns);
                self.timers.schedule(slot_number(slot), deadline_ns, &mut connection.timer_ns);
            }
            Err(errno) => self.connect_failed(slot, Failure::connecting(errno)),
        }
    }

    /// Handles what epoll says about the connection that `token` names.
    #[inline]
    pub(super) fn on_event(&mut self, token: u64, flags: EventFlags) {
        let slot = usize::try_from(token & u64::from(u32::MAX)).expect("32 bits fit");
        let connection = &mut self.connections[slot];
        if u64::from(connection.generation) != token >> 32 {
            return;
        }
        match connection.state {
            State::Waiting if flags.intersects(READABLE) => self.receive(slot, flags),
            State::Sending => {
                if flags.intersects(EventFlags::OUT)
                    && let Err(failure) = connection.send_more(&self.request)
                {
                    self.failed(slot, failure);
                } else if flags.intersects(READABLE) {
                    // An answer before the request is all sent, or the end of the connection.
                    self.receive(slot, flags);
                }
            }
            State::Connecting => self.on_connecting(slot, token, flags),
            State::Idle | State::Closing if flags.intersects(READABLE) => self.on_unwanted(slot, flags),
            State::Vacant | State::BackOff | State::Waiting | State::Idle | State::Closing => {}
        }
    }

    fn on_connecting(&mut self, slot: usize, token: u64, flags: EventFlags) {
        let connection = &mut self.connections[slot];
        let Some(socket) = &connection.socket else { return };
        if flags.intersects(EventFlags::ERR | EventFlags::HUP)
            && let Err(errno) = socket_error(socket).and_then(|error| error)
        {
            return self.connect_failed(slot, Failure::connecting(errno));
        }
        let now_ns = monotonic_ns();
        self.tally.connected(now_ns.saturating_sub(connection.state_ns));
        self.reconnects.opened();
        if connection.has_request {
            self.send(slot, now_ns);
        } else {
            connection.state = State::Idle;
            self.setting_up -= 1;
        }
        if flags.intersects(READABLE) {
            // This edge will not be told again.
            self.on_event(token, flags.difference(EventFlags::OUT));
        }
    }

    #[inline]
    pub(super) fn send(&mut self, slot: usize, now_ns: u64) {
        let connection = &mut self.connections[slot];
        connection.times.sent_ns = now_ns;
        if let Err(failure) = connection.send(&self.request) {
            self.failed(slot, failure);
        }
    }

    #[inline]
    pub(super) fn receive(&mut self, slot: usize, flags: EventFlags) {
        let peer_closed = flags.intersects(PEER_CLOSED);
        let connection = &mut self.connections[slot];
        let received = connection.receive(&mut self.verifier, &mut self.buffer, peer_closed);
        if let Received::Ended { verdict, keep_alive } = received {
            // An answer to half a request leaves the connection useless.
            let keep_alive = keep_alive && connection.state == State::Waiting;
            self.end(slot, Ending { verdict, keep_alive, peer_closed }, monotonic_ns());
        }
    }

    /// The one place where a request on a connection ends.
    #[inline]
    pub(super) fn end(&mut self, slot: usize, ending: Ending, now_ns: u64) {
        let Ending { verdict, keep_alive, peer_closed } = ending;
        let connection = &mut self.connections[slot];
        let times = connection.times;
        let example = match verdict {
            Verdict::Failed(failure) => self.verifier.example(failure),
            _ => None,
        };
        if keep_alive && self.arrivals.next_follows(now_ns) {
            connection.failures = 0;
            connection.times = Times { intended_ns: now_ns, begun_ns: now_ns, sent_ns: now_ns };
            self.tally.end_and_begin(times, verdict, now_ns, example);
            return self.send(slot, now_ns);
        }
        connection.has_request = false;
        if matches!(self.arrivals, Arrivals::Open(_)) {
            self.tally.end_open(times, verdict, now_ns, example);
        } else {
            self.tally.end(times, verdict, now_ns, example);
        }
        match verdict {
            Verdict::TimedOut => self.back_off(slot, now_ns),
            Verdict::Failed(failure) if !failure.is_answer() => self.back_off(slot, now_ns),
            _ if peer_closed => self.release(slot, now_ns),
            _ if keep_alive && !matches!(self.arrivals, Arrivals::OneEach(_)) => {
                connection.failures = 0;
                connection.state = State::Idle;
                self.freed(slot, Freed::Idle, now_ns);
            }
            _ => self.await_close(slot, now_ns),
        }
    }

    fn failed(&mut self, slot: usize, failure: Failure) {
        let ending = Ending { verdict: Verdict::Failed(failure), keep_alive: false, peer_closed: true };
        self.end(slot, ending, monotonic_ns());
    }

    fn connect_failed(&mut self, slot: usize, failure: Failure) {
        if self.connections[slot].has_request {
            let now_ns = monotonic_ns();
            self.reconnects.refused(now_ns);
            self.failed(slot, failure);
        } else {
            self.connections[slot].close();
            self.setting_up -= 1;
        }
    }

    /// The answer has come and the connection is at its end. The side that closes first keeps the TIME_WAIT state, and
    /// on this side it would use up ephemeral ports: so the server is given time to close first.
    fn await_close(&mut self, slot: usize, now_ns: u64) {
        let connection = &mut self.connections[slot];
        connection.failures = 0;
        connection.state = State::Closing;
        connection.state_ns = now_ns;
        let deadline_ns = now_ns.saturating_add(CLOSING_GRACE_NS);
        self.timers.schedule(slot_number(slot), deadline_ns, &mut connection.timer_ns);
        if let Arrivals::OneEach(slots) = &mut self.arrivals {
            slots.await_close(slot_number(slot), &self.connections);
        }
    }

    /// Bytes, or the end of the stream, on a connection without a request.
    fn on_unwanted(&mut self, slot: usize, flags: EventFlags) {
        let connection = &mut self.connections[slot];
        let idle = connection.state == State::Idle;
        match connection.discard(&mut self.buffer) {
            // Unasked bytes on an idle connection would be taken for the next answer.
            Discarded::Bytes if !idle && !flags.intersects(PEER_CLOSED) => {}
            Discarded::Nothing if !flags.intersects(PEER_CLOSED) => {}
            _ => self.release(slot, monotonic_ns()),
        }
    }

    /// Closes a connection that did its work; a closed loop opens the next one at once, an open one when a request needs it.
    pub(super) fn release(&mut self, slot: usize, now_ns: u64) {
        self.connections[slot].close();
        if let Arrivals::OneEach(slots) = &mut self.arrivals {
            slots.release(slot_number(slot));
        } else if self.arrivals.next_follows(now_ns) {
            self.begin(slot, now_ns, now_ns);
        } else {
            self.freed(slot, Freed::Vacant, now_ns);
        }
    }

    /// Closes a connection that failed; a closed or open loop opens the next one after a while at the earliest.
    fn back_off(&mut self, slot: usize, now_ns: u64) {
        if !self.arrivals.opens_again(now_ns) {
            return self.release(slot, now_ns);
        }
        let connection = &mut self.connections[slot];
        connection.close();
        let wait_ns = (BACK_OFF_NS_MIN << connection.failures.min(32)).min(BACK_OFF_NS_MAX);
        connection.failures = connection.failures.saturating_add(1);
        connection.state = State::BackOff;
        connection.state_ns = self.reconnects.earliest_ns(now_ns.saturating_add(wait_ns));
        self.timers.schedule(slot_number(slot), connection.state_ns, &mut connection.timer_ns);
    }
}

/// Slots are numbered in 32 bits, so that slot and generation fit one event; the specification's check sees to it.
pub(super) fn slot_number(slot: usize) -> u32 {
    u32::try_from(slot).expect("the specification limits connections")
}
