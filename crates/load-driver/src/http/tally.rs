//! Counts and times of requests, and which of them belong to the window.

mod held;
mod open;

use std::collections::BTreeMap;

use super::HttpLoadResult;
use super::failure::Failure;
use super::level::Level;
use super::response::Verdict;
use super::timeline::Timeline;
use super::usage::Usage;
use crate::recorder::Histogram;

/// The instants of one request, in nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// When the schedule, or the closed loop, says that it begins.
    pub(super) intended_ns: u64,
    /// When the client acted on it: sent, began to connect, or had it wait for a connection.
    pub(super) begun_ns: u64,
    /// When the client began to send; of an open loop, [`NOT_SENT`] before.
    pub(super) sent_ns: u64,
}

/// The instant of sending a request that has not been sent.
pub(super) const NOT_SENT: u64 = u64::MAX;

/// The recorder of one run. Recording allocates nothing, but for the first error of each class.
#[derive(Debug, Default)]
pub(super) struct Tally {
    begin_ns: u64,
    end_ns: u64,
    begun: u64,
    completed: u64,
    rejected: u64,
    timed_out: u64,
    timed_out_unsent: u64,
    in_flight_at_end: u64,
    unsent_at_end: u64,
    errors: BTreeMap<Failure, (u64, String)>,
    warmup_finished: u64,
    drain_finished: u64,
    connected: u64,
    sent: u64,
    completed_in_window: u64,
    dispatched_to_ns: u64,
    rate_asked_per_s: f64,
    response: Histogram,
    service: Histogram,
    send_lag: Histogram,
    connection_wait: Histogram,
    connect: Histogram,
    drain_response: Histogram,
    /// To the nanosecond, which a histogram does not keep.
    service_min_ns: Option<u64>,
    in_flight: Level,
    waiting: Level,
    /// The part of each request's time here that lies in the window.
    residence: u128,
    completed_in_all: u64,
    timeline: Timeline,
    next_point_ns: u64,
    last_outcome_ns: u64,
    pub(super) spin_ns: u64,
}

impl Tally {
    /// Sets the window, before the first request begins. A window without a known end has `u64::MAX`.
    pub(super) fn set_window(&mut self, begin_ns: u64, end_ns: u64) {
        (self.begin_ns, self.end_ns) = (begin_ns, end_ns);
        self.in_flight.set_window(begin_ns, end_ns);
        self.waiting.set_window(begin_ns, end_ns);
        self.last_outcome_ns = begin_ns;
        self.next_point_ns = u64::MAX;
    }

    /// Has the sums of a load recorded that starts at an instant and takes some time, before its first request.
    pub(super) fn set_timeline(&mut self, start_ns: u64, length_ns: u64) {
        self.timeline = Timeline::new(start_ns, length_ns);
        self.next_point_ns = self.timeline.next_ns();
    }

    /// Records the points of the timeline that are due, before anything changes at `now_ns`.
    #[inline]
    fn pass(&mut self, now_ns: u64) {
        if now_ns >= self.next_point_ns {
            self.record_points(now_ns);
        }
    }

    #[cold]
    fn record_points(&mut self, now_ns: u64) {
        while self.next_point_ns <= now_ns && self.next_point_ns < u64::MAX {
            let at_ns = self.next_point_ns;
            let (in_flight, waiting) =
                (self.in_flight.integral_to_ns(at_ns), self.waiting.integral_to_ns(at_ns));
            self.timeline.push(self.completed_in_all, in_flight, waiting);
            self.next_point_ns = self.timeline.next_ns();
        }
    }

    /// A request that began, or had to wait, at an instant is here no longer.
    #[inline]
    fn leave(&mut self, begun_ns: u64, now_ns: u64) {
        let (from_ns, to_ns) = (begun_ns.max(self.begin_ns), now_ns.min(self.end_ns));
        self.residence += u128::from(to_ns.saturating_sub(from_ns));
    }

    #[inline]
    fn complete(&mut self, times: Times, now_ns: u64) {
        self.completed_in_all += 1;
        let service_ns = now_ns.saturating_sub(times.sent_ns);
        self.service_min_ns = Some(self.service_min_ns.map_or(service_ns, |least| least.min(service_ns)));
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight.value()
    }

    /// Counts an opened connection.
    pub(super) fn connected(&mut self, took_ns: u64) {
        self.connected += 1;
        self.connect.record(took_ns);
    }

    /// Records how late the client acted on a scheduled start.
    pub(super) fn lagged(&mut self, lag_ns: u64) {
        self.send_lag.record(lag_ns);
    }

    /// A request begins.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.pass(now_ns);
        self.begun += 1;
        self.in_flight.rise(now_ns);
    }

    /// A request ends as it begins, without ever being in flight.
    pub(super) fn refuse(&mut self, times: Times, failure: Failure) {
        self.begun += 1;
        self.record(times, Verdict::Failed(failure), times.begun_ns, None);
    }

    /// A request ends, and nothing takes its place yet.
    pub(super) fn end(&mut self, times: Times, verdict: Verdict, now_ns: u64, example: Option<&str>) {
        self.pass(now_ns);
        self.in_flight.fall(now_ns);
        self.record(times, verdict, now_ns, example);
    }

    /// A request ends and the connection's next one begins at the same instant, so that the number in flight, and with
    /// it the integral, goes on as it was.
    #[inline]
    pub(super) fn end_and_begin(
        &mut self,
        times: Times,
        verdict: Verdict,
        now_ns: u64,
        example: Option<&str>,
    ) {
        self.record(times, verdict, now_ns, example);
        self.begun += 1;
    }

    /// A request still has no answer when the drain is over.
    pub(super) fn cut(&mut self, times: Times, now_ns: u64) {
        self.pass(now_ns);
        self.in_flight.fall(now_ns);
        self.leave(times.begun_ns, now_ns);
        self.last_outcome_ns = self.last_outcome_ns.max(now_ns);
        self.in_flight_at_end += 1;
        self.response.record(now_ns.saturating_sub(times.intended_ns));
    }

    #[inline]
    fn record(&mut self, times: Times, verdict: Verdict, now_ns: u64, example: Option<&str>) {
        self.pass(now_ns);
        self.leave(times.begun_ns, now_ns);
        if matches!(verdict, Verdict::Completed) {
            self.complete(times, now_ns);
        }
        if now_ns < self.begin_ns {
            self.warmup_finished += 1;
            return;
        }
        let response_ns = now_ns.saturating_sub(times.intended_ns);
        if now_ns >= self.end_ns {
            return self.record_in_drain(verdict, response_ns);
        }
        self.last_outcome_ns = now_ns;
        match verdict {
            Verdict::Completed => {
                self.completed += 1;
                self.response.record(response_ns);
                self.service.record(now_ns.saturating_sub(times.sent_ns));
            }
            Verdict::Rejected => self.rejected += 1,
            Verdict::TimedOut => {
                self.timed_out += 1;
                self.response.record(response_ns);
            }
            Verdict::Failed(failure) => self.fail(failure, example),
        }
    }

    fn fail(&mut self, failure: Failure, example: Option<&str>) {
        self.errors.entry(failure).or_insert_with(|| (0, failure.example(example))).0 += 1;
    }

    #[cold]
    fn record_in_drain(&mut self, verdict: Verdict, response_ns: u64) {
        match verdict {
            Verdict::TimedOut => {
                self.in_flight_at_end += 1;
                self.response.record(response_ns);
            }
            Verdict::Completed | Verdict::Rejected => {
                self.drain_finished += 1;
                self.drain_response.record(response_ns);
            }
            Verdict::Failed(_) => self.drain_finished += 1,
        }
    }

    /// The result, when no request is in flight any more; `used` is what the thread used in the window.
    pub(super) fn into_result(mut self, used: Usage) -> HttpLoadResult {
        let last_ns = self.next_point_ns.saturating_add(self.timeline.tick_ns);
        self.timeline.is_cut = self.next_point_ns == u64::MAX && self.timeline.tick_ns > 0;
        // Two more: one behind the last change, and what lies between points has one on each side.
        self.pass(last_ns);
        let is_open = self.rate_asked_per_s > 0.0;
        let window_end_ns = if self.end_ns == u64::MAX { self.last_outcome_ns } else { self.end_ns };
        let (mut errors, mut first_errors) = (BTreeMap::new(), BTreeMap::new());
        for (failure, (count, example)) in self.errors {
            // Two failures may share a class: a reset is met in reading or in writing.
            *errors.entry(failure.class()).or_default() += count;
            first_errors.entry(failure.class()).or_insert(example);
        }
        HttpLoadResult {
            // Counted where requests begin, not where they end: the check of accounting compares the two.
            offered: self.begun - self.warmup_finished - self.drain_finished,
            completed: self.completed,
            rejected: self.rejected,
            timed_out: self.timed_out,
            timed_out_unsent: self.timed_out_unsent,
            in_flight_at_end: self.in_flight_at_end,
            unsent_at_end: self.unsent_at_end,
            errors,
            first_errors,
            warmup_finished: self.warmup_finished,
            drain_finished: self.drain_finished,
            elapsed_ns: window_end_ns - self.begin_ns,
            // Other loads complete nothing in the window that they do not count, and the reverse.
            completed_in_window: if is_open { self.completed_in_window } else { self.completed },
            rate_asked_per_s: self.rate_asked_per_s,
            sent: self.sent,
            dispatch_elapsed_ns: if is_open {
                self.dispatched_to_ns.max(self.end_ns) - self.begin_ns
            } else {
                0
            },
            connected: self.connected,
            response: self.response,
            service: self.service,
            send_lag: self.send_lag,
            connection_wait: self.connection_wait,
            connect: self.connect,
            drain_response: self.drain_response,
            service_min_ns: self.service_min_ns,
            residence_ns: self.residence as f64,
            timeline: self.timeline,
            in_flight_integral_ns: self.in_flight.integral_ns(),
            in_flight_max: self.in_flight.max(),
            waiting_integral_ns: self.waiting.integral_ns(),
            waiting_max: self.waiting.max(),
            cpu_ns: used.cpu_ns,
            spin_ns: self.spin_ns,
            voluntary_switches: used.voluntary_switches,
            involuntary_switches: used.involuntary_switches,
        }
    }
}

#[cfg(test)]
mod tests;
