//! The audits of a row. Each compares two things that come from different places; one that fails makes the
//! row invalid. Pure, so that each has a mutant which it catches.

use std::time::Duration;

use cell_protocol::{ArrivalsResult, ArrivalsTask};
use load_driver::http::HttpLoadResult;
use workload::ServerCounts;

use crate::row::{Check, Figure};

/// What the harness knows of an in-process cell by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InProcess<'a> {
    pub(crate) task: &'a ArrivalsTask,
    /// The least time that the arithmetic allows.
    pub(crate) bound: Duration,
    pub(crate) in_flight_limit: Option<u64>,
    /// From `go` to the result, on the harness's own clock.
    pub(crate) wall: Duration,
    /// CPU time that the kernel charged to the runner from its start to its end.
    pub(crate) reaped_cpu_ns: u64,
}

/// What the harness knows of an HTTP cell, beside what the server counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverHttp<'a> {
    pub(crate) requests: u64,
    pub(crate) least: Duration,
    pub(crate) in_flight_limit: Option<u64>,
    pub(crate) client: &'a HttpLoadResult,
    /// What the server counted while the load ran.
    pub(crate) server: ServerCounts,
}

/// A histogram keeps three digits, so the smallest value of the client's may be this share too small.
const HISTOGRAM_DIGITS: f64 = 0.999;

/// The audits of requests that were offered in process.
pub(crate) fn in_process(known: &InProcess<'_>, result: &ArrivalsResult) -> Vec<Check> {
    let InProcess { task, bound, in_flight_limit, wall, reaped_cpu_ns } = *known;
    let refused: u64 = result.rejected.values().sum();
    let failed: u64 = result.failed.values().sum();
    let ended = result.completed + refused + failed + result.unfinished + result.lost;
    let mut checks = vec![
        equal("offered_as_asked", result.offered, task.arrivals.requests()),
        equal("accounted_for", ended, result.offered),
        equal("lost", result.lost, 0),
        equal("checksums_wrong", result.checksums_wrong, 0),
        at_most("elapsed_within_wall_ns", result.elapsed_ns, ns(wall)),
        at_most("cpu_within_reaped_ns", result.usage.cpu_ns(), reaped_cpu_ns),
        at_most(
            "in_flight_peak",
            result.in_flight_peak,
            in_flight_limit.unwrap_or(result.offered).min(result.offered),
        ),
    ];
    if result.completed > 0 {
        checks.push(at_least("service_min_ns", result.service_min_ns, ns(task.plan.least_duration())));
    }
    // The bound is that of all requests: where some did not run, less time is no wonder.
    if result.completed == result.offered {
        checks.push(at_least("elapsed_above_bound_ns", result.elapsed_ns, ns(bound)));
    }
    checks
}

/// The audits of requests that were sent over HTTP.
pub(crate) fn over_http(known: &OverHttp<'_>) -> Vec<Check> {
    let OverHttp { requests, least, in_flight_limit, client, server } = *known;
    let errors = client.errors_total();
    let ended = client.completed + client.rejected + client.timed_out + errors + client.in_flight_at_end;
    let wrong_bodies = client.errors.get("wrong-body").copied().unwrap_or(0);
    let mut checks = vec![
        equal("offered_as_asked", client.offered, requests),
        equal("accounted_for", ended, client.offered),
        equal("bodies_wrong", wrong_bodies, 0),
        at_most(
            "in_flight_peak",
            server.in_flight_peak,
            in_flight_limit.unwrap_or(client.offered).min(client.offered),
        ),
        at_most("in_flight_peak_within_clients", server.in_flight_peak, client.in_flight_max),
    ];
    let unheard = client.timed_out + errors + client.in_flight_at_end;
    if unheard == 0 {
        checks.push(equal("completed_on_both_sides", client.completed, server.completed));
        checks.push(equal(
            "rejected_on_both_sides",
            client.rejected,
            server.rejected + server.connections_rejected,
        ));
    } else {
        // The server may have finished what the client no longer waited for, and no more than that.
        checks.push(at_most("completed_within_servers", client.completed, server.completed));
        checks.push(at_most("completed_by_server", server.completed, client.completed + unheard));
    }
    if let Some(shortest) = client.service.min_ns() {
        checks.push(at_least("service_min_ns", shortest, least_ns(least)));
    }
    checks
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a wait is far below 2^53 ns"
)]
fn least_ns(least: Duration) -> u64 {
    (ns(least) as f64 * HISTOGRAM_DIGITS) as u64
}

pub(crate) fn equal(name: &str, value: u64, limit: u64) -> Check {
    check(name, value == limit, value, limit)
}

pub(crate) fn at_most(name: &str, value: u64, limit: u64) -> Check {
    check(name, value <= limit, value, limit)
}

pub(crate) fn at_least(name: &str, value: u64, limit: u64) -> Check {
    check(name, value >= limit, value, limit)
}

fn check(name: &str, ok: bool, value: u64, limit: u64) -> Check {
    Check { name: name.to_owned(), ok, value: Figure::from(value), limit: Figure::from(limit) }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cell_protocol::Usage;
    use workload::arrivals::Pattern;

    use super::*;

    fn task() -> ArrivalsTask {
        ArrivalsTask {
            plan: "wait=100ms".parse().unwrap(),
            strategy: workload::BlockingStrategy::Inline,
            seed: 1,
            arrivals: Pattern::burst(1_000),
            queue_capacity: 1_000,
            warm: false,
            time_limit_ns: 1,
        }
    }

    fn good() -> ArrivalsResult {
        ArrivalsResult {
            offered: 1_000,
            completed: 1_000,
            elapsed_ns: 501_000_000,
            in_flight_peak: 200,
            service_min_ns: 100_000_000,
            usage: Usage { user_ns: 10, ..Usage::default() },
            ..ArrivalsResult::default()
        }
    }

    /// The names of the checks that fail.
    fn failing(result: &ArrivalsResult) -> Vec<String> {
        let task = task();
        let known = InProcess {
            task: &task,
            bound: Duration::from_millis(500),
            in_flight_limit: Some(200),
            wall: Duration::from_millis(510),
            reaped_cpu_ns: 20,
        };
        let checks = in_process(&known, result).into_iter();
        checks.filter(|check| !check.ok).map(|check| check.name).collect()
    }

    #[test]
    fn a_good_result_passes_and_so_does_one_with_refusals() {
        assert!(failing(&good()).is_empty());
        let refused = BTreeMap::from([("thread-limit".into(), 600)]);
        // Less was done, so less time is no sign of cheating.
        let short = ArrivalsResult { completed: 400, rejected: refused, elapsed_ns: 200_000_000, ..good() };
        assert!(failing(&short).is_empty());
    }

    #[test]
    fn each_lie_is_caught_by_its_own_check() {
        let cases: [(ArrivalsResult, &str); 8] = [
            (ArrivalsResult { completed: 999, ..good() }, "accounted_for"),
            (ArrivalsResult { completed: 999, lost: 1, ..good() }, "lost"),
            (ArrivalsResult { checksums_wrong: 1, ..good() }, "checksums_wrong"),
            (ArrivalsResult { service_min_ns: 99_999_999, ..good() }, "service_min_ns"),
            (ArrivalsResult { elapsed_ns: 499_999_999, ..good() }, "elapsed_above_bound_ns"),
            (ArrivalsResult { elapsed_ns: 511_000_000, ..good() }, "elapsed_within_wall_ns"),
            (ArrivalsResult { in_flight_peak: 201, ..good() }, "in_flight_peak"),
            (
                ArrivalsResult { usage: Usage { user_ns: 21, ..Usage::default() }, ..good() },
                "cpu_within_reaped_ns",
            ),
        ];
        for (result, name) in cases {
            assert_eq!(failing(&result), [name]);
        }
        let fewer = ArrivalsResult { offered: 900, completed: 900, ..good() };
        assert_eq!(failing(&fewer), ["offered_as_asked"]);
    }

    fn client() -> HttpLoadResult {
        let mut client = HttpLoadResult {
            offered: 3,
            completed: 2,
            rejected: 1,
            in_flight_max: 3,
            ..HttpLoadResult::default()
        };
        client.service.record(100_100_000);
        client.service.record(100_000_000);
        client
    }

    fn server() -> ServerCounts {
        ServerCounts { completed: 2, rejected: 1, in_flight_peak: 2, ..ServerCounts::default() }
    }

    fn failing_http(client: &HttpLoadResult, server: ServerCounts) -> Vec<String> {
        let least = Duration::from_millis(100);
        let known = OverHttp { requests: 3, least, in_flight_limit: None, client, server };
        over_http(&known).into_iter().filter(|check| !check.ok).map(|check| check.name).collect()
    }

    #[test]
    fn client_and_server_must_agree() {
        assert!(failing_http(&client(), server()).is_empty());
        let more = ServerCounts { completed: 3, ..server() };
        assert_eq!(failing_http(&client(), more), ["completed_on_both_sides"]);
        let unsaid = ServerCounts { rejected: 0, ..server() };
        assert_eq!(failing_http(&client(), unsaid), ["rejected_on_both_sides"]);
        let turned_away = ServerCounts { rejected: 0, connections_rejected: 1, ..server() };
        assert!(failing_http(&client(), turned_away).is_empty());
        let crowded = ServerCounts { in_flight_peak: 4, ..server() };
        assert_eq!(failing_http(&client(), crowded), ["in_flight_peak", "in_flight_peak_within_clients"]);
    }

    #[test]
    fn what_the_client_did_not_hear_may_have_been_done() {
        let unheard = HttpLoadResult { completed: 1, timed_out: 1, ..client() };
        assert!(failing_http(&unheard, server()).is_empty());
        assert!(failing_http(&unheard, ServerCounts { completed: 1, ..server() }).is_empty());
        let invented = ServerCounts { completed: 3, ..server() };
        assert_eq!(failing_http(&unheard, invented), ["completed_by_server"]);
        let missing = ServerCounts { completed: 0, ..server() };
        assert_eq!(failing_http(&unheard, missing), ["completed_within_servers"]);
    }

    #[test]
    fn a_fast_or_wrong_answer_is_caught() {
        let mut hasty = client();
        hasty.service.record(99_000_000);
        assert_eq!(failing_http(&hasty, server()), ["service_min_ns"]);
        let mut wrong = client();
        wrong.completed = 1;
        wrong.errors.insert("wrong-body".into(), 1);
        assert!(failing_http(&wrong, server()).contains(&"bodies_wrong".to_owned()));
    }
}
