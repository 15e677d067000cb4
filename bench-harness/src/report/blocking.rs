//! The sections of the blocking experiments: what the innocent feel, and what a burst of blockers takes.

mod charts;
mod findings;

use std::collections::BTreeSet;

use statistics::Percentile;

use super::columns::{figure, interval, none, param_ns, repetitions, status};
use super::study::Study;
use super::{Section, of};
use crate::experiment::Experiment;
use crate::format::{count, metric};
use crate::summary::Group;
use crate::table::Table;

const HOW_TO_READ: &str = "
A blocker keeps its thread: it sleeps there, or computes. Its share is of the workers' time, the same for all variants, \
and 0 % is the probes alone; the floor's row is their plan on an idle machine. Response times of probes and blockers \
count from their intended starts; what had no answer at the end has taken at least so long, and is among them. Held up \
is the share of probes that took more than their plan by the time that the experiment's file states. Beside it stands what \
arithmetic says of Poisson arrivals: least where all threads take from one queue (Erlang's C), most where each has its own \
and every turn of a probe is another draw; nothing where blockers sleep on threads that no probe needs. Loop lag is how \
late a tick is inside the runtime that is due every 10 ms. A percentile that too few samples support gives way to the \
furthest that they do, which is named. Saturated: the blockers ask for more than there is, so that times grow for as \
long as they go on, and say little without that length. One probe crosses a server's threads twice, so that more than \
one in three is held up where one in three finds them kept.
";

pub(super) const STUDY: Study = Study {
    name: "blocking",
    title: "What does a blocking handler do to the innocent?",
    headline: findings::headline,
    findings: findings::findings,
    charts: charts::charts,
    sections: |data| sections(data.groups),
    how_to_read: |data| how_to_read(data.groups).to_owned(),
};

/// A kind of blocker, and where it is carried out.
type Kind = (Option<String>, String);

fn sections(groups: &[Group]) -> Vec<Section> {
    let probes: Vec<&Group> = of(groups, Experiment::Probe).collect();
    let mut sections: Vec<Section> = kinds(&probes)
        .into_iter()
        .map(|kind| {
            let title = format!("What does blocking do to the innocent? {} (blocking.probe)", title(&kind));
            Section::new(&title, probe(&probes, &kind))
        })
        .collect();
    if sections.is_empty() {
        // The probes alone, where nothing was measured beside them.
        let alone = probe(&probes, &(None, String::new()));
        sections.push(Section::new("What do probes feel alone? (blocking.probe)", alone));
    }
    sections.push(Section::new(
        "What does a block keep? In process (blocking.pinning)",
        pinning(of(groups, Experiment::Pinning)),
    ));
    sections
}

/// How to read the tables, where there are any.
fn how_to_read(groups: &[Group]) -> &'static str {
    if of(groups, Experiment::Probe).next().is_some() { HOW_TO_READ } else { "" }
}

/// Each once, sleepers first, and inline first of these.
fn kinds(groups: &[&Group]) -> Vec<Kind> {
    let with_blockers = groups.iter().filter(|group| text(group, "blocker").is_some());
    let kinds: BTreeSet<Kind> = with_blockers
        .filter_map(|group| {
            Some((text(group, "blocker").map(str::to_owned), text(group, "strategy")?.to_owned()))
        })
        .collect();
    let mut kinds: Vec<Kind> = kinds.into_iter().collect();
    kinds.sort_by_key(|(blocker, strategy)| (blocker.clone(), strategy != "inline", strategy.clone()));
    kinds
}

fn title((blocker, strategy): &Kind) -> String {
    let blockers = match blocker.as_deref() {
        Some("compute") => "Blockers that compute",
        _ => "Blockers that sleep",
    };
    match strategy.as_str() {
        "offload" => format!("{blockers}, offloaded"),
        "in-place" => format!("{blockers}, in place"),
        _ => format!("{blockers}, inline"),
    }
}

fn probe(groups: &[&Group], (blocker, strategy): &Kind) -> Table {
    let mut table = Table::new(&[
        "variant",
        "share",
        "probes",
        "p50",
        "p99",
        "p99.9",
        "max",
        "held up",
        "by arithmetic",
        "blockers",
        "their p99",
        "loop lag p99",
        "n",
        "p99, interval",
        "status",
    ]);
    let is_alone = |group: &Group| share(group) == Some(0);
    let is_refused = |group: &Group| share(group).is_none();
    let is_of_kind = |group: &Group| text(group, "blocker") == blocker.as_deref();
    for group in groups.iter().copied() {
        let is_of_strategy = text(group, "strategy") == Some(strategy);
        if !(is_alone(group) || is_of_strategy && (is_of_kind(group) || is_refused(group))) {
            continue;
        }
        let pool = group.param("offload_threads").map(|threads| format!(", {} threads", count(threads)));
        table.push(vec![
            group.label.clone() + &pool.unwrap_or_default(),
            share(group).map_or_else(none, |percent| format!("{percent} %")),
            figure(group, "probes"),
            figure(group, "probe_p50_ns"),
            furthest(group, "probe", Percentile::P99),
            figure(group, "probe_p999_ns"),
            figure(group, "probe_max_ns"),
            percent(group, "probe_held_share"),
            by_arithmetic(group),
            figure(group, "blockers"),
            furthest(group, "blocker", Percentile::P99),
            furthest(group, "loop_lag", Percentile::P99),
            repetitions(group, "probe_p99_ns"),
            interval(group, "probe_p99_ns"),
            told(group),
        ]);
        table.told_from(group.anchor());
    }
    table
}

fn pinning<'a>(groups: impl Iterator<Item = &'a Group>) -> Table {
    let mut table = Table::new(&[
        "variant",
        "blockers",
        "strategy",
        "requests",
        "each",
        "elapsed",
        "bound",
        "efficiency",
        "bound by",
        "n",
        "elapsed, interval",
        "status",
    ]);
    for group in groups {
        table.push(vec![
            group.label.clone(),
            text(group, "blocker").map_or_else(none, str::to_owned),
            text(group, "strategy").map_or_else(none, str::to_owned),
            group.param("requests").map_or_else(none, count),
            param_ns(group, "keep_ns"),
            figure(group, "elapsed_ns"),
            figure(group, "bound_ns"),
            figure(group, "efficiency"),
            said(group, "bound_by").map_or_else(none, str::to_owned),
            repetitions(group, "elapsed_ns"),
            interval(group, "elapsed_ns"),
            status(group),
        ]);
        table.told_from(group.anchor());
    }
    table
}

/// Of the workers' time, in percent; none of a row that is a refusal.
fn share(group: &Group) -> Option<u64> {
    group.param("blocker_share_percent")
}

fn text<'a>(group: &'a Group, param: &str) -> Option<&'a str> {
    group.cell.params.get(param)?.as_str()
}

fn said<'a>(group: &'a Group, evidence: &str) -> Option<&'a str> {
    group.evidence.get(evidence)?.as_str()
}

/// A percentile, or the furthest below it that there are samples for, with its name.
fn furthest(group: &Group, what: &str, percentile: Percentile) -> String {
    let named = [(Percentile::P99, "p99"), (Percentile::P90, "p90"), (Percentile::P50, "p50")];
    let below = named.into_iter().filter(|(one, _)| *one <= percentile);
    let found = below.into_iter().find_map(|(one, name)| {
        let metric_name = format!("{what}_{name}_ns");
        group.median(&metric_name).map(|value| (one, name, metric(&metric_name, value)))
    });
    match found {
        Some((one, _, figure)) if one == percentile => figure,
        Some((_, name, figure)) => format!("{figure} ({name})"),
        None => none(),
    }
}

fn percent(group: &Group, name: &str) -> String {
    group.median(name).map_or_else(none, |share| format!("{:.1} %", share * 100.0))
}

fn by_arithmetic(group: &Group) -> String {
    match (group.median("held_share_least"), group.median("held_share_most")) {
        (Some(least), Some(most)) if least < most => {
            format!("{:.0} to {:.0} %", least * 100.0, most * 100.0)
        }
        (Some(share), Some(_)) => format!("{:.0} %", share * 100.0),
        _ => none(),
    }
}

/// The status, and for how long there was an overload.
fn told(group: &Group) -> String {
    match said(group, "saturated") {
        Some(how) => format!("{}; saturated {how}", status(group)),
        None => status(group),
    }
}
