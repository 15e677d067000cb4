//! `capacity.hold` and `capacity.hold-tasks`: a ramp of steps, each a process and a row of its own, and the
//! verdict that follows from them.

use std::time::Duration;

use cell_protocol::Histogram;
use prediction::little;
use workload::Plan;

use super::{Bench, Sink, cell_id, in_process, ns, over_http};
use crate::experiment::{Hold, Step};
use crate::limit::{self, Limit, Observed};
use crate::matrix::{Cell, Point};
use crate::ramp::Ramp;
use crate::row::{Measured, Row, Status};

/// One step that was taken.
struct Taken {
    row: Row,
    in_flight_peak: u64,
    mappings_per_thread: Option<u64>,
    /// Why it was not met.
    limit: Option<Limit>,
}

pub(super) fn measure(
    bench: &Bench,
    cell: &Cell<'_>,
    values: &Hold,
    rows: &mut Sink<'_>,
) -> anyhow::Result<()> {
    let mut ramp = Ramp::new(&values.steps, cell.contestant.in_flight_limit, values.tolerance);
    let (mut best, mut worst): (Option<Row>, Option<Limit>) = (None, None);
    let mut common_is_due = values.common_step <= values.last_step();
    let mut mappings_per_thread = None;
    while let Some(requests) = ramp.next() {
        let taken = take(bench, cell, values, requests, mappings_per_thread);
        mappings_per_thread = taken.mappings_per_thread.or(mappings_per_thread);
        if taken.row.status == Status::Partial {
            return rows(taken.row);
        }
        common_is_due &= requests != values.common_step;
        ramp.record(requests, taken.in_flight_peak, taken.limit.is_none());
        match taken.limit {
            Some(limit) => worst = Some(limit),
            None => best = Some(taken.row.clone()),
        }
        rows(taken.row)?;
    }
    if common_is_due {
        rows(take(bench, cell, values, values.common_step, mappings_per_thread).row)?;
    }
    let limit = worst.unwrap_or_else(|| limit::end_of_the_ramp(values.last_step()));
    rows(verdict(cell, values, &ramp, best.as_ref(), limit))
}

/// The row of the ramp as a whole. It has no `requests` among its parameters, and says with which wait, spread and
/// objective its percentiles were measured: those of the step that was met, which may have stretched.
fn verdict(cell: &Cell<'_>, values: &Hold, ramp: &Ramp, best: Option<&Row>, limit: Limit) -> Row {
    let mut id = cell_id(cell.point.experiment(), cell.contestant);
    id.params.insert("base_wait_ns".to_owned(), ns(values.wait).into());
    let Some(best) = best else {
        let reason = format!(
            "no step was met, not even one of {} requests; limited by {}",
            ramp.failed().map_or(0, |failed| failed.requests),
            limit.name
        );
        let row = Row::without_figures(id, cell.repetition, Status::Failed, reason);
        return Row { evidence: limit.evidence, limited_by: Some(limit.name), ..row };
    };
    let mut measured = Measured { evidence: limit.evidence, ..Measured::default() };
    measured.metric("in_flight_capacity", best.metric("in_flight_peak"));
    for name in ["response_p50_ns", "response_p99_ns"] {
        measured.metric(name, best.metric(name));
    }
    for name in ["wait_ns", "spread_ns", "objective_ns"] {
        if let Some(value) = best.params.get(name).and_then(serde_json::Value::as_u64) {
            measured.count(name, value);
        }
    }
    measured.note("met_at", ramp.met().map(|met| met.requests));
    measured.note("failed_at", ramp.failed().map(|failed| failed.requests));
    let row = Row::measured(id, cell.repetition, measured);
    let status = match (limit.name == limit::FAILED_CHECK, limit.censored) {
        (true, _) => Status::Invalid,
        (false, true) => Status::Censored,
        (false, false) => Status::Ok,
    };
    let reason = (status == Status::Invalid).then(|| "a check of the next step failed".to_owned());
    Row { status, reason, limited_by: Some(limit.name), censored: Some(limit.censored), ..row }
}

/// Takes one step, and names in its row what kept it from being met.
fn take(
    bench: &Bench,
    cell: &Cell<'_>,
    values: &Hold,
    requests: u64,
    mappings_per_thread: Option<u64>,
) -> Taken {
    let step = values.step(requests);
    let mut id = cell_id(cell.point.experiment(), cell.contestant);
    let mut param = |name: &str, value: u64| id.params.insert(name.to_owned(), value.into());
    param("requests", requests);
    param("wait_ns", ns(step.wait));
    param("spread_ns", ns(step.spread));
    param("objective_ns", ns(values.objective(step)));
    let plan = match Plan::new([workload::Step::Wait(step.wait)]) {
        Ok(plan) => plan,
        Err(error) => {
            let row = Row::without_figures(id, cell.repetition, Status::Failed, error.to_string());
            let limit = limit::name(
                &Observed { died: Some(error.to_string()), ..Observed::default() },
                &bench.machine,
            );
            return Taken { row, in_flight_peak: 0, mappings_per_thread: None, limit: Some(limit) };
        }
    };
    let mut observed = Observed {
        offered: requests,
        model_limit: cell.contestant.in_flight_limit,
        wait: step.wait,
        objective: values.objective(step),
        mappings_per_thread,
        ..Observed::default()
    };
    let outcome = if cell.point == Point::Hold {
        over_http::step(bench, cell, step, &plan, &mut observed)
    } else {
        in_process::step(bench, cell, step, &plan, &mut observed)
    };
    let mut row = match outcome {
        Ok(measured) => Row::measured(id, cell.repetition, measured),
        Err(none) => none.row(id, cell.repetition),
    };
    let met = row.status == Status::Ok
        && observed.rejected.is_empty()
        && observed.failed.is_empty()
        && observed.response_p99.is_some_and(|p99| p99 <= observed.objective);
    if row.status == Status::Invalid {
        observed.invalid.clone_from(&row.reason);
    }
    let is_told = !met && row.status != Status::Partial;
    let limit = is_told.then(|| limit::name(&observed, &bench.machine));
    if let Some(limit) = &limit {
        row.limited_by = Some(limit.name.clone());
        row.evidence.extend(limit.evidence.clone());
    }
    Taken { row, in_flight_peak: observed.in_flight_peak, mappings_per_thread: each_thread(&observed), limit }
}

/// What a thread takes, where threads are so many that the rest of the process does not count.
fn each_thread(observed: &Observed) -> Option<u64> {
    let sample = observed.sample.as_ref().filter(|sample| sample.threads >= 1_000)?;
    Some(sample.mappings / sample.threads)
}

/// From the last intended start, how long requests are waited for: enough for a model that takes them in turns, but
/// not for one that would take for ever.
pub(super) fn time_limit(cell: &Cell<'_>, step: Step) -> Duration {
    let bound = little::burst_bound(step.requests, step.wait, cell.contestant.in_flight_limit);
    step.wait * 3 + bound.min(step.wait * 12)
}

/// What was seen from outside is part of every step's row, met or not.
pub(super) fn note(measured: &mut Measured, observed: &mut Observed, response: &Histogram) {
    // Whether 99 of 100 of these requests were in time is a count and no estimate, so it takes no number of samples.
    observed.response_p99 = response.quantile_ns(0.99).map(Duration::from_nanos);
    if let Some(sample) = &observed.sample {
        measured.note("sample", serde_json::json!(sample));
    }
    if let Some(cpu) = &observed.cpu {
        measured.note("cpu", serde_json::json!(cpu));
    }
    for (name, classes) in [("rejected", &observed.rejected), ("failed", &observed.failed)] {
        if !classes.is_empty() {
            measured.note(name, serde_json::json!(classes));
        }
    }
}

pub(super) fn note_death(observed: &mut Observed, error: &cell_control::CellError) {
    observed.killed = error.exit().is_some_and(cell_control::Exit::is_sigkill);
    observed.said.extend(error.last_words().map(str::to_owned));
    observed.died = Some(error.to_string());
}
