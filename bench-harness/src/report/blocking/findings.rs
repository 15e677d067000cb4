//! What was found about blocking, a sentence each.

use std::collections::BTreeSet;

use super::{of, share, text};
use crate::contestant::FLOOR;
use crate::experiment::Experiment;
use crate::format::{count, ns};
use crate::summary::Group;

/// Probes whose p99 is within so many times what it is alone are left alone.
const SPARED: f64 = 2.0;
/// More held up than so many times what arithmetic says at the least is worth a sentence.
const MORE_THAN_ARITHMETIC: f64 = 1.25;
/// A share of it is late, beyond what a burst of whole rounds may be.
const AT_ITS_BOUND: f64 = 0.95;

/// How far the probes' p99 goes beside blockers that sleep inline, and how many a mitigation brings back.
pub(super) fn headline(groups: &[Group]) -> Option<String> {
    let is_asleep = |group: &&Group| {
        group.status.ranks() && text(group, "blocker") != Some("compute") && group.cell.runtime != FLOOR
    };
    let probes: Vec<&Group> = of(groups, Experiment::Probe).filter(is_asleep).collect();
    let largest = probes.iter().filter_map(|group| share(group)).filter(|share| *share < 100).max()?;
    let p99 = |group: &Group| group.median("probe_p99_ns");
    let at = |strategy: &'static str| {
        let is_at = move |group: &&&Group| {
            share(group) == Some(largest)
                && (text(group, "strategy") == Some("inline")) == (strategy == "inline")
        };
        probes.iter().filter(is_at).filter_map(move |group| Some((p99(group)?, *group)))
    };
    let worst = at("inline").max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let best = at("inline").min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let alone = |group: &Group| {
        probes
            .iter()
            .find(|other| other.label == group.label && share(other) == Some(0))
            .and_then(|one| p99(one))
    };
    let mut mitigated: Vec<(&str, bool)> = Vec::new();
    for (reached, group) in at("") {
        let Some(alone) = alone(group) else { continue };
        let is_back = reached <= SPARED * alone;
        match mitigated.iter_mut().find(|(label, _)| *label == group.label) {
            Some((_, any)) => *any |= is_back,
            None => mitigated.push((&group.label, is_back)),
        }
    }
    let back = mitigated.iter().filter(|(_, is_back)| *is_back).count();
    let bought = match mitigated.len() {
        0 => String::new(),
        all => {
            format!("; offloaded or in place, {back} of {all} variants keep it within twice what it is alone")
        }
    };
    let on = |(p99, group): (f64, &Group)| format!("{} on `{}`", ns(p99), group.label);
    let range =
        if best.1.label == worst.1.label { on(worst) } else { format!("from {} to {}", on(best), on(worst)) };
    Some(format!(
        "Beside handlers that sleep on their threads for {largest} % of the workers' time, the p99 of innocent requests \
         goes {}{range}{bought}.",
        if best.1.label == worst.1.label { "to " } else { "" }
    ))
}

pub(super) fn findings(groups: &[Group]) -> Vec<String> {
    let ranked = |experiment: Experiment| -> Vec<&Group> {
        of(groups, experiment).filter(|group| group.status.ranks() && !group.metrics.is_empty()).collect()
    };
    let probes = ranked(Experiment::Probe);
    let mut findings = Vec::new();
    for blocker in ["block", "compute"] {
        for strategy in ["inline", "offload", "in-place"] {
            findings.extend(felt(&probes, blocker, strategy));
        }
        findings.extend(more_than_arithmetic(&probes, blocker));
    }
    findings.extend(pinned(&ranked(Experiment::Pinning)));
    findings
}

/// What the probes' p99 is alone, and beside the largest share that is no overload, and beside the first that is.
fn felt(probes: &[&Group], blocker: &str, strategy: &str) -> Option<String> {
    let of_kind: Vec<&Group> = probes
        .iter()
        .copied()
        .filter(|group| text(group, "blocker") == Some(blocker) && text(group, "strategy") == Some(strategy))
        .collect();
    let largest = of_kind.iter().filter_map(|group| share(group)).filter(|share| *share < 100).max()?;
    let mut at: Vec<(f64, &Group)> = of_kind
        .iter()
        .copied()
        .filter(|group| share(group) == Some(largest))
        .filter_map(|group| Some((group.median("probe_p99_ns")?, group)))
        .collect();
    at.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let alone = |group: &Group| {
        let same = |other: &&&Group| other.label == group.label && share(other) == Some(0);
        probes.iter().find(same).and_then(|other| other.median("probe_p99_ns"))
    };
    let is_spared = |(p99, group): &(f64, &Group)| alone(group).is_some_and(|alone| *p99 <= SPARED * alone);
    let named = |(p99, group): &(f64, &Group)| {
        let pool = group.param("offload_threads").map(|threads| format!(" to {}", count(threads)));
        let before = alone(group).map(|alone| format!(" from {}", ns(alone)));
        format!("`{}`{}{} to {}", group.label, pool.unwrap_or_default(), before.unwrap_or_default(), ns(*p99))
    };
    let raised: Vec<String> = at.iter().filter(|one| !is_spared(one)).map(named).collect();
    // A variant with several sizes of pool is named once.
    let spared: BTreeSet<&str> =
        at.iter().filter(|one| is_spared(one)).map(|(_, group)| group.label.as_str()).collect();
    let spared: Vec<String> = spared.iter().map(|label| format!("`{label}`")).collect();
    let how = match (blocker, strategy) {
        ("compute", "inline") => "that compute inline",
        ("compute", "offload") => "that compute elsewhere",
        ("compute", _) => "that compute in place",
        (_, "inline") => "that sleep inline",
        (_, "offload") => "that sleep on an offload pool",
        _ => "that sleep in place",
    };
    let what = format!("Blockers {how} for {largest} % of the workers' time");
    Some(match (raised.is_empty(), spared.is_empty()) {
        (true, true) => return None,
        (true, false) => {
            format!("{what} leave the probes' p99 within twice what it is alone on {}.", spared.join(", "))
        }
        (false, true) => format!("{what} raise the probes' p99 on {}.", raised.join(", ")),
        (false, false) => format!(
            "{what} raise the probes' p99 on {}, and leave it within twice what it is alone on {}.",
            raised.join(", "),
            spared.join(", ")
        ),
    })
}

/// A thread that is kept keeps what it alone was to do; arithmetic at its least knows of threads that all do the same.
fn more_than_arithmetic(probes: &[&Group], blocker: &str) -> Option<String> {
    let inline = probes
        .iter()
        .filter(|group| text(group, "blocker") == Some(blocker) && text(group, "strategy") == Some("inline"));
    let mut worse: Vec<String> = Vec::new();
    for group in inline.filter(|group| group.cell.runtime != FLOOR) {
        let figures = ["probe_held_share", "held_share_least"].map(|name| group.median(name));
        if let ([Some(held), Some(least)], Some(percent)) = (figures, share(group))
            && (0.01..1.0).contains(&least)
            && held > MORE_THAN_ARITHMETIC * least
        {
            worse.push(format!(
                "`{}` {:.0} % at {percent} % ({:.0} %)",
                group.label,
                held * 100.0,
                least * 100.0
            ));
        }
    }
    let kept = if blocker == "compute" { "that compute" } else { "that sleep" };
    (!worse.is_empty()).then(|| {
        format!(
            "Inline blockers {kept} held up more probes than threads with one queue would (in parentheses, by Erlang's \
             formula): {}. A thread that is kept keeps what it alone was to do, such as its own queue, or to watch the \
             sockets of all: then one blocker stops every answer, `/healthz` too, while other threads are idle.",
            worse.join(", ")
        )
    })
}

fn pinned(groups: &[&Group]) -> Option<String> {
    let inline = groups
        .iter()
        .filter(|group| text(group, "strategy") == Some("inline") && text(group, "blocker") == Some("block"));
    let (mut within, mut beyond) = (Vec::new(), Vec::new());
    let mut what = None;
    for group in inline {
        let figures = ["elapsed_ns", "bound_ns", "efficiency"].map(|name| group.median(name));
        let [Some(elapsed), Some(bound), Some(efficiency)] = figures else { continue };
        what = what.or(group.param("requests").zip(group.param("keep_ns")));
        let named = format!("`{}` in {} of {}", group.label, ns(elapsed), ns(bound));
        if efficiency >= AT_ITS_BOUND { within.push(named) } else { beyond.push(named) }
    }
    let (requests, keep_ns) = what?;
    #[expect(clippy::cast_precision_loss, reason = "a block is far below 2^53 ns")]
    let burst = format!("{} blocks of {} at once, inline,", count(requests), ns(keep_ns as f64));
    Some(match (within.is_empty(), beyond.is_empty()) {
        (false, true) => format!("{burst} end within 5 % of the bound on {}.", within.join(", ")),
        (false, false) => {
            format!(
                "{burst} end within 5 % of the bound on {}; and on {}.",
                within.join(", "),
                beyond.join(", ")
            )
        }
        (true, _) => format!("{burst} end beyond 5 % of the bound on {}.", beyond.join(", ")),
    })
}
