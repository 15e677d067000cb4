//! Sentences that follow from the data, and warnings that come before them.

use super::{FLOOR, Group, Run, STUDIES, Status, count, metric, ns, whole};
use crate::doctor::{STEAL_SHARE_MOST, is_loaded};
use crate::environment::Resumption;
use crate::experiment::Experiment;

/// What a reader must know before any figure.
pub(crate) fn warnings(run: &Run, groups: &[Group]) -> Vec<String> {
    let mut warnings = Vec::new();
    if run.partial {
        warnings.push(match (&run.error, &run.ended_at) {
            (Some(error), _) => format!("the run failed, and some cells are missing: {error}"),
            (None, Some(_)) => {
                "the run was interrupted, or its rows were cut: some cells are missing".to_owned()
            }
            (None, None) => "the run has not ended, or was killed: some cells are missing".to_owned(),
        });
    }
    warnings.extend(run.resumed.iter().flat_map(resumed));
    warnings.extend(run.warnings.iter().cloned());
    if run.build.profile.as_deref() == Some("debug") {
        warnings.push("this is a debug build, whose figures mean little; build with --release".to_owned());
    }
    if run.build.dirty == Some(true) {
        warnings.push("the tree had changes that are in no revision".to_owned());
    }
    let load = run.noise_before.load_1min.zip(run.machine.cpus);
    if let Some((load, cpus)) = load.filter(|(load, cpus)| is_loaded(*load, *cpus)) {
        warnings.push(format!("the machine was busy before the run: load {load:.2} on {cpus} CPUs"));
    }
    let steal = run.steal_share();
    if let Some(steal) = steal.filter(|steal| *steal > STEAL_SHARE_MOST) {
        warnings.push(format!("the hypervisor gave {:.1} % of the CPU time to others", steal * 100.0));
    }
    warnings.extend(run.problems.iter().map(|problem| format!("left out: {problem}")));
    for status in [Status::Failed, Status::Invalid] {
        let cells = groups.iter().filter(|group| group.status == status && !is_verdict(group)).count();
        if cells > 0 {
            warnings.push(format!("{} cells: {cells}; their reasons are in the tables", status.name()));
        }
    }
    if groups.iter().any(|group| group.metrics.values().any(|spread| spread.n == 1)) {
        warnings.push(
            "some figures are of one repetition (n = 1): a difference between two of them may be noise"
                .to_owned(),
        );
    }
    warnings
}

/// What was measured apart from the rest, and why.
fn resumed(resumed: &Resumption) -> impl Iterator<Item = String> {
    let Resumption { at, cells, .. } = resumed;
    let missing = resumed.cells_missing();
    let interrupted = (missing > 0).then(|| {
        format!(
            "the run was interrupted, and resumed at {at} with {} of {cells} cells finished: a drift of the machine \
             between falls on some cells alone",
            cells - missing
        )
    });
    let by_check = resumed.invalid_by_check.iter().map(|(check, cells)| format!("{check} {cells}"));
    let by_check = by_check.collect::<Vec<_>>().join(", ");
    let remeasured = (resumed.cells_invalid() > 0).then(|| {
        format!(
            "{} of {cells} cells were measured again at {at}, apart from those of their round, since a check had failed \
             ({by_check}): what it failed on is in replaced.jsonl",
            resumed.cells_invalid()
        )
    });
    interrupted.into_iter().chain(remeasured)
}

/// Whether a group sums a ramp up, whose steps are cells of their own.
fn is_verdict(group: &Group) -> bool {
    let is_of = |experiment: Experiment| group.cell.experiment == experiment.name();
    (is_of(Experiment::Hold) || is_of(Experiment::HoldTasks)) && group.param("requests").is_none()
}

/// What was found, a sentence each.
pub(crate) fn findings(groups: &[Group]) -> Vec<String> {
    STUDIES.iter().flat_map(|study| (study.findings)(groups)).collect()
}

/// What was found about capacity.
pub(super) fn capacity(groups: &[Group]) -> Vec<String> {
    let of = |experiment: Experiment| -> Vec<&Group> {
        let ranked = groups.iter().filter(|group| group.status.ranks() && !group.metrics.is_empty());
        ranked.filter(|group| group.cell.experiment == experiment.name()).collect()
    };
    let mut findings = burst(&of(Experiment::Burst));
    for (experiment, what) in
        [(Experiment::HoldTasks, "tasks in process"), (Experiment::Hold, "connections over HTTP")]
    {
        let verdicts: Vec<&Group> =
            of(experiment).into_iter().filter(|group| group.param("requests").is_none()).collect();
        findings.extend(hold(&verdicts, what));
    }
    findings
}

fn burst(groups: &[&Group]) -> Vec<String> {
    let cold: Vec<&Group> =
        groups.iter().copied().filter(|group| group.cell.params.get("warm") != Some(&true.into())).collect();
    let limit = |group: &Group| group.evidence.get("in_flight_limit").and_then(serde_json::Value::as_u64);
    let mut findings = Vec::new();
    let elapsed = |group: &Group| group.median("elapsed_ns").unwrap_or(f64::INFINITY);
    let mut free: Vec<&&Group> =
        cold.iter().filter(|group| group.cell.runtime != FLOOR && limit(group).is_none()).collect();
    free.sort_by(|a, b| elapsed(a).total_cmp(&elapsed(b)));
    if let (Some(fastest), Some(bound)) =
        (free.first(), free.first().and_then(|group| group.median("bound_ns")))
    {
        let requests = count(fastest.param("requests").unwrap_or(0));
        let each: Vec<String> =
            free.iter().map(|group| format!("`{}` in {}", group.label, ns(elapsed(group)))).collect();
        findings.push(format!(
            "{requests} waiting requests at once need {} by arithmetic where nothing limits them; they finished on {}.",
            ns(bound),
            each.join(", ")
        ));
    }
    for group in &free {
        let (Some(peak), Some(requests)) = (group.median("in_flight_peak"), group.param("requests")) else {
            continue;
        };
        if let (true, Some(dispatch)) = (whole(peak) < requests, group.median("dispatch_elapsed_ns")) {
            findings.push(format!(
                "`{}` never had all {} in flight: at most {}, since starting them took {}.",
                group.label,
                count(requests),
                metric("", peak),
                ns(dispatch)
            ));
        }
    }
    for group in &cold {
        let (Some(limit), Some(requests)) = (limit(group), group.param("requests")) else { continue };
        let figures =
            ["bound_ns", "elapsed_ns", "efficiency", "in_flight_peak"].map(|name| group.median(name));
        if let [Some(bound), Some(elapsed), Some(efficiency), Some(peak)] = figures {
            findings.push(format!(
                "`{}` is bounded by its {}: {} requests need {} by arithmetic and took {} ({:.1} % of it is the bound), \
                 with at most {} in flight.",
                group.label,
                count(limit),
                count(requests),
                ns(bound),
                ns(elapsed),
                efficiency * 100.0,
                metric("", peak)
            ));
        }
    }
    findings
}

/// One sentence for all that held as much and ended alike.
fn hold(verdicts: &[&Group], what: &str) -> Vec<String> {
    let mut alike: Vec<(String, &Group, &str, Vec<String>)> = Vec::new();
    for group in verdicts {
        let (Some(capacity), Some(limit)) = (group.median("in_flight_capacity"), &group.limited_by) else {
            continue;
        };
        let (capacity, label) = (metric("", capacity), format!("`{}`", group.label));
        let same = alike.iter_mut().find(|(other, first, name, _)| {
            let is_bound = |group: &Group| (group.censored, group.is_mixed);
            *other == capacity && is_bound(first) == is_bound(group) && *name == limit
        });
        match same {
            Some((_, _, _, labels)) => labels.push(label),
            None => alike.push((capacity, group, limit, vec![label])),
        }
    }
    let sentence = |(capacity, first, limit, labels): (String, &Group, &str, Vec<String>)| {
        let who = list(&labels);
        match (first.censored, limit) {
            (Some(true), _) if first.is_mixed => format!(
                "{who} held {capacity} waiting {what} or more, limited by {limit}, of which the machine set a part."
            ),
            (Some(true), "end of the ramp") => {
                format!("{who} held {capacity} waiting {what} or more: the ramp goes no further.")
            }
            (Some(true), _) => format!(
                "{who} held {capacity} waiting {what} or more: {limit} ended the ramp, not the model."
            ),
            _ => format!("{who} held {capacity} waiting {what}, limited by {limit}."),
        }
    };
    alike.into_iter().map(sentence).collect()
}

/// `a, b and c`
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
