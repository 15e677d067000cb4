//! The sections of the pipeline experiments: what each policy does to the rate and to those who wait, the rate beside its
//! arithmetic, and what is left of it under other conditions.

mod charts;
mod findings;

use super::columns::{figure, interval, none, repetitions, status};
use super::study::Study;
use super::{Data, Section, of};
use crate::experiment::Experiment;
use crate::summary::Group;
use crate::table::Table;

pub(super) const STUDY: Study = Study {
    name: "pipeline",
    title: "What do batches buy, and who waits for them?",
    headline: findings::headline,
    findings: findings::findings,
    charts: charts::charts,
    sections: |data| sections(data.groups),
    how_to_read,
};

const POLICIES: [Experiment; 6] = [
    Experiment::Fifo1,
    Experiment::Fifo16,
    Experiment::Lanes16,
    Experiment::Join,
    Experiment::Hold8,
    Experiment::Hold4,
];

fn sections(groups: &[Group]) -> Vec<Section> {
    vec![
        Section::new("What each policy does to the rate and to those who wait (pipeline)", policies(groups)),
        Section::new(
            "The rate beside its arithmetic (pipeline.sizing)",
            sizing(of(groups, Experiment::Sizing)),
        ),
        Section::new(
            "Other conditions (pipeline.conditions)",
            conditions(of(groups, Experiment::Conditions)),
        ),
    ]
}

fn how_to_read(data: &Data<'_>) -> String {
    let is_there = POLICIES
        .into_iter()
        .chain([Experiment::Sizing, Experiment::Conditions])
        .any(|experiment| of(data.groups, experiment).next().is_some());
    if !is_there {
        return String::new();
    }
    "\nOf the pipeline, the rate is of bulk images that went through in the window, when the pipeline had filled; \
     interactive times are from the intended start of each image, and `admitted` from its admission, which leaves out the \
     wait for a slot. The ceiling is arithmetic that nothing can beat: the slowest of fetches, decoders, device, \
     renderers, cores and limit in flight. `expected` is an estimate below it, of what the limit in flight lets a device \
     do that never pauses. `fifo1` and `fifo16` take images by arrival in batches of up to 1 and 16; `lanes16` puts \
     interactive images first and lets each flush the batch; `join` puts them into the next batch; `hold8` and `hold4` \
     hold the device for up to 20 ms for one that is about to arrive, whose batch is of up to 8 or 4.\n"
        .to_owned()
}

fn policy(group: &Group) -> &str {
    group.cell.experiment.rsplit('.').next().unwrap_or_default()
}

fn setting(group: &Group) -> &str {
    group.cell.params.get("setting").and_then(serde_json::Value::as_str).unwrap_or_default()
}

/// The study's own pipeline, policy by policy.
fn studied(groups: &[Group]) -> impl Iterator<Item = &Group> {
    let each = POLICIES.into_iter().flat_map(|experiment| of(groups, experiment));
    each.filter(|group| setting(group).is_empty())
}

fn policies(groups: &[Group]) -> Table {
    let mut table = Table::new(&[
        "variant",
        "policy",
        "bulk/s",
        "ceiling/s",
        "interactive p50",
        "p99",
        "max",
        "admitted p50",
        "max",
        "batch",
        "peak in flight",
        "refused",
        "device busy",
        "CPU/image",
        "n",
        "bulk/s, interval",
        "p50, interval",
        "status",
    ]);
    for group in POLICIES.into_iter().flat_map(|experiment| of(groups, experiment)) {
        let under = if setting(group).is_empty() { String::new() } else { format!(", {}", setting(group)) };
        table.push(vec![
            group.label.clone(),
            format!("{}{under}", policy(group)),
            figure(group, "bulk_images_per_s"),
            figure(group, "ceiling_images_per_s"),
            figure(group, "interactive_p50_ns"),
            figure(group, "interactive_p99_ns"),
            figure(group, "interactive_max_ns"),
            figure(group, "interactive_admitted_p50_ns"),
            figure(group, "interactive_admitted_max_ns"),
            figure(group, "batch_size_mean"),
            figure(group, "in_flight_peak"),
            figure(group, "interactive_refused"),
            figure(group, "detector_busy_share"),
            figure(group, "cpu_ns_per_image"),
            repetitions(group, "images_per_s"),
            interval(group, "bulk_images_per_s"),
            interval(group, "interactive_p50_ns"),
            status(group),
        ]);
        table.told_from(group.anchor());
    }
    table
}

fn sizing<'a>(groups: impl Iterator<Item = &'a Group>) -> Table {
    let mut table = Table::new(&[
        "variant",
        "setting",
        "images/s",
        "expected/s",
        "ceiling/s",
        "ceiling by",
        "of the ceiling",
        "batch",
        "mean in flight",
        "device busy",
        "interactive p50",
        "bulk admitted p50",
        "n",
        "images/s, interval",
        "status",
    ]);
    for group in groups {
        let by = group.evidence.get("ceiling_by").and_then(serde_json::Value::as_str);
        let share = group.median("images_per_s").zip(group.median("ceiling_images_per_s"));
        table.push(vec![
            group.label.clone(),
            setting(group).to_owned(),
            figure(group, "images_per_s"),
            figure(group, "expected_images_per_s"),
            figure(group, "ceiling_images_per_s"),
            by.map_or_else(none, str::to_owned),
            share.map_or_else(none, |(rate, ceiling)| format!("{:.2}", rate / ceiling)),
            figure(group, "batch_size_mean"),
            figure(group, "in_flight_mean"),
            figure(group, "detector_busy_share"),
            figure(group, "interactive_p50_ns"),
            figure(group, "bulk_admitted_p50_ns"),
            repetitions(group, "images_per_s"),
            interval(group, "images_per_s"),
            status(group),
        ]);
        table.told_from(group.anchor());
    }
    table
}

fn conditions<'a>(groups: impl Iterator<Item = &'a Group>) -> Table {
    let mut table = Table::new(&[
        "variant",
        "setting",
        "bulk/s",
        "interactive p50",
        "max",
        "admitted p50",
        "max",
        "batch",
        "refused",
        "device busy",
        "CPU/image",
        "n",
        "bulk/s, interval",
        "p50, interval",
        "status",
    ]);
    for group in groups {
        table.push(vec![
            group.label.clone(),
            setting(group).to_owned(),
            figure(group, "bulk_images_per_s"),
            figure(group, "interactive_p50_ns"),
            figure(group, "interactive_max_ns"),
            figure(group, "interactive_admitted_p50_ns"),
            figure(group, "interactive_admitted_max_ns"),
            figure(group, "batch_size_mean"),
            figure(group, "interactive_refused"),
            figure(group, "detector_busy_share"),
            figure(group, "cpu_ns_per_image"),
            repetitions(group, "images_per_s"),
            interval(group, "bulk_images_per_s"),
            interval(group, "interactive_p50_ns"),
            status(group),
        ]);
        table.told_from(group.anchor());
    }
    table
}

/// Those of one variant's policies that no other one beats in both: no less bulk work, and no longer a wait.
fn front<'a>(own: &[&'a Group]) -> Vec<&'a Group> {
    let place =
        |group: &Group| Some((group.median("bulk_images_per_s")?, group.median("interactive_p50_ns")?));
    let ranked = || own.iter().copied().filter(|group| group.status.ranks() && place(group).is_some());
    let is_beaten = |group: &Group| {
        ranked().any(|other| match (place(other), place(group)) {
            (Some((rate, p50)), Some((own_rate, own_p50))) => {
                rate >= own_rate && p50 <= own_p50 && (rate, p50) != (own_rate, own_p50)
            }
            _ => false,
        })
    };
    let mut front: Vec<&Group> = ranked().filter(|group| !is_beaten(group)).collect();
    front.sort_by(|a, b| place(a).partial_cmp(&place(b)).unwrap_or(std::cmp::Ordering::Equal));
    front
}

/// The study's pipeline, variant by variant.
fn by_variant(groups: &[Group]) -> Vec<(&str, Vec<&Group>)> {
    let mut variants: Vec<(&str, Vec<&Group>)> = Vec::new();
    for group in studied(groups) {
        match variants.iter_mut().find(|(label, _)| *label == group.label) {
            Some((_, own)) => own.push(group),
            None => variants.push((&group.label, vec![group])),
        }
    }
    variants
}
