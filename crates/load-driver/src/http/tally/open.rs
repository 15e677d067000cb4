//! The open loop's part of the tally: a request belongs to the window if its intended start does.

use super::{NOT_SENT, Tally, Times};
use crate::http::response::Verdict;

impl Times {
    /// A request of an open loop, on which the client acts now.
    pub(in crate::http) fn noticed(intended_ns: u64, now_ns: u64) -> Self {
        Self { intended_ns, begun_ns: now_ns, sent_ns: NOT_SENT }
    }

    fn is_sent(self) -> bool {
        self.sent_ns != NOT_SENT
    }
}

/// What became of a request of an open loop.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    Verdict(Verdict),
    /// Nothing, when the drain was over.
    Cut,
}

impl Tally {
    /// Says that the load is an open loop of this rate, before its first request.
    pub(in crate::http) fn set_open(&mut self, rate_asked_per_s: f64) {
        self.rate_asked_per_s = rate_asked_per_s;
    }

    /// The client acts on a request, which waits for a connection, if only for no time.
    pub(in crate::http) fn notice(&mut self, times: Times) {
        self.pass(times.begun_ns);
        self.begun += 1;
        self.waiting.rise(times.begun_ns);
        if times.intended_ns >= self.begin_ns {
            self.dispatched_to_ns = times.begun_ns;
        }
    }

    /// A request has got its connection.
    pub(in crate::http) fn assign(&mut self, now_ns: u64) {
        self.pass(now_ns);
        self.waiting.fall(now_ns);
        self.in_flight.rise(now_ns);
    }

    /// A request that has a connection ends.
    pub(in crate::http) fn end_open(
        &mut self,
        times: Times,
        verdict: Verdict,
        now_ns: u64,
        example: Option<&str>,
    ) {
        self.pass(now_ns);
        self.in_flight.fall(now_ns);
        self.settle(times, Outcome::Verdict(verdict), now_ns, example);
    }

    /// A request has timed out before a connection was free for it.
    pub(in crate::http) fn expire(&mut self, times: Times, now_ns: u64) {
        self.pass(now_ns);
        self.waiting.fall(now_ns);
        self.settle(times, Outcome::Verdict(Verdict::TimedOut), now_ns, None);
    }

    /// A request that has a connection has no answer when the drain is over.
    pub(in crate::http) fn cut_in_flight(&mut self, times: Times, now_ns: u64) {
        self.pass(now_ns);
        self.in_flight.fall(now_ns);
        self.settle(times, Outcome::Cut, now_ns, None);
    }

    /// A request still has no connection when the drain is over.
    pub(in crate::http) fn cut_waiting(&mut self, times: Times, now_ns: u64) {
        self.pass(now_ns);
        self.waiting.fall(now_ns);
        self.settle(times, Outcome::Cut, now_ns, None);
    }

    /// The one place where a request of an open loop is recorded: once, with all its times.
    fn settle(&mut self, times: Times, outcome: Outcome, now_ns: u64, example: Option<&str>) {
        let completed = matches!(outcome, Outcome::Verdict(Verdict::Completed));
        self.leave(times.begun_ns, now_ns);
        if completed {
            self.complete(times, now_ns);
        }
        self.completed_in_window += u64::from(completed && (self.begin_ns..self.end_ns).contains(&now_ns));
        if times.intended_ns < self.begin_ns {
            self.warmup_finished += 1;
            return;
        }
        let unsent = u64::from(!times.is_sent());
        self.sent += 1 - unsent;
        self.send_lag.record(times.begun_ns.saturating_sub(times.intended_ns));
        self.connection_wait.record(times.sent_ns.min(now_ns).saturating_sub(times.begun_ns));
        match outcome {
            Outcome::Verdict(Verdict::Completed) => {
                self.completed += 1;
                self.service.record(now_ns.saturating_sub(times.sent_ns));
            }
            Outcome::Verdict(Verdict::TimedOut) => {
                self.timed_out += 1;
                self.timed_out_unsent += unsent;
            }
            Outcome::Cut => {
                self.unsent_at_end += unsent;
                self.in_flight_at_end += 1 - unsent;
            }
            // No response time: a server that refuses quickly is not a quick server.
            Outcome::Verdict(Verdict::Rejected) => return self.rejected += 1,
            Outcome::Verdict(Verdict::Failed(failure)) => return self.fail(failure, example),
        }
        self.response.record(now_ns.saturating_sub(times.intended_ns));
    }
}
