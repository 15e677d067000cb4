//! What was found of the pipeline, a sentence each.

use super::{by_variant, front, policy, setting};
use crate::experiment::Experiment;
use crate::format::ns;
use crate::report::of;
use crate::summary::Group;

/// How near the models come to the ceiling in batches, and how near without.
pub(super) fn headline(groups: &[Group]) -> Option<String> {
    let (low, high, ceiling) = rates(groups, Experiment::Fifo16)?;
    let beside = rates(groups, Experiment::Fifo1).map(|(low, high, ceiling)| {
        format!(", and image by image {} of {}", range(low, high), rate(ceiling))
    });
    Some(format!(
        "In batches of up to 16 by arrival, the pipeline carries {} bulk images/s of a ceiling of {}{}.",
        range(low, high),
        rate(ceiling),
        beside.unwrap_or_default()
    ))
}

pub(super) fn findings(groups: &[Group]) -> Vec<String> {
    let variants = by_variant(groups);
    let mut found: Vec<String> = variants.iter().filter_map(|(label, own)| trade_off(label, own)).collect();
    found.extend(beside_arithmetic(groups));
    found.extend(conditions(groups));
    found
}

/// Lowest and highest bulk rate over the variants, and their ceiling.
fn rates(groups: &[Group], experiment: Experiment) -> Option<(f64, f64, f64)> {
    let own = || of(groups, experiment).filter(|group| group.status.ranks() && setting(group).is_empty());
    let rates = || own().filter_map(|group| group.median("bulk_images_per_s"));
    let ceiling = own().find_map(|group| group.median("ceiling_images_per_s"))?;
    Some((rates().reduce(f64::min)?, rates().reduce(f64::max)?, ceiling))
}

fn trade_off(label: &str, own: &[&Group]) -> Option<String> {
    let front = front(own);
    let ranked = own.iter().filter(|group| group.status.ranks()).count();
    if ranked < 2 {
        return None;
    }
    let told = |group: &&Group| {
        Some(format!(
            "{} ({} bulk images/s, interactive p50 {}, max {})",
            policy(group),
            rate(group.median("bulk_images_per_s")?),
            ns(group.median("interactive_p50_ns")?),
            ns(group.median("interactive_max_ns")?)
        ))
    };
    let each: Vec<String> = front.iter().rev().filter_map(told).collect();
    Some(format!(
        "Of {ranked} policies on `{label}`, no other does better in both rate and wait than {}.",
        each.join(", ")
    ))
}

/// How far the swept rates are from what arithmetic expects.
fn beside_arithmetic(groups: &[Group]) -> Option<String> {
    let shares = || {
        of(groups, Experiment::Sizing)
            .filter(|group| group.status.ranks())
            .filter_map(|group| Some(group.median("images_per_s")? / group.median("expected_images_per_s")?))
    };
    let (low, high) = (shares().reduce(f64::min)?, shares().reduce(f64::max)?);
    Some(format!(
        "Over {} cells with other batch sizes, limits in flight and detectors, the rate is {low:.2} to {high:.2} of what \
         arithmetic expects.",
        shares().count()
    ))
}

/// What is left of a policy under another condition: costs that vary, stages that compute on the loop.
fn conditions(groups: &[Group]) -> Vec<String> {
    let cells = of(groups, Experiment::Conditions).filter(|group| group.status.ranks());
    cells.filter_map(|group| beside_the_study(group, groups)).collect()
}

fn beside_the_study(changed: &Group, groups: &[Group]) -> Option<String> {
    let word = |key: &str| setting(changed).split_whitespace().find_map(|word| word.strip_prefix(key));
    let condition = match (word("deviation-percent="), word("strategy=")) {
        (Some(percent), None) => format!("costs that vary by {percent} %"),
        (None, Some("inline")) => "CPU stages that compute on the threads of the loop".to_owned(),
        _ => return None,
    };
    let policy = word("policy=")?;
    let study = groups.iter().find(|group| {
        group.cell.experiment == format!("pipeline.{policy}")
            && group.label == changed.label
            && setting(group).is_empty()
            && group.status.ranks()
    })?;
    Some(format!(
        "With {condition}, `{policy}` on `{}` carries {} bulk images/s at an interactive p50 of {} and a maximum of {}, in the \
         place of {} at {} and {}.",
        changed.label,
        rate(changed.median("bulk_images_per_s")?),
        ns(changed.median("interactive_p50_ns")?),
        ns(changed.median("interactive_max_ns")?),
        rate(study.median("bulk_images_per_s")?),
        ns(study.median("interactive_p50_ns")?),
        ns(study.median("interactive_max_ns")?),
    ))
}

fn rate(per_s: f64) -> String {
    format!("{per_s:.1}")
}

fn range(low: f64, high: f64) -> String {
    if rate(low) == rate(high) { rate(low) } else { format!("{} to {}", rate(low), rate(high)) }
}
