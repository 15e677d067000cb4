//! Requests offered in process: one runner from its start to its end.

use std::time::{Duration, Instant};

use cell_control::{CellError, End};
use cell_protocol::{ArrivalsResult, ArrivalsTask, CellSpec, Task};
use prediction::little;
use statistics::Percentile;
use workload::arrivals::{Arrivals, Pattern, Schedule};
use workload::{BlockingStrategy, Plan};

use super::glimpse::{Glimpse, Watched};
use super::{Bench, DRAIN, NoFigures, after, hold, ns, patience};
use crate::audit;
use crate::contestant::Contestant;
use crate::experiment::Step;
use crate::limit::Observed;
use crate::matrix::Cell;
use crate::quota;
use crate::row::Measured;

/// What was seen of the cell, from inside and from outside.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) result: ArrivalsResult,
    /// From `go` to the result.
    pub(super) wall: Duration,
    pub(super) end: End,
}

/// Offers the requests. `look_after` is when, from `go`, to look at the process from outside; what was seen is told also
/// where the cell failed.
pub(super) fn run(
    bench: &Bench,
    contestant: &Contestant,
    task: &ArrivalsTask,
    look_after: Option<Duration>,
) -> (Result<Seen, CellError>, Glimpse) {
    let mut glimpse = Glimpse::begin();
    let spec = bench.spec(contestant, Task::Arrivals(task.clone()));
    let seen = offer(bench, contestant, &spec, task, look_after, &mut glimpse);
    (seen, glimpse)
}

/// As [`run`], by a spec that says more than the task, and without a look.
pub(super) fn run_spec(
    bench: &Bench,
    contestant: &Contestant,
    spec: &CellSpec,
    task: &ArrivalsTask,
) -> Result<Seen, CellError> {
    offer(bench, contestant, spec, task, None, &mut Glimpse::begin())
}

fn offer(
    bench: &Bench,
    contestant: &Contestant,
    spec: &CellSpec,
    task: &ArrivalsTask,
    look_after: Option<Duration>,
    glimpse: &mut Glimpse,
) -> Result<Seen, CellError> {
    let mut cell = bench.start(contestant, spec)?;
    // Before the word is given: whoever reads the clock after it may be kept from running in between, and then the
    // runner's own time would seem longer than the whole.
    let begin = Instant::now();
    cell.go()?;
    if let Some(look_after) = look_after {
        let all_wait = after(begin, look_after);
        glimpse.look(bench, &Watched { cell: &cell, listen: None, clients: &[], begin, all_wait });
    }
    let rounds = if task.warm { 2 } else { 1 };
    let own = (task.arrivals.length() + Duration::from_nanos(task.time_limit_ns)) * rounds;
    let result = cell.result(patience(own))?;
    let wall = begin.elapsed();
    let end = cell.stop(patience(DRAIN))?;
    Ok(Seen { result, wall, end })
}

/// Response times and the histograms of a result, as a row has them.
pub(super) fn record(measured: &mut Measured, result: &ArrivalsResult) {
    measured.percentile("response_p50_ns", &result.response, Percentile::P50);
    measured.percentile("response_p99_ns", &result.response, Percentile::P99);
    let all = [
        ("response", &result.response),
        ("service", &result.service),
        ("queue_wait", &result.queue_wait),
        ("send_lag", &result.send_lag),
    ];
    for (name, histogram) in all {
        measured.histogram(name, histogram);
    }
}

/// Takes one step of a ramp.
pub(super) fn step(
    bench: &Bench,
    cell: &Cell<'_>,
    step: Step,
    plan: &Plan,
    observed: &mut Observed,
) -> Result<Measured, NoFigures> {
    let arrivals = Arrivals { requests: step.requests, spread: step.spread };
    let task = ArrivalsTask {
        plan: plan.clone(),
        strategy: BlockingStrategy::Inline,
        seed: bench.seed,
        arrivals: Pattern::Spread(arrivals),
        queue_capacity: usize::try_from(step.requests).unwrap_or(usize::MAX),
        warm: false,
        time_limit_ns: ns(hold::time_limit(cell, step)),
    };
    // Halfway through the rest of the wait, when all of them should be waiting.
    let look = step.spread + step.wait.saturating_sub(step.spread) / 2;
    let (seen, glimpse) = run(bench, cell.contestant, &task, Some(look));
    glimpse.tell(observed);
    let seen = seen.map_err(|error| {
        hold::note_death(observed, &error);
        NoFigures::from(&error)
    })?;
    let result = &seen.result;
    observed.in_flight_peak = result.in_flight_peak;
    observed.rejected = result.rejected.clone();
    observed.failed = result.failed.clone();
    for (class, count) in [("unfinished", result.unfinished), ("lost", result.lost)] {
        if count > 0 {
            observed.failed.insert(class.to_owned(), count);
        }
    }
    observed.said.extend(result.rejection_example.clone());
    if result.completed == 0 {
        return Err(incomplete(result));
    }
    let mut measured = Measured::default();
    record(&mut measured, result);
    measured.count("in_flight_peak", result.in_flight_peak);
    measured.count("dispatch_elapsed_ns", result.dispatch_elapsed_ns);
    hold::note(&mut measured, observed, &result.response);
    quota::note(&mut measured, &seen.end);
    let limit = cell.contestant.in_flight_limit;
    let last_start = arrivals.start(step.requests.saturating_sub(1));
    let bound = little::burst_bound(step.requests, step.wait, limit).max(last_start + step.wait);
    measured.checks = audit::in_process(
        &audit::InProcess {
            task: &task,
            bound,
            in_flight_limit: limit,
            wall: seen.wall,
            end: &seen.end,
            computing: bench.computing(&cell.contestant.place),
        },
        result,
    );
    Ok(measured)
}

/// The reason of a row whose requests came to too little for figures.
pub(super) fn incomplete(result: &ArrivalsResult) -> NoFigures {
    let mut what: Vec<String> = Vec::new();
    for (class, count) in result.rejected.iter().chain(&result.failed) {
        what.push(format!("{count} {class}"));
    }
    if result.unfinished > 0 {
        what.push(format!("{} unfinished", result.unfinished));
    }
    if result.lost > 0 {
        what.push(format!("{} lost", result.lost));
    }
    let example =
        result.rejection_example.as_ref().map(|said| format!("; it said: {said}")).unwrap_or_default();
    let completed =
        if result.completed == 0 { "none".to_owned() } else { format!("only {}", result.completed) };
    NoFigures::failed(format!(
        "{completed} of {} requests completed: {}{example}",
        result.offered,
        what.join(", ")
    ))
}
