//! Whether the generator of an open loop kept its schedule, so that its figures are the server's and not its own.
//!
//! Three checks on what the generator measured of itself: it sent at the rate that its schedule has; at the median its
//! lateness is small beside the response time; and its late tail is no longer than what the machine does to anyone.
//! A saturated server fails none of them, however long its response times: lateness is the generator's alone, and
//! what waits for a free connection is not late.

use serde::Serialize;

use crate::http::HttpLoadResult;
use crate::in_process::Account;
use crate::recorder::Histogram;

/// The least share of the offered rate at which an honest generator sends.
const SENT_SHARE_MIN: f64 = 0.99;
/// The largest share of the median response time that the median send lag may have.
const LAG_SHARE_MAX: f64 = 0.1;
/// The send lag that is always allowed at p99.
const LAG_P99_ALLOWED_NS: u64 = 1_000_000;

/// One check: a figure of the generator, and what it must not be beyond.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The figure's name, with its unit last.
    pub name: &'static str,
    /// Whether the generator passes.
    pub ok: bool,
    /// The figure; finite.
    pub value: f64,
    /// The limit: the least rate, or the largest lag; finite.
    pub limit: f64,
}

/// What is known of how a generator kept its schedule.
#[derive(Clone, Copy, Debug)]
pub struct Paced<'a> {
    /// Requests a second that the schedule has; none where it is a burst.
    pub offered_rate_per_s: Option<f64>,
    /// Requests a second that the generator acted on.
    pub sent_rate_per_s: Option<f64>,
    /// Intended start to the generator's act.
    pub send_lag: &'a Histogram,
    /// Intended start to end.
    pub response: &'a Histogram,
}

impl<'a> From<&'a HttpLoadResult> for Paced<'a> {
    fn from(result: &'a HttpLoadResult) -> Self {
        Self {
            offered_rate_per_s: result.offered_rate_per_s(),
            sent_rate_per_s: result.sent_rate_per_s(),
            send_lag: &result.send_lag,
            response: &result.response,
        }
    }
}

impl<'a> From<&'a Account> for Paced<'a> {
    fn from(account: &'a Account) -> Self {
        Self {
            offered_rate_per_s: account.offered_rate_per_s(),
            sent_rate_per_s: account.sent_rate_per_s(),
            send_lag: &account.send_lag,
            response: &account.response,
        }
    }
}

/// Checks a generator. `stall_p99_ns` is the machine's own stall at p99 beside it (see [`hiccup`](crate::hiccup)), where
/// it is known.
///
/// A check whose figures do not exist (no request, no answer) is left out: it says nothing, and whether there were
/// requests at all is another check.
#[must_use]
pub fn honesty<'a>(paced: impl Into<Paced<'a>>, stall_p99_ns: Option<u64>) -> Vec<Check> {
    let Paced { offered_rate_per_s, sent_rate_per_s, send_lag, response } = paced.into();
    let mut checks = Vec::with_capacity(3);
    if let (Some(offered), Some(sent)) = (offered_rate_per_s, sent_rate_per_s)
        && offered > 0.0
    {
        let limit = SENT_SHARE_MIN * offered;
        checks.push(Check { name: "sent_rate_per_s", ok: sent >= limit, value: sent, limit });
    }
    if let (Some(lag_ns), Some(response_ns)) = (send_lag.quantile_ns(0.5), response.quantile_ns(0.5)) {
        checks.push(at_most("send_lag_p50_ns", lag_ns, response_ns as f64 * LAG_SHARE_MAX));
    }
    if let Some(lag_ns) = send_lag.quantile_ns(0.99) {
        let allowed_ns = LAG_P99_ALLOWED_NS.max(stall_p99_ns.unwrap_or(0));
        checks.push(at_most("send_lag_p99_ns", lag_ns, allowed_ns as f64));
    }
    checks
}

/// Why the generator and not the server set the figures, with the evidence; none where all checks pass.
#[must_use]
pub fn generator_limited(checks: &[Check]) -> Option<String> {
    let failed = checks.iter().filter(|check| !check.ok);
    let failed: Vec<_> = failed
        .map(|Check { name, value, limit, .. }| format!("{name} {value:.0} against {limit:.0}"))
        .collect();
    (!failed.is_empty())
        .then(|| format!("the load generator did not keep its schedule: {}", failed.join(", ")))
}

fn at_most(name: &'static str, value_ns: u64, limit: f64) -> Check {
    let value = value_ns as f64;
    Check { name, ok: value <= limit, value, limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn of(samples: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for &(ns, count) in samples {
            (0..count).for_each(|_| histogram.record(ns));
        }
        histogram
    }

    fn failing(result: &HttpLoadResult, stall_p99_ns: Option<u64>) -> Vec<&'static str> {
        honesty(result, stall_p99_ns).iter().filter(|check| !check.ok).map(|check| check.name).collect()
    }

    /// 1,000 requests in one second, on time.
    fn good() -> HttpLoadResult {
        HttpLoadResult {
            offered: 1_000,
            rate_asked_per_s: 1_000.0,
            elapsed_ns: 1_000 * MS,
            dispatch_elapsed_ns: 1_000 * MS,
            send_lag: of(&[(5_000, 1_000)]),
            response: of(&[(5 * MS, 1_000)]),
            ..HttpLoadResult::default()
        }
    }

    #[test]
    fn each_way_to_be_late_is_caught_by_its_own_check() {
        assert_eq!(failing(&good(), None), [""; 0]);
        assert_eq!(generator_limited(&honesty(&good(), None)), None);
        let slow = HttpLoadResult { dispatch_elapsed_ns: 1_020 * MS, ..good() };
        assert_eq!(failing(&slow, None), ["sent_rate_per_s"]);
        let late = HttpLoadResult { send_lag: of(&[(MS * 6 / 10, 1_000)]), ..good() };
        assert_eq!(failing(&late, None), ["send_lag_p50_ns"]);
        let tail = HttpLoadResult { send_lag: of(&[(5_000, 980), (3 * MS, 20)]), ..good() };
        assert_eq!(failing(&tail, None), ["send_lag_p99_ns"]);
        let reason = generator_limited(&honesty(&tail, Some(2 * MS))).expect("a reason");
        assert!(reason.contains("send_lag_p99_ns") && reason.contains("against 2000000"), "{reason}");
        // The machine's own stalls are not the generator's fault.
        assert_eq!(failing(&tail, Some(4 * MS)), [""; 0]);
    }

    #[test]
    fn a_saturated_server_is_no_dishonest_generator() {
        let saturated = HttpLoadResult {
            completed: 400,
            timed_out: 600,
            response: of(&[(3_000 * MS, 1_000)]),
            connection_wait: of(&[(2_000 * MS, 1_000)]),
            ..good()
        };
        assert_eq!(failing(&saturated, None), [""; 0]);
    }

    #[test]
    fn nothing_and_one_request_have_no_undefined_figure() {
        assert_eq!(honesty(&HttpLoadResult::default(), None), []);
        let one = HttpLoadResult {
            offered: 1,
            rate_asked_per_s: 1.0,
            elapsed_ns: 1_000 * MS,
            dispatch_elapsed_ns: 1_000 * MS,
            send_lag: of(&[(1_000, 1)]),
            response: of(&[(MS, 1)]),
            ..HttpLoadResult::default()
        };
        let checks = honesty(&one, None);
        assert_eq!(checks.len(), 3);
        assert!(checks.iter().all(|check| check.ok && check.value.is_finite() && check.limit.is_finite()));
        assert!(!serde_json::to_string(&checks).expect("serialised").contains("null"));
        assert_eq!(honesty(&Account::default(), None), []);
    }
}
