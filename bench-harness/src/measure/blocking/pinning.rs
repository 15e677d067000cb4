//! `blocking.pinning`: requests at once that each keep a thread, and how long they take beside what the threads allow.

use std::time::Duration;

use cell_protocol::{ArrivalsTask, CellSpec, Task};
use prediction::little;
use workload::arrivals::Pattern;

use super::{Keeper, refused};
use crate::audit;
use crate::experiment::{Blocker, Experiment, Keeps, Pinning};
use crate::matrix::Cell;
use crate::measure::in_process::{self, Seen};
use crate::measure::{Bench, NoFigures, cell_id, ns, per};
use crate::quota;
use crate::row::{Measured, Row};

pub(in crate::measure) fn measure(bench: &Bench, cell: &Cell<'_>, blocker: Blocker) -> Row {
    let values = &bench.values.blocking.pinning;
    if let Some(row) = refused(Experiment::Pinning, cell.contestant, blocker, cell.repetition) {
        return row;
    }
    let mut id = cell_id(Experiment::Pinning, cell.contestant);
    let measured = Keeper::new(bench, cell.contestant, blocker, values.keep).and_then(|keeper| {
        keeper.describe(&mut id);
        id.params.insert("requests".to_owned(), values.requests.into());
        let task = task(bench, values, &keeper);
        let spec = CellSpec {
            offload_threads: blocker.offload_threads,
            ..bench.spec(cell.contestant, Task::Arrivals(task.clone()))
        };
        let seen = in_process::run_spec(bench, cell.contestant, &spec, &task)
            .map_err(|error| NoFigures::from(&error))?;
        figures(bench, cell, &keeper, &task, &seen)
    });
    match measured {
        Ok(measured) => Row::measured(id, cell.repetition, measured),
        Err(none) => none.row(id, cell.repetition),
    }
}

fn task(bench: &Bench, values: &Pinning, keeper: &Keeper) -> ArrivalsTask {
    ArrivalsTask {
        plan: keeper.plan.clone(),
        strategy: keeper.blocker.strategy,
        seed: bench.seed,
        arrivals: Pattern::burst(values.requests),
        queue_capacity: usize::try_from(values.requests).unwrap_or(usize::MAX),
        warm: false,
        time_limit_ns: ns(values.time_limit),
    }
}

fn figures(
    bench: &Bench,
    cell: &Cell<'_>,
    keeper: &Keeper,
    task: &ArrivalsTask,
    seen: &Seen,
) -> Result<Measured, NoFigures> {
    let (result, requests) = (&seen.result, task.arrivals.requests());
    // The bound is that of all requests: a burst of which a part was refused or given up has no elapsed time.
    if result.completed < requests {
        return Err(in_process::incomplete(result));
    }
    let bound = bound(keeper, requests);
    let mut measured = Measured::default();
    measured.count("elapsed_ns", result.elapsed_ns);
    measured.count("bound_ns", ns(bound));
    measured.metric("efficiency", per(ns(bound), result.elapsed_ns));
    measured.count("in_flight_peak", result.in_flight_peak);
    in_process::record(&mut measured, result);
    measured.note("bound_by", keeper.limited_by());
    quota::note(&mut measured, &seen.end);
    // The bound of sleeping is exact; a calibration is as exact as a processor is steady.
    let allowed = match keeper.blocker.keeps {
        Keeps::Block => bound,
        Keeps::Compute => bound.mul_f64(audit::CERTAIN_SHARE),
    };
    measured.checks = audit::in_process(
        &audit::InProcess {
            task,
            bound: allowed,
            in_flight_limit: cell.contestant.in_flight_limit,
            wall: seen.wall,
            end: &seen.end,
            computing: bench.computing(&cell.contestant.place),
        },
        result,
    );
    Ok(measured)
}

/// Whole rounds, where each has its thread to its end; of more threads than CPUs, these have each a share.
fn bound(keeper: &Keeper, requests: u64) -> Duration {
    let rounds = little::burst_bound(requests, keeper.keep, keeper.threads);
    let on_cpus = Duration::from_nanos(keeper.cpu_ns(requests) / keeper.cpus.max(1));
    rounds.max(on_cpus.saturating_sub(keeper.ahead))
}

#[cfg(test)]
mod tests {
    use workload::BlockingStrategy;

    use super::*;

    fn keeper(keeps: Keeps, threads: Option<u64>) -> Keeper {
        Keeper {
            blocker: Blocker { keeps, strategy: BlockingStrategy::Inline, offload_threads: None },
            keep: Duration::from_millis(100),
            plan: "block=100ms".parse().unwrap(),
            threads,
            cpus: 2,
            ahead: Duration::ZERO,
        }
    }

    #[test]
    fn the_bound_is_of_what_there_are_fewest() {
        let ms = |keeps, threads, requests| bound(&keeper(keeps, threads), requests).as_millis();
        assert_eq!(ms(Keeps::Block, Some(2), 64), 3_200);
        assert_eq!(ms(Keeps::Block, Some(512), 64), 100);
        assert_eq!(ms(Keeps::Block, None, 64), 100);
        assert_eq!(ms(Keeps::Compute, Some(1), 64), 6_400);
        assert_eq!(ms(Keeps::Compute, Some(2), 63), 3_200);
        // Four threads share two CPUs: no whole rounds.
        assert_eq!(ms(Keeps::Compute, Some(4), 63), 3_150);
        assert_eq!(ms(Keeps::Compute, None, 1), 100);
        // Of a quota's first and last period, all may be used in a part of it; who has fewer threads than CPUs is not helped.
        let by_quota =
            |threads| Keeper { ahead: Duration::from_millis(200), ..keeper(Keeps::Compute, threads) };
        assert_eq!(bound(&by_quota(Some(4)), 63).as_millis(), 2_950);
        assert_eq!(bound(&by_quota(Some(1)), 64).as_millis(), 6_400);
        assert_eq!(keeper(Keeps::Compute, Some(512)).limited_by(), "CPUs: 2");
        assert_eq!(keeper(Keeps::Block, Some(200)).limited_by(), "threads that carry handlers out: 200");
        assert_eq!(keeper(Keeps::Compute, Some(1)).limited_by(), "threads that carry handlers out: 1");
    }
}
