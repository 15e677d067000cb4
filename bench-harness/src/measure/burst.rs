//! `capacity.burst`: N requests at once, and how long they take beside Little's bound.

use cell_protocol::ArrivalsTask;
use prediction::little;
use workload::BlockingStrategy;
use workload::arrivals::Pattern;

use super::in_process::{self, Seen};
use super::{Bench, NoFigures, cell_id, ns, per};
use crate::audit;
use crate::contestant::Contestant;
use crate::experiment::Experiment;
use crate::matrix::Cell;
use crate::quota;
use crate::row::{CellId, Measured, Row};

pub(super) fn measure(bench: &Bench, cell: &Cell<'_>, warm: bool) -> Row {
    let values = &bench.values.capacity.burst;
    let requests = values.requests(cell.contestant.in_flight_limit);
    let task = ArrivalsTask {
        plan: values.plan.clone(),
        strategy: BlockingStrategy::Inline,
        seed: bench.seed,
        arrivals: Pattern::burst(requests),
        queue_capacity: usize::try_from(requests).unwrap_or(usize::MAX),
        warm,
        time_limit_ns: ns(values.time_limit),
    };
    let mut id = cell_id(Experiment::Burst, cell.contestant);
    describe(&mut id, &task);
    let (seen, _) = in_process::run(bench, cell.contestant, &task, None);
    let measured = seen
        .map_err(|error| NoFigures::from(&error))
        .and_then(|seen| figures(bench, cell.contestant, &task, &seen));
    match measured {
        Ok(measured) => Row::measured(id, cell.repetition, measured),
        Err(none) => none.row(id, cell.repetition),
    }
}

fn describe(id: &mut CellId, task: &ArrivalsTask) {
    let mut param = |name: &str, value: serde_json::Value| id.params.insert(name.to_owned(), value);
    param("plan", task.plan.to_string().into());
    param("requests", task.arrivals.requests().into());
    param("wait_ns", ns(task.plan.least_duration()).into());
    param("warm", task.warm.into());
}

fn figures(
    bench: &Bench,
    contestant: &Contestant,
    task: &ArrivalsTask,
    seen: &Seen,
) -> Result<Measured, NoFigures> {
    let result = &seen.result;
    // The bound is that of all requests: a burst of which a part was refused or given up has no elapsed time.
    let requests = task.arrivals.requests();
    if result.completed < requests {
        return Err(in_process::incomplete(result));
    }
    let least = task.plan.least_duration();
    let bound = little::burst_bound(requests, least, contestant.in_flight_limit);
    let mut measured = Measured::default();
    measured.count("elapsed_ns", result.elapsed_ns);
    measured.count("bound_ns", ns(bound));
    measured.metric("efficiency", per(ns(bound), result.elapsed_ns));
    measured.count("dispatch_elapsed_ns", result.dispatch_elapsed_ns);
    measured.metric("throughput_per_s", per(result.completed * 1_000_000_000, result.elapsed_ns));
    measured.count("in_flight_peak", result.in_flight_peak);
    measured.metric("cpu_ns_per_request", per(result.usage.cpu_ns(), result.completed));
    in_process::record(&mut measured, result);
    measured.note("in_flight_limit", contestant.in_flight_limit);
    measured.note("rss_max_bytes", seen.end.rss_max_bytes);
    quota::note(&mut measured, &seen.end);
    measured.checks = audit::in_process(
        &audit::InProcess {
            task,
            bound,
            in_flight_limit: contestant.in_flight_limit,
            wall: seen.wall,
            end: &seen.end,
            computing: bench.computing(&contestant.place),
        },
        result,
    );
    Ok(measured)
}
