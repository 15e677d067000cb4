//! The sections of the throughput experiments: a closed loop, and an open one at half of the floor's ceiling.

mod charts;

use super::columns::{figure, interval, none, repetitions, status};
use super::study::Study;
use super::{Section, of};
use crate::experiment::Experiment;
use crate::format::{count, metric};
use crate::summary::Group;
use crate::table::Table;

pub(super) const STUDY: Study = Study {
    name: "throughput",
    title: "What does the model itself cost?",
    // What is found says it in a sentence already.
    headline: |_| None,
    findings,
    charts: charts::charts,
    sections: |data| sections(data.groups),
    how_to_read: |_| String::new(),
};

fn sections(groups: &[Group]) -> Vec<Section> {
    vec![
        Section::new(
            "What the model itself costs, as fast as it goes (throughput.closed)",
            closed(of(groups, Experiment::Closed)),
        ),
        Section::new(
            "What it costs at a share of what the floor can do (throughput.open)",
            open(of(groups, Experiment::Open)),
        ),
    ]
}

/// What was found, a sentence each.
fn findings(groups: &[Group]) -> Vec<String> {
    let closed: Vec<&Group> = of(groups, Experiment::Closed)
        .filter(|group| group.status.ranks() && group.median("cpu_ns_per_request").is_some())
        .collect();
    let mut numbers: Vec<u64> = closed.iter().filter_map(|group| group.param("connections")).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into_iter().filter_map(|connections| cheapest(&closed, connections)).collect()
}

/// CPU per request ranks where throughput may be the client's limit.
fn cheapest(closed: &[&Group], connections: u64) -> Option<String> {
    let cost = |group: &Group| group.median("cpu_ns_per_request").unwrap_or(f64::INFINITY);
    let mut alike: Vec<&Group> =
        closed.iter().copied().filter(|group| group.param("connections") == Some(connections)).collect();
    alike.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let floor = alike.iter().find(|group| group.cell.runtime == crate::contestant::FLOOR)?;
    let others: Vec<&&Group> =
        alike.iter().filter(|group| group.cell.runtime != floor.cell.runtime).collect();
    let (first, last) = (others.first()?, others.last()?);
    let told = |group: &Group| {
        format!(
            "`{}` with {} ({:.2} x)",
            group.label,
            metric("cpu_ns", cost(group)),
            cost(group) / cost(floor)
        )
    };
    let most = if others.len() > 1 { format!(", the most {}", told(last)) } else { String::new() };
    Some(format!(
        "An empty plan over {} connections costs the floor {} of server CPU a request; the least of the models is {}{most}.",
        count(connections),
        metric("cpu_ns", cost(floor)),
        told(first),
    ))
}

fn closed<'a>(groups: impl Iterator<Item = &'a Group>) -> Table {
    let mut table = Table::new(&[
        "variant",
        "connections",
        "requests/s",
        "CPU/request",
        "switches/request",
        "syscalls/request",
        "p50",
        "p99",
        "server busy",
        "n",
        "CPU/request, interval",
        "status",
    ]);
    for group in groups {
        let throughput = figure(group, "throughput_per_s");
        table.push(vec![
            group.label.clone(),
            group.param("connections").map_or_else(none, count),
            if group.censored == Some(true) { format!(">= {throughput}") } else { throughput },
            figure(group, "cpu_ns_per_request"),
            figure(group, "context_switches_per_request"),
            figure(group, "syscalls_per_request"),
            figure(group, "response_p50_ns"),
            figure(group, "response_p99_ns"),
            figure(group, "server_busy_share"),
            repetitions(group, "cpu_ns_per_request"),
            interval(group, "cpu_ns_per_request"),
            status(group),
        ]);
        table.told_from(group.anchor());
    }
    table
}

fn open<'a>(groups: impl Iterator<Item = &'a Group>) -> Table {
    let mut table = Table::new(&[
        "variant",
        "offered/s",
        "requests/s",
        "CPU/request",
        "switches/request",
        "syscalls/request",
        "p50",
        "p99",
        "send lag p99",
        "n",
        "p99, interval",
        "status",
    ]);
    for group in groups {
        table.push(vec![
            group.label.clone(),
            figure(group, "offered_rate_per_s"),
            figure(group, "throughput_per_s"),
            figure(group, "cpu_ns_per_request"),
            figure(group, "context_switches_per_request"),
            figure(group, "syscalls_per_request"),
            figure(group, "response_p50_ns"),
            figure(group, "response_p99_ns"),
            figure(group, "send_lag_p99_ns"),
            repetitions(group, "response_p99_ns"),
            interval(group, "response_p99_ns"),
            status(group),
        ]);
        table.told_from(group.anchor());
    }
    table
}
