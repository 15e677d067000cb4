//! `report.md`: what was found first, then the tables, then the machine and the command.

use std::fmt::Write;

use crate::contestant::FLOOR;
use crate::environment::Run;
use crate::experiment::Experiment;
use crate::format::{count, metric, ns, whole};
use crate::row::Status;
use crate::summary::{Group, Spread};
use crate::table::Table;

mod findings;
mod machine;

pub(crate) use findings::{findings, warnings};

/// A table with its title.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) table: Table,
}

/// The report of a run, as Markdown.
pub(crate) fn markdown(run: &Run, groups: &[Group]) -> String {
    let mut text = format!("# {}\n\n", run.experiments.join(", "));
    let warnings = warnings(run, groups);
    for warning in &warnings {
        let _ = writeln!(text, "> **Warning:** {warning}\n");
    }
    text.push_str("## What was found\n\n");
    let findings = findings(groups);
    if findings.is_empty() {
        text.push_str("Nothing: no cell has figures.\n");
    }
    for finding in findings {
        let _ = writeln!(text, "* {finding}");
    }
    for section in sections(groups) {
        let _ = write!(text, "\n## {}\n\n{}", section.title, section.table.markdown());
    }
    text.push('\n');
    text.push_str(HOW_TO_READ);
    text.push('\n');
    text.push_str(&machine::markdown(run));
    text
}

const HOW_TO_READ: &str = "\
`floor` is the same work with no model around it. `bound` is what arithmetic allows (Little's law: N x wait / limit, \
and one wait where nothing limits); efficiency is bound / elapsed. Response times count from the intended start of \
each request. A step of a ramp is met when its p99 is within its objective: its own wait and a slack, half of the \
experiment's wait where its file says nothing else, which does not stretch where a step's wait has to. Capacity is \
the peak of the largest step that was met, and the percentiles, wait and objective beside it are of that step. `>=` \
marks a figure that the machine, and not the model, kept from being larger. n counts repetitions, each in its own \
process. An interval is that of the median over them, by order statistics: the narrowest pair of repetitions that has \
the true median between it with the probability beside it, of 90 % or more; of fewer than five it is the smallest and \
the largest, which have less. n = 1 says nothing of the spread.
";

/// The tables of a run, in the order of the experiments.
pub(crate) fn sections(groups: &[Group]) -> Vec<Section> {
    let of = |experiment: Experiment| {
        groups.iter().filter(move |group| group.cell.experiment == experiment.name())
    };
    let mut sections = Vec::new();
    let mut add = |title: &str, table: Table| {
        if !table.is_empty() {
            sections.push(Section { title: title.to_owned(), table });
        }
    };
    add("A burst of waiting requests, in process (capacity.burst)", burst(of(Experiment::Burst)));
    for (experiment, place) in [(Experiment::HoldTasks, "in process"), (Experiment::Hold, "over HTTP")] {
        let name = experiment.name();
        let is_step = |group: &&Group| group.param("requests").is_some();
        add(
            &format!("How many can wait at once, {place} ({name})"),
            hold(of(experiment).filter(|group| !is_step(group))),
        );
        add(&format!("Steps, {place} ({name})"), steps(of(experiment).filter(is_step)));
    }
    sections
}

fn burst<'a>(groups: impl Iterator<Item = &'a Group>) -> Table {
    let mut table = Table::new(&[
        "variant",
        "start",
        "requests",
        "elapsed",
        "bound",
        "efficiency",
        "peak in flight",
        "dispatch",
        "CPU/request",
        "n",
        "elapsed, interval",
        "status",
    ]);
    for group in groups {
        let warm = group.cell.params.get("warm").and_then(serde_json::Value::as_bool).unwrap_or(false);
        let figure = |name: &str| figure(group, name);
        table.push(vec![
            group.label.clone(),
            if warm { "warm" } else { "cold" }.to_owned(),
            group.param("requests").map_or_else(none, count),
            figure("elapsed_ns"),
            figure("bound_ns"),
            figure("efficiency"),
            figure("in_flight_peak"),
            figure("dispatch_elapsed_ns"),
            figure("cpu_ns_per_request"),
            repetitions(group, "elapsed_ns"),
            interval(group, "elapsed_ns"),
            status(group),
        ]);
    }
    table
}

fn hold<'a>(groups: impl Iterator<Item = &'a Group>) -> Table {
    let mut table = Table::new(&[
        "variant",
        "capacity",
        "limited by",
        "wait",
        "p50",
        "p99",
        "objective",
        "n",
        "capacity, interval",
        "evidence",
        "status",
    ]);
    for group in groups {
        let capacity = figure(group, "in_flight_capacity");
        table.push(vec![
            group.label.clone(),
            if group.censored == Some(true) { format!(">= {capacity}") } else { capacity },
            group.limited_by.clone().unwrap_or_else(none),
            figure(group, "wait_ns"),
            figure(group, "response_p50_ns"),
            figure(group, "response_p99_ns"),
            figure(group, "objective_ns"),
            repetitions(group, "in_flight_capacity"),
            interval(group, "in_flight_capacity"),
            evidence(group),
            status(group),
        ]);
    }
    table
}

fn steps<'a>(groups: impl Iterator<Item = &'a Group>) -> Table {
    let mut table = Table::new(&[
        "variant",
        "requests",
        "wait",
        "peak in flight",
        "p50",
        "p99",
        "objective",
        "CPU/request",
        "n",
        "not met because of",
        "status",
    ]);
    for group in groups {
        table.push(vec![
            group.label.clone(),
            group.param("requests").map_or_else(none, count),
            param_ns(group, "wait_ns"),
            figure(group, "in_flight_peak"),
            figure(group, "response_p50_ns"),
            figure(group, "response_p99_ns"),
            param_ns(group, "objective_ns"),
            figure(group, "cpu_ns_per_request"),
            repetitions(group, "response_p99_ns"),
            group.limited_by.clone().unwrap_or_default(),
            status(group),
        ]);
    }
    table
}

/// The evidence for a limit, in a few words.
fn evidence(group: &Group) -> String {
    let shown = group.evidence.iter().filter(|(_, value)| !value.is_object() && !value.is_array()).map(
        |(name, value)| {
            let value = match value.as_u64() {
                Some(number) => figure_of(name, number),
                None => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            };
            format!("{} {value}", name.trim_end_matches("_ns").replace('_', " "))
        },
    );
    shown.collect::<Vec<_>>().join(", ")
}

#[expect(clippy::cast_precision_loss, reason = "figures are shown with four digits")]
fn figure_of(name: &str, number: u64) -> String {
    metric(name, number as f64)
}

fn param_ns(group: &Group, name: &str) -> String {
    group.param(name).map_or_else(none, |value| figure_of(name, value))
}

fn figure(group: &Group, name: &str) -> String {
    group.median(name).map_or_else(none, |value| metric(name, value))
}

fn repetitions(group: &Group, name: &str) -> String {
    group.metrics.get(name).map_or(0, |spread| spread.n).to_string()
}

/// The interval of a median with its coverage, or why there is none.
fn interval(group: &Group, name: &str) -> String {
    match group.metrics.get(name) {
        Some(Spread { interval: Some(interval), .. }) => format!(
            "[{}, {}] {:.1} %",
            metric(name, interval.low()),
            metric(name, interval.high()),
            interval.coverage() * 100.0
        ),
        Some(Spread { n, .. }) => format!("n = {n}, no interval"),
        None => none(),
    }
}

/// `ok`, or the status with its reason.
fn status(group: &Group) -> String {
    match &group.reason {
        Some(reason) => format!("{}: {reason}", group.status.name()),
        None => group.status.name().to_owned(),
    }
}

fn none() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests;
