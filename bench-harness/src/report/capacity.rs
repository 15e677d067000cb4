//! The sections of the capacity experiments: a burst, and two ramps with their steps.

use serde_json::Value;

use super::columns::{evidence, figure, interval, interval_of_bounds, none, param_ns, repetitions, status};
use super::{Section, of};
use crate::experiment::Experiment;
use crate::format::count;
use crate::summary::Group;
use crate::table::Table;

pub(super) fn sections(groups: &[Group]) -> Vec<Section> {
    let mut sections = vec![Section::new(
        "A burst of waiting requests, in process (capacity.burst)",
        burst(of(groups, Experiment::Burst)),
    )];
    for (experiment, place) in [(Experiment::HoldTasks, "in process"), (Experiment::Hold, "over HTTP")] {
        let name = experiment.name();
        let is_step = |group: &&Group| group.param("requests").is_some();
        sections.push(Section::new(
            &format!("How many can wait at once, {place} ({name})"),
            hold(of(groups, experiment).filter(|group| !is_step(group))),
        ));
        sections.push(Section::new(
            &format!("Steps, {place} ({name})"),
            steps(of(groups, experiment).filter(is_step)),
        ));
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
        let warm = group.cell.params.get("warm").and_then(Value::as_bool).unwrap_or(false);
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
        let is_bound = group.censored == Some(true);
        table.push(vec![
            group.label.clone(),
            if is_bound { format!(">= {capacity}") } else { capacity },
            group.limited_by.clone().unwrap_or_else(none),
            figure(group, "wait_ns"),
            figure(group, "response_p50_ns"),
            figure(group, "response_p99_ns"),
            figure(group, "objective_ns"),
            repetitions(group, "in_flight_capacity"),
            if is_bound {
                interval_of_bounds(group, "in_flight_capacity")
            } else {
                interval(group, "in_flight_capacity")
            },
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
            repetitions(group, "in_flight_peak"),
            group.limited_by.clone().unwrap_or_default(),
            status(group),
        ]);
    }
    table
}
