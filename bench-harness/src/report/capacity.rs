//! The sections of the capacity experiments: a burst, and two ramps with their steps.

use serde_json::Value;

mod charts;

use super::columns::{evidence, figure, interval, interval_of_bounds, none, param_ns, repetitions, status};
use super::findings::list;
use super::study::Study;
use super::{FLOOR, Section, findings, of};
use crate::experiment::Experiment;
use crate::format::{count, metric};
use crate::summary::Group;
use crate::table::Table;

pub(super) const STUDY: Study = Study {
    name: "capacity",
    title: "How many can wait at once, and what ends it?",
    headline,
    findings: findings::capacity,
    charts: charts::charts,
    sections: |data| sections(data.groups),
    how_to_read: |_| String::new(),
};

/// Who holds all that the ramp offers, and who ends before at what.
fn headline(groups: &[Group]) -> Option<String> {
    let verdicts = |experiment: Experiment| -> Vec<&Group> {
        let is_verdict = |group: &&Group| {
            group.param("requests").is_none() && group.status.ranks() && group.cell.runtime != FLOOR
        };
        of(groups, experiment).filter(is_verdict).collect()
    };
    let over_http = verdicts(Experiment::Hold);
    let (verdicts, what) = match over_http.is_empty() {
        true => (verdicts(Experiment::HoldTasks), "requests in process"),
        false => (over_http, "requests over HTTP"),
    };
    let capacity = |group: &Group| group.median("in_flight_capacity");
    let told = |group: &&&Group| {
        let limit = group.limited_by.as_deref().unwrap_or("an unknown limit");
        capacity(group).map(|capacity| format!("`{}` at {} ({limit})", group.label, metric("", capacity)))
    };
    let (open, ended): (Vec<&Group>, Vec<&Group>) =
        verdicts.iter().copied().partition(|group| group.censored == Some(true));
    let least = open.iter().filter_map(|group| capacity(group)).min_by(f64::total_cmp);
    let ended: Vec<String> = ended.iter().filter_map(|group| told(&group)).collect();
    let ended = if ended.is_empty() { None } else { Some(list(&ended)) };
    Some(match (least, ended) {
        (Some(least), Some(ended)) => format!(
            "{} of {} variants held {} waiting {what} or more before the machine or the ramp, and not the model, ended it; \
             the others ended by themselves: {ended}.",
            open.len(),
            verdicts.len(),
            metric("", least)
        ),
        (Some(least), None) => format!(
            "All {} variants held {} waiting {what} or more: no model ended by itself.",
            verdicts.len(),
            metric("", least)
        ),
        (None, Some(ended)) => format!("Waiting {what} ended by the model's own limit: {ended}."),
        (None, None) => return None,
    })
}

fn sections(groups: &[Group]) -> Vec<Section> {
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
        table.told_from(group.anchor());
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
        table.told_from(group.anchor());
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
        table.told_from(group.anchor());
    }
    table
}
