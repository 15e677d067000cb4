//! The sections of the memory experiments: what one more costs, in user and in kernel memory.

mod charts;

use serde_json::Value;

use super::columns::{none, repetitions, status};
use super::study::Study;
use super::{Section, of};
use crate::contestant::FLOOR;
use crate::experiment::Experiment;
use crate::format::{bytes, count};
use crate::summary::Group;
use crate::table::Table;

/// A model that has so many times as much as the floor before anything comes has paid beforehand.
const PAID_BEFORE: f64 = 8.0;
/// Of fewer places, what one program has at the start and another has not would be what is told.
const PLACES_MIN: u64 = 10;

const HOW_TO_READ: &str = "
What one more costs is the slope of a line through what one growing process has, with all of its children, while \
more and more wait in it, or are connected to it and idle. The total is what any user can see: PSS, page tables, and \
the kernel's stack of each thread. Slab, the kernel's objects, wants root and stands apart; that of a connection is of \
both of its ends, since client and server share one kernel, which may keep objects of one size under one of their \
names. Reserved is address space, which costs nothing by itself. An interval with `fit` beside it is how well the line \
tells its slope, with 95 %; one with a share beside it is that of the median over repetitions. All looks are between \
two powers of two, so that a table that doubles does so in none: its steps are not in the slope. A pool has its \
threads at the start, so that one more in service costs next to nothing up to its size, and one more than that is \
queued; a bounded queue has its places at the start too.
";

pub(super) const STUDY: Study = Study {
    name: "memory",
    title: "What does one more cost in memory?",
    headline,
    findings,
    charts: charts::charts,
    sections: |data| sections(data.groups),
    how_to_read: |data| how_to_read(data.groups).to_owned(),
};

pub(super) fn sections(groups: &[Group]) -> Vec<Section> {
    vec![
        Section::new(
            "What does one more waiting request cost? In process (memory.tasks)",
            table(of(groups, Experiment::Tasks), "requests"),
        ),
        Section::new(
            "What does one more idle connection cost? (memory.connections)",
            table(of(groups, Experiment::Connections), "connections"),
        ),
    ]
}

/// How to read the tables, where there are any.
fn how_to_read(groups: &[Group]) -> &'static str {
    let any =
        [Experiment::Tasks, Experiment::Connections].into_iter().any(|one| of(groups, one).next().is_some());
    if any { HOW_TO_READ } else { "" }
}

/// The cheapest and the dearest connection.
fn headline(groups: &[Group]) -> Option<String> {
    let models =
        |group: &&Group| group.status.ranks() && total(group).is_some() && group.cell.runtime != FLOOR;
    let mut costs: Vec<&Group> = of(groups, Experiment::Connections).filter(models).collect();
    costs.sort_by(|a, b| total(a).unwrap_or(0.0).total_cmp(&total(b).unwrap_or(0.0)));
    let (first, last) = (costs.first()?, costs.last()?);
    let told = |group: &Group| format!("{} on `{}`", bytes(total(group).unwrap_or(0.0)), group.label);
    let stacks = last.median("kernel_stack_bytes_per_unit").filter(|stacks| *stacks >= 1.0);
    let stacks = stacks.map(|stacks| format!(" ({} of it the kernel's stack)", bytes(stacks)));
    let slabs: Vec<f64> = costs.iter().filter_map(|group| group.median("slab_bytes_per_unit")).collect();
    let slab = statistics::Sample::new(slabs).ok().map(|slabs| {
        format!(
            ", beside about {} of the kernel's own objects for both of its ends on any of them",
            bytes(slabs.median())
        )
    });
    Some(format!(
        "One more idle connection costs from {} to {}{}{}.",
        told(first),
        told(last),
        stacks.unwrap_or_default(),
        slab.unwrap_or_default()
    ))
}

/// What was found, a sentence each.
pub(super) fn findings(groups: &[Group]) -> Vec<String> {
    let ranked = |experiment: Experiment| -> Vec<&Group> {
        let has = |group: &&Group| group.status.ranks() && total(group).is_some();
        of(groups, experiment).filter(has).collect()
    };
    let (tasks, connections) = (ranked(Experiment::Tasks), ranked(Experiment::Connections));
    let free: Vec<&Group> = tasks.iter().copied().filter(|group| limit(group).is_none()).collect();
    let mut findings = Vec::new();
    findings.extend(one_more(&free, "waiting request"));
    findings.extend(one_more(&connections, "idle connection"));
    findings.extend(paid_before(&tasks));
    findings
}

/// What one more costs, on each variant, the cheapest first.
fn one_more(groups: &[&Group], what: &str) -> Option<String> {
    let mut sorted = groups.to_vec();
    let cost = |group: &Group| total(group).unwrap_or(f64::INFINITY);
    sorted.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let of = |group: &&Group| {
        let stacks = group.median("kernel_stack_bytes_per_unit").unwrap_or(0.0);
        let slab = group.median("slab_bytes_per_unit");
        let parts = match (stacks >= 1.0, slab) {
            (true, Some(slab)) => {
                format!(
                    " ({} of it the kernel's stack, and {} of slab beside it)",
                    bytes(stacks),
                    bytes(slab)
                )
            }
            (true, None) => format!(" ({} of it the kernel's stack)", bytes(stacks)),
            (false, _) => String::new(),
        };
        format!("`{}` {}{parts}", group.label, bytes(cost(group)))
    };
    let all: Vec<String> = sorted.iter().map(of).collect();
    (!all.is_empty()).then(|| format!("One more {what} costs {}.", all.join(", ")))
}

/// Who has its memory before anything comes, and what that is for each place of a pool.
fn paid_before(tasks: &[&Group]) -> Vec<String> {
    let at_start = |group: &Group| group.evidence.get("before")?.get("total_bytes")?.as_f64();
    let floor = tasks.iter().find(|group| group.cell.runtime == FLOOR).and_then(|floor| at_start(floor));
    let Some(floor) = floor else { return Vec::new() };
    let mut findings = Vec::new();
    for group in tasks.iter().filter(|group| group.cell.runtime != FLOOR && !is_in_a_pool(group)) {
        let Some(start) = at_start(group) else { continue };
        match limit(group) {
            Some(limit) if limit < PLACES_MIN => {}
            Some(limit) => findings.push(format!(
                "`{}` has paid for its {} places before the first request: {} at the start, {} a place more than the floor's.",
                group.label,
                count(limit),
                bytes(start),
                bytes((start - floor) / as_f64(limit))
            )),
            None if start > floor * PAID_BEFORE => findings.push(format!(
                "`{}` has {} before the first request, and the floor {}.",
                group.label,
                bytes(start),
                bytes(floor)
            )),
            None => {}
        }
    }
    findings
}

/// The row of those in service, beside which there is one of those in the queue.
fn is_in_a_pool(group: &Group) -> bool {
    limit(group).is_some() && group.cell.params.get("waiting").and_then(Value::as_str) != Some("queued")
}

fn limit(group: &Group) -> Option<u64> {
    group.evidence.get("in_flight_limit")?.as_u64()
}

fn total(group: &Group) -> Option<f64> {
    group.median("total_bytes_per_unit")
}

fn table<'a>(groups: impl Iterator<Item = &'a Group>, units: &str) -> Table {
    let mut table = Table::new(&[
        "variant",
        "where",
        units,
        "total",
        "total, interval",
        "PSS",
        "PSS, interval",
        "private",
        "page tables",
        "kernel stacks",
        "slab",
        "reserved",
        "at the start",
        "n",
        "status",
    ]);
    for group in groups {
        let figure = |name: &str| group.median(name).map_or_else(none, bytes);
        let waiting = group.cell.params.get("waiting").and_then(Value::as_str);
        let start = group.evidence.get("before").and_then(|before| before.get("total_bytes")?.as_f64());
        table.push(vec![
            group.label.clone(),
            waiting.unwrap_or("idle").replace('-', " "),
            range(group).unwrap_or_else(none),
            figure("total_bytes_per_unit"),
            interval(group, "total_bytes_per_unit"),
            figure("pss_bytes_per_unit"),
            interval(group, "pss_bytes_per_unit"),
            figure("private_bytes_per_unit"),
            figure("page_table_bytes_per_unit"),
            figure("kernel_stack_bytes_per_unit"),
            figure("slab_bytes_per_unit"),
            figure("reserved_bytes_per_unit"),
            start.map_or_else(none, bytes),
            repetitions(group, "total_bytes_per_unit"),
            status(group),
        ]);
        table.told_from(group.anchor());
    }
    table
}

/// `1,100 to 2,000`
fn range(group: &Group) -> Option<String> {
    let looks = group.evidence.get("looks")?.as_array()?;
    let units = |look: Option<&Value>| look?.get("units")?.as_u64().map(count);
    Some(format!("{} to {}", units(looks.first())?, units(looks.last())?))
}

/// The interval over repetitions, or else that of the line.
fn interval(group: &Group, name: &str) -> String {
    let Some(interval) = group.interval(name) else { return none() };
    let ends = format!("[{}, {}]", bytes(interval.low.get()), bytes(interval.high.get()));
    if interval.is_of_fit {
        format!("{ends} fit")
    } else {
        format!("{ends} {:.1} %", interval.coverage * 100.0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a limit is far below 2^53")]
fn as_f64(limit: u64) -> f64 {
    limit as f64
}
