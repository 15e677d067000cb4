//! The open loop's decisions: which request is due, which connection it takes, and how long it waits for one.
//!
//! [`OpenLoop`] is a state machine without a clock and without a socket. Whoever drives it tells it the time and what
//! has happened: the epoll driver in a run, a virtual clock in tests. With the tally it decides every figure of an
//! open loop, so that these have tests with known answers. Whoever waits, waits in order: first
//! come, first served.

mod pool;
mod stage;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::iter::{Skip, StepBy};

use workload::arrivals::{OpenArrivals, OpenStarts};

use super::tally::{Tally, Times};
use pool::Pool;

/// Requests that the queue has room for from the start, so that a short wait allocates nothing.
const WAITING_USUAL: usize = 4_096;

/// The requests that are still to come, those that wait for a connection, and the connections that wait for a request.
#[derive(Debug)]
pub(super) struct OpenLoop {
    starts: StepBy<Skip<OpenStarts>>,
    start_ns: u64,
    next_ns: Option<u64>,
    timeout_ns: u64,
    pool: Pool,
    /// Never longer than the schedule, and what has timed out leaves it: the specification's check limits both.
    waiting: VecDeque<Times>,
}

/// A shard's part of a schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shard {
    pub(super) first: usize,
    pub(super) stride: usize,
}

/// A request gets a connection. Its times are complete when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) slot: u32,
    pub(super) times: Times,
    /// When it times out.
    pub(super) deadline_ns: u64,
}

/// What came of asking for the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// None is due.
    None,
    /// One was, and waits for a connection.
    Waits,
    /// One was, and has a connection.
    Takes(Assignment),
}

/// A connection that no request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freed {
    /// It is open.
    Idle,
    /// It is closed: its next request opens it.
    Vacant,
}

impl OpenLoop {
    /// The schedule begins at `start_ns`. All of the `slots` connections are busy until they are freed.
    pub(super) fn new(
        arrivals: &OpenArrivals,
        shard: Shard,
        start_ns: u64,
        timeout_ns: u64,
        slots: usize,
    ) -> Self {
        let mut starts = arrivals.starts().skip(shard.first).step_by(shard.stride);
        let next_ns = starts.next().map(|offset_ns| start_ns.saturating_add(offset_ns));
        let waiting = VecDeque::with_capacity(WAITING_USUAL);
        Self { starts, start_ns, next_ns, timeout_ns, pool: Pool::new(slots), waiting }
    }

    /// The next intended start, which nothing may begin before.
    #[inline]
    pub(super) fn next_start_ns(&self) -> Option<u64> {
        self.next_ns
    }

    /// When the request that has waited longest times out.
    pub(super) fn next_timeout_ns(&self) -> Option<u64> {
        self.waiting.front().map(|times| self.deadline_ns(*times))
    }

    /// Whether no request is to come and none waits.
    pub(super) fn is_over(&self) -> bool {
        self.next_ns.is_none() && self.waiting.is_empty()
    }

    /// When a request times out: that counts from its intended start, however late it was sent.
    pub(super) fn deadline_ns(&self, times: Times) -> u64 {
        times.intended_ns.saturating_add(self.timeout_ns)
    }

    /// Takes the next request of the schedule, if it is due. One at a time, so that the lateness of each is measured.
    #[inline]
    pub(super) fn start(&mut self, now_ns: u64, tally: &mut Tally) -> Due {
        let Some(intended_ns) = self.next_ns.filter(|&at_ns| at_ns <= now_ns) else { return Due::None };
        self.advance();
        let times = Times::noticed(intended_ns, now_ns);
        tally.notice(times);
        self.waiting.push_back(times);
        self.assign(now_ns, tally).map_or(Due::Waits, Due::Takes)
    }

    /// A connection has no request any more, or its idle connection was closed. The request that has waited longest
    /// takes it.
    #[inline]
    pub(super) fn freed(
        &mut self,
        slot: u32,
        freed: Freed,
        now_ns: u64,
        tally: &mut Tally,
    ) -> Option<Assignment> {
        match freed {
            Freed::Idle => self.pool.put_idle(slot),
            Freed::Vacant => self.pool.put_vacant(slot),
        }
        self.assign(now_ns, tally)
    }

    /// Ends the requests that have waited for a connection until their time-out.
    pub(super) fn expire(&mut self, now_ns: u64, tally: &mut Tally) {
        // The first has the earliest intended start, and so the earliest deadline.
        while let Some(&times) = self.waiting.front()
            && self.deadline_ns(times) <= now_ns
        {
            self.waiting.pop_front();
            tally.expire(times, now_ns);
        }
    }

    /// The drain is over: ends all requests that have no connection, those still to come among them. Those that have
    /// one are for whoever has the connections.
    pub(super) fn cut(&mut self, now_ns: u64, tally: &mut Tally) {
        for times in self.waiting.drain(..) {
            tally.cut_waiting(times, now_ns);
        }
        while let Some(intended_ns) = self.next_ns {
            let times = Times::noticed(intended_ns, now_ns);
            tally.notice(times);
            tally.cut_waiting(times, now_ns);
            self.advance();
        }
    }

    fn advance(&mut self) {
        self.next_ns = self.starts.next().map(|offset_ns| self.start_ns.saturating_add(offset_ns));
    }

    /// Gives the request that has waited longest a connection, if there are both. There never are two of both, since
    /// this is called for each one that comes.
    #[inline]
    fn assign(&mut self, now_ns: u64, tally: &mut Tally) -> Option<Assignment> {
        self.expire(now_ns, tally);
        let &times = self.waiting.front()?;
        let slot = self.pool.take()?;
        self.waiting.pop_front();
        tally.assign(now_ns);
        Some(Assignment { slot, times, deadline_ns: self.deadline_ns(times) })
    }
}
