//! Requests that were offered in process: what the harness asked for and knows by itself, against what the runner says.

use std::time::Duration;

use cell_control::End;
use cell_protocol::{ArrivalsResult, ArrivalsTask};

use super::ceiling::{Ends, Places};
use super::compute::Computing;
use super::{at_least, at_most, equal, ns, server};
use crate::row::Check;

/// What the harness knows of an in-process cell by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InProcess<'a> {
    pub(crate) task: &'a ArrivalsTask,
    /// The least time that the arithmetic allows.
    pub(crate) bound: Duration,
    pub(crate) in_flight_limit: Option<u64>,
    /// From `go` to the result, on the harness's own clock.
    pub(crate) wall: Duration,
    /// How the runner ended, with what the kernel charged to it.
    pub(crate) end: &'a End,
    pub(crate) computing: Computing,
}

/// The audits of requests that were offered in process.
pub(crate) fn in_process(known: &InProcess<'_>, result: &ArrivalsResult) -> Vec<Check> {
    let InProcess { task, bound, in_flight_limit, wall, end, computing } = *known;
    let refused: u64 = result.rejected.values().sum();
    let failed: u64 = result.failed.values().sum();
    let ended = result.completed + refused + failed + result.unfinished + result.lost;
    let (least, elapsed) = (task.plan.least_duration(), Duration::from_nanos(result.elapsed_ns));
    let mut checks = vec![
        equal("offered_as_asked", result.offered, task.arrivals.requests()),
        equal("accounted_for", ended, result.offered),
        equal("lost", result.lost, 0),
        equal("checksums_wrong", result.checksums_wrong, 0),
        // What has not ended at the time limit is still there when the runtime is to end.
        at_most("unfinished_at_stop", end.stopped.unfinished, result.unfinished),
        at_most("elapsed_within_wall_ns", result.elapsed_ns, ns(wall)),
        at_most("cpu_of_requests_within_reaped_ns", result.usage.cpu_ns(), end.usage.cpu_ns()),
        at_most(
            "in_flight_peak",
            result.in_flight_peak,
            in_flight_limit.unwrap_or(result.offered).min(result.offered),
        ),
    ];
    checks.extend(server::used(end));
    if result.completed > 0 {
        checks.push(at_least("service_min_ns", result.service_min_ns, ns(least)));
    }
    // The bound is that of all requests: where some did not run, less time is no wonder.
    if result.completed == result.offered {
        checks.push(at_least("elapsed_above_bound_ns", result.elapsed_ns, ns(bound)));
    }
    let ends = Ends::AllWithin { completed: result.completed, elapsed, least };
    checks.extend(ends.checks(Places { in_flight_limit, connections: None }, result.in_flight_peak));
    checks.extend(computing.burnt(&task.plan, result.completed, result.usage.cpu_ns()));
    checks.extend(computing.within_cpus(&task.plan, result.completed, elapsed, 0));
    checks
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cell_protocol::{Stopped, Usage};
    use workload::arrivals::Pattern;

    use super::*;

    fn used(user_ns: u64) -> Usage {
        Usage { user_ns, ..Usage::default() }
    }

    fn task() -> ArrivalsTask {
        ArrivalsTask {
            plan: "wait=100ms,compute=1000".parse().unwrap(),
            strategy: workload::BlockingStrategy::Inline,
            seed: 1,
            arrivals: Pattern::burst(1_000),
            queue_capacity: 1_000,
            warm: false,
            time_limit_ns: 1,
        }
    }

    /// A pool of 200 that is at its limit: 1,000 requests, in five rounds.
    fn good() -> ArrivalsResult {
        ArrivalsResult {
            offered: 1_000,
            completed: 1_000,
            elapsed_ns: 501_000_000,
            in_flight_peak: 200,
            service_min_ns: 100_000_000,
            usage: used(1_000_000),
            ..ArrivalsResult::default()
        }
    }

    fn failing_at(result: &ArrivalsResult, end: &End) -> Vec<String> {
        let task = task();
        let known = InProcess {
            task: &task,
            bound: Duration::from_millis(500),
            in_flight_limit: Some(200),
            wall: Duration::from_millis(510),
            end,
            computing: Computing { rounds_per_us: Some(1_000.0), cpus: 2, ahead: Duration::ZERO },
        };
        super::super::failing(in_process(&known, result))
    }

    fn end(unfinished: u64) -> End {
        let stopped = Stopped { unfinished, server: None, usage: used(1_900_000) };
        End { stopped, usage: used(2_000_000), rss_max_bytes: 1, held: None }
    }

    fn failing(result: &ArrivalsResult) -> Vec<String> {
        failing_at(result, &end(0))
    }

    #[test]
    fn a_saturated_row_passes_and_so_does_one_with_refusals() {
        assert!(failing(&good()).is_empty());
        let refused = BTreeMap::from([("thread-limit".into(), 600)]);
        // Less was done, so less time is no sign of cheating.
        let short = ArrivalsResult { completed: 400, rejected: refused, elapsed_ns: 200_000_000, ..good() };
        assert!(failing(&short).is_empty());
        let late = ArrivalsResult { completed: 990, unfinished: 10, ..good() };
        assert!(failing_at(&late, &end(10)).is_empty());
    }

    #[test]
    fn each_lie_is_caught_by_its_own_check() {
        let cases: [(ArrivalsResult, &[&str]); 11] = [
            (ArrivalsResult { completed: 999, ..good() }, &["accounted_for"]),
            (ArrivalsResult { completed: 999, lost: 1, ..good() }, &["lost"]),
            (ArrivalsResult { checksums_wrong: 1, ..good() }, &["checksums_wrong"]),
            (ArrivalsResult { service_min_ns: 99_999_999, ..good() }, &["service_min_ns"]),
            (ArrivalsResult { elapsed_ns: 511_000_000, ..good() }, &["elapsed_within_wall_ns"]),
            (ArrivalsResult { in_flight_peak: 201, ..good() }, &["in_flight_peak"]),
            (ArrivalsResult { in_flight_peak: 199, ..good() }, &["in_flight_peak_by_littles_law"]),
            (ArrivalsResult { usage: used(2_000_001), ..good() }, &["cpu_of_requests_within_reaped_ns"]),
            (ArrivalsResult { usage: used(899_999), ..good() }, &["cpu_burnt_ns"]),
            (ArrivalsResult { offered: 900, completed: 900, ..good() }, &["offered_as_asked"]),
            // Four rounds are too few for all of them, by the bound and by the places.
            (
                ArrivalsResult { elapsed_ns: 499_999_999, ..good() },
                &["elapsed_above_bound_ns", "completed_within_limit", "in_flight_peak_by_littles_law"],
            ),
        ];
        for (result, names) in cases {
            assert_eq!(failing(&result), names);
        }
        assert_eq!(failing_at(&good(), &end(1)), ["unfinished_at_stop"]);
    }

    #[test]
    fn more_computing_than_there_are_cpus_is_caught() {
        let task = ArrivalsTask { plan: "compute=10000000".parse().unwrap(), ..task() };
        let known = InProcess {
            task: &task,
            bound: Duration::ZERO,
            in_flight_limit: None,
            wall: Duration::from_secs(10),
            end: &End { usage: used(u64::MAX), ..end(0) },
            computing: Computing { rounds_per_us: Some(1_000.0), cpus: 2, ahead: Duration::ZERO },
        };
        // 1,000 x 10 ms on two CPUs take 5 s, and a tenth less is let pass.
        let failing = |elapsed_ms: u64| {
            let usage = used(10_000_000_000);
            let result = ArrivalsResult { elapsed_ns: elapsed_ms * 1_000_000, usage, ..good() };
            super::super::failing(in_process(&known, &result))
        };
        assert_eq!(failing(4_600), ["cpu_nearly_reaped_ns"]);
        assert_eq!(failing(4_400), ["cpu_nearly_reaped_ns", "computed_within_cpus_ns"]);
    }
}
