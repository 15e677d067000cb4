//! `memory.tasks`: one process in which requests pile up and wait, and what it has then.

use std::time::Duration;

use cell_protocol::ArrivalsTask;
use workload::arrivals::Pattern;
use workload::{BlockingStrategy, Plan, Step};

use super::checks;
use super::fit::Fits;
use super::trial::{Seen, Trial, Where};
use crate::audit;
use crate::experiment::Tasks;
use crate::matrix::Cell;
use crate::measure::{Bench, NoFigures, Sink, cell_id, in_process, ns};
use crate::quota;
use crate::row::{Measured, Row, Status};

/// How long requests of a queue wait in service: longer than any cell, since they are given up with it.
const FOR_EVER: Duration = Duration::from_secs(300);

pub(in crate::measure) fn measure(
    bench: &Bench,
    cell: &Cell<'_>,
    values: &Tasks,
    rows: &mut Sink<'_>,
) -> anyhow::Result<()> {
    let Some(limit) = cell.contestant.in_flight_limit else {
        return rows(in_service(bench, cell, values, &values.units));
    };
    let units = values.up_to(limit);
    rows(if units.is_empty() {
        let reason = format!(
            "{limit} at most are in service, and a line needs {} numbers: what one more costs shows in the queue alone",
            crate::experiment::LOOKS_MIN
        );
        Row::without_figures(id(cell, Where::InService, limit), cell.repetition, Status::Unsupported, reason)
    } else {
        in_service(bench, cell, values, &units)
    })?;
    rows(queued(bench, cell, values, limit))
}

/// Requests that wait in service. They all end, so that each is known to have done what it should.
fn in_service(bench: &Bench, cell: &Cell<'_>, values: &Tasks, units: &[u64]) -> Row {
    let id = id(cell, Where::InService, units.last().copied().unwrap_or(0));
    let mut wait = values.wait;
    let measured = loop {
        let seen =
            Trial::new(bench, wait, Where::InService, units).and_then(|trial| trial.run(bench, cell, values));
        match seen {
            // This machine, at this time, takes longer than that to start and to look.
            Ok(seen) if seen.ended_too_early() && wait * 2 <= values.wait_max => wait *= 2,
            Ok(seen) => break figures(bench, cell, wait, &seen),
            Err(none) => break Err(none),
        }
    };
    match measured {
        Ok(measured) => Row::measured(id, cell.repetition, measured),
        Err(none) => none.row(id, cell.repetition),
    }
}

/// Requests that wait in the queue. Those in front of them would take long to end, so the process is ended with them.
fn queued(bench: &Bench, cell: &Cell<'_>, values: &Tasks, limit: u64) -> Row {
    let id = id(cell, Where::Queued { limit }, values.units.last().copied().unwrap_or(0));
    let trial = Trial::new(bench, FOR_EVER, Where::Queued { limit }, &values.units);
    let seen = trial.and_then(|trial| trial.run(bench, cell, values));
    let measured = seen.and_then(|seen| {
        if !seen.result.rejected.is_empty() {
            return Err(in_process::incomplete(&seen.result));
        }
        let mut measured = fitted(cell, &seen)?;
        measured.checks.push(audit::equal("lost", seen.result.lost, 0));
        measured.checks.push(audit::equal("completed", seen.result.completed, 0));
        Ok(measured)
    });
    match measured {
        Ok(measured) => Row::measured(id, cell.repetition, measured),
        Err(none) => none.row(id, cell.repetition),
    }
}

fn id(cell: &Cell<'_>, place: Where, requests: u64) -> crate::row::CellId {
    let mut id = cell_id(cell.point.experiment(), cell.contestant);
    let waiting = if place == Where::InService { "in-service" } else { "queued" };
    id.params.insert("waiting".to_owned(), waiting.into());
    id.params.insert("requests".to_owned(), requests.into());
    id
}

fn figures(bench: &Bench, cell: &Cell<'_>, wait: Duration, seen: &Seen) -> Result<Measured, NoFigures> {
    let result = &seen.result;
    let last = seen.waiting.last().map_or(0, |waiting| waiting.offered);
    if result.completed < last {
        return Err(in_process::incomplete(result));
    }
    let mut measured = fitted(cell, seen)?;
    measured.note("wait_ns", ns(wait));
    quota::note(&mut measured, &seen.end);
    let task = ArrivalsTask {
        plan: Plan::new([Step::Wait(wait)]).map_err(|error| NoFigures::failed(error.to_string()))?,
        strategy: BlockingStrategy::Inline,
        seed: bench.seed,
        arrivals: Pattern::burst(last),
        queue_capacity: 0,
        warm: false,
        time_limit_ns: 0,
    };
    let known = audit::InProcess {
        task: &task,
        bound: wait,
        in_flight_limit: cell.contestant.in_flight_limit,
        wall: seen.wall,
        end: &seen.end,
        computing: bench.computing(&cell.contestant.place),
    };
    measured.checks.extend(audit::in_process(&known, result));
    Ok(measured)
}

fn fitted(cell: &Cell<'_>, seen: &Seen) -> Result<Measured, NoFigures> {
    let fits = Fits::of(&seen.looks).map_err(|error| NoFigures::failed(error.to_string()))?;
    let mut measured = Measured::default();
    fits.record(&seen.looks, &mut measured);
    super::surroundings(&mut measured, &seen.before, seen.after.as_ref());
    measured.note("in_flight_limit", cell.contestant.in_flight_limit);
    measured.checks = checks::waiting(&seen.waiting);
    measured.checks.extend(checks::line(&seen.looks, &fits));
    if cell.contestant.thread_per_request {
        measured.checks.extend(checks::threads(&seen.looks));
    }
    Ok(measured)
}
