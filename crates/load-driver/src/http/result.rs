//! What came of a load: counts, errors by class, times, and what the client itself cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::HttpLoadError;
use super::timeline::Timeline;
use crate::recorder::Histogram;

/// The outcome of one load, or of several merged shards.
///
/// Every request is accounted for: `offered = completed + rejected + timed_out + all errors + in_flight_at_end`, see
/// [`check_accounting`](Self::check_accounting).
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct HttpLoadResult {
    /// Requests that began and have one of the outcomes below. In a closed loop: all that began, without those that
    /// finished in the warm-up or in the drain. In an open loop: all that the schedule intends in the window.
    pub offered: u64,
    /// Answers with status 200 and the expected body.
    pub completed: u64,
    /// Answers with status 503.
    pub rejected: u64,
    /// Requests without an answer within the time-out.
    pub timed_out: u64,
    /// Open loop only: those of them that were never sent, because no connection was free in time.
    pub timed_out_unsent: u64,
    /// Requests that still had no answer when the drain ended (in a closed loop, also those whose time-out ended in
    /// the drain).
    pub in_flight_at_end: u64,
    /// Open loop only: requests that had not been sent when the drain ended. They still waited for a connection, or
    /// this client had not come to them, which the send lag shows.
    pub unsent_at_end: u64,
    /// Requests that failed otherwise, by class: `connect-refused`, `connect-other:EADDRNOTAVAIL`, `descriptors`,
    /// `connection-limit`, `reset`, `read-other:ERRNO`, `write-other:ERRNO`, `closed-early`, `closed-in-response`,
    /// `status-404`, `wrong-body`, `malformed`, `extra-bytes`, `chunked-unsupported`, `length-missing`, `too-large`.
    pub errors: BTreeMap<String, u64>,
    /// One example of each class of error, with the name of the error number where there is one.
    pub first_errors: BTreeMap<String, String>,
    /// Closed loop: requests that finished before the window, however they ended. Open loop: those intended before the
    /// window, whenever and however they ended.
    pub warmup_finished: u64,
    /// Closed loop only: requests that finished after the window, within the drain, however they ended. Their times are
    /// in [`drain_response`](Self::drain_response) and in no other figure.
    pub drain_finished: u64,
    /// Length of the window: of a closed or an open loop, its duration; otherwise from the start to the last outcome,
    /// and zero where there was no request.
    pub elapsed_ns: u64,
    /// Requests that completed between the window's begin and its end. Those of an open loop are not the same as
    /// [`completed`](Self::completed): they were intended in the warm-up, and others complete in the drain.
    pub completed_in_window: u64,
    /// Open loop only: requests a second that the specification asks of this shard.
    pub rate_asked_per_s: f64,
    /// Open loop only: requests of [`offered`](Self::offered) that were sent.
    pub sent: u64,
    /// Open loop only: from the window's begin to when this client acted on its last request, which is to send it, or
    /// to have it wait for a connection; at least the window's length. A client that keeps up needs no longer.
    pub dispatch_elapsed_ns: u64,
    /// Connections opened successfully, before and in the window.
    pub connected: u64,
    /// From the intended start to the last byte of the answer, for completed requests. Requests timed out, in flight
    /// or unsent at the end are in it as "at least this long": a lower bound. Rejected and failed ones are not in it.
    ///
    /// In a closed loop, a request is intended to start when the answer before it has come. In an open loop, response
    /// = send lag + connection wait + service, to the nanosecond, for each completed request.
    pub response: Histogram,
    /// From the first byte sent to the last byte of the answer, for completed requests.
    pub service: Histogram,
    /// The shortest service time, to the nanosecond, which the histogram does not keep, of all requests that completed,
    /// those before and after the window among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_min_ns: Option<u64>,
    /// From the intended start to when this client acted on it (sent, began to connect, or had it wait for a
    /// connection): its own lateness. A closed loop has no schedule to be late for, so there it is empty.
    pub send_lag: Histogram,
    /// Open loop only: from when this client acted on a request to when it began to send it: the wait until a
    /// connection was free, and open. Zero where one was. What was never sent waited at least until its outcome.
    pub connection_wait: Histogram,
    /// From the call of `connect` to an open connection, for the connections in [`connected`](Self::connected).
    pub connect: Histogram,
    /// Response times of requests that finished in the drain of a closed loop with status 200 or 503. They are biased
    /// to long ones, hence apart; but a server that stalls at the end of the window shows here.
    pub drain_response: Histogram,
    /// Integral over the window of the number of requests in flight, in request-nanoseconds; requests cut at its edges
    /// count in part. A request is in flight from when this client acted on it (in an open loop: from when it has a
    /// connection) until its outcome. Divided by `elapsed_ns` it is the mean number in flight.
    pub in_flight_integral_ns: f64,
    /// The sum over all requests of the part of each one's time that lies in the window, from when this client acted on it
    /// until its outcome, in request-nanoseconds: what
    /// [`in_flight_integral_ns`](Self::in_flight_integral_ns) and [`waiting_integral_ns`](Self::waiting_integral_ns)
    /// must come to together.
    pub residence_ns: f64,
    /// How closed and open loops went over time.
    pub timeline: Timeline,
    /// The most requests in flight at once; of merged shards the sum, which is an upper bound.
    pub in_flight_max: u64,
    /// Open loop only: the same for the requests that wait for a connection, which are not in flight.
    pub waiting_integral_ns: f64,
    /// Open loop only: the most requests that waited at once; of merged shards the sum, which is an upper bound.
    pub waiting_max: u64,
    /// CPU time of the client's thread in the window, user and system. It includes what
    /// [`spin_ns`](Self::spin_ns) says.
    pub cpu_ns: u64,
    /// Time spent polling without sleep just before an intended start, for its accuracy: not load.
    pub spin_ns: u64,
    /// Times that the client's thread slept, in the window.
    pub voluntary_switches: u64,
    /// Times that the client's thread was preempted, in the window.
    pub involuntary_switches: u64,
}

impl HttpLoadResult {
    /// Requests that failed, of all classes.
    #[must_use]
    pub fn errors_total(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Requests completed in the window, a second; none where the window has no length.
    #[must_use]
    pub fn throughput_per_s(&self) -> Option<f64> {
        per_s(self.completed_in_window, self.elapsed_ns)
    }

    /// Requests that the schedule of an open loop has in the window, a second; none of another load. Of a constant rate
    /// this is the rate asked for; of a Poisson process it is what was drawn.
    #[must_use]
    pub fn offered_rate_per_s(&self) -> Option<f64> {
        self.is_open().then(|| per_s(self.offered, self.elapsed_ns)).flatten()
    }

    /// Requests a second at which the client of an open loop kept its schedule; none of another load. One that waits
    /// for a connection is not late by the client's fault, so it counts here, and its wait is counted in
    /// [`connection_wait`](Self::connection_wait).
    #[must_use]
    pub fn sent_rate_per_s(&self) -> Option<f64> {
        self.is_open().then(|| per_s(self.offered, self.dispatch_elapsed_ns)).flatten()
    }

    fn is_open(&self) -> bool {
        self.rate_asked_per_s > 0.0
    }

    /// The mean number of requests in flight over the window; none where the window has no length.
    #[must_use]
    pub fn in_flight_mean(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.in_flight_integral_ns / self.elapsed_ns as f64)
    }

    /// Adds the result of another shard of the same load. Counts, CPU and histograms add up; `elapsed_ns` and
    /// `dispatch_elapsed_ns` become the longer ones.
    pub fn merge(&mut self, other: &Self) {
        self.offered += other.offered;
        self.completed += other.completed;
        self.rejected += other.rejected;
        self.timed_out += other.timed_out;
        self.timed_out_unsent += other.timed_out_unsent;
        self.in_flight_at_end += other.in_flight_at_end;
        self.unsent_at_end += other.unsent_at_end;
        for (class, count) in &other.errors {
            *self.errors.entry(class.clone()).or_default() += count;
        }
        for (class, example) in &other.first_errors {
            self.first_errors.entry(class.clone()).or_insert_with(|| example.clone());
        }
        self.warmup_finished += other.warmup_finished;
        self.drain_finished += other.drain_finished;
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.completed_in_window += other.completed_in_window;
        self.rate_asked_per_s += other.rate_asked_per_s;
        self.sent += other.sent;
        self.dispatch_elapsed_ns = self.dispatch_elapsed_ns.max(other.dispatch_elapsed_ns);
        self.connected += other.connected;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.send_lag.merge(&other.send_lag);
        self.connection_wait.merge(&other.connection_wait);
        self.connect.merge(&other.connect);
        self.drain_response.merge(&other.drain_response);
        self.service_min_ns = [self.service_min_ns, other.service_min_ns].into_iter().flatten().min();
        self.residence_ns += other.residence_ns;
        self.timeline.merge(&other.timeline);
        self.in_flight_integral_ns += other.in_flight_integral_ns;
        self.in_flight_max += other.in_flight_max;
        self.waiting_integral_ns += other.waiting_integral_ns;
        self.waiting_max += other.waiting_max;
        self.cpu_ns += other.cpu_ns;
        self.spin_ns += other.spin_ns;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
    }

    /// Checks that no request is lost or counted twice, and that the histograms have the samples they should have.
    ///
    /// # Errors
    /// [`HttpLoadError::Unbalanced`] names the identity that does not hold.
    pub fn check_accounting(&self) -> Result<(), HttpLoadError> {
        let Self { offered, completed, rejected, timed_out, in_flight_at_end, unsent_at_end, .. } = self;
        let errors = self.errors_total();
        if *offered != completed + rejected + timed_out + errors + in_flight_at_end + unsent_at_end {
            return Err(HttpLoadError::Unbalanced {
                what: format!(
                    "offered {offered} is not completed {completed} + rejected {rejected} + timed out {timed_out} + errors \
                     {errors} + in flight at the end {in_flight_at_end} + unsent at the end {unsent_at_end}"
                ),
            });
        }
        let [responses, services] = [self.response.count(), self.service.count()];
        if responses != completed + timed_out + in_flight_at_end + unsent_at_end || services != *completed {
            return Err(HttpLoadError::Unbalanced {
                what: format!(
                    "{responses} response and {services} service times for completed {completed}, timed out {timed_out}, in \
                     flight at the end {in_flight_at_end}, unsent at the end {unsent_at_end}"
                ),
            });
        }
        let [lags, waits] = [self.send_lag.count(), self.connection_wait.count()];
        if self.is_open() && (lags != *offered || waits != *offered) {
            let what = format!("{lags} send lags and {waits} waits for a connection of {offered} requests");
            return Err(HttpLoadError::Unbalanced { what });
        }
        Ok(())
    }
}

fn per_s(count: u64, elapsed_ns: u64) -> Option<f64> {
    (elapsed_ns > 0).then(|| count as f64 / elapsed_ns as f64 * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(class: &str) -> HttpLoadResult {
        let mut result = HttpLoadResult {
            offered: 2,
            completed: 1,
            completed_in_window: 1,
            errors: BTreeMap::from([(class.to_owned(), 1)]),
            first_errors: BTreeMap::from([(class.to_owned(), "example".to_owned())]),
            elapsed_ns: 10,
            in_flight_integral_ns: 1.5,
            ..HttpLoadResult::default()
        };
        result.response.record(5);
        result.service.record(4);
        result
    }

    #[test]
    fn shards_add_up() {
        let mut sum = one("reset");
        sum.merge(&HttpLoadResult { elapsed_ns: 12, ..one("reset") });
        sum.merge(&one("status-404"));
        assert_eq!((sum.offered, sum.completed, sum.errors_total(), sum.elapsed_ns), (6, 3, 3, 12));
        assert_eq!(sum.throughput_per_s(), Some(3.0 / 12e-9));
        assert_eq!(sum.in_flight_mean(), Some(4.5 / 12.0));
        assert_eq!(HttpLoadResult::default().throughput_per_s(), None);
        assert_eq!(sum.errors["reset"], 2);
        assert_eq!(sum.first_errors.len(), 2);
        sum.check_accounting().expect("balanced");
        sum.offered += 1;
        let error = sum.check_accounting().expect_err("one is missing").to_string();
        assert!(error.contains("offered 7"), "{error}");
    }

    #[test]
    fn a_result_goes_through_json_and_an_empty_one_has_no_null() {
        for result in [one("reset"), HttpLoadResult::default()] {
            let json = serde_json::to_string(&result).expect("serialised");
            assert!(!json.contains("null"), "{json}");
            assert_eq!(serde_json::from_str::<HttpLoadResult>(&json).expect("deserialised"), result);
        }
    }
}
