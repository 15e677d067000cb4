//! Why two runs as wholes cannot be compared: another machine, another build, other limits, another experiment.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::environment::Run;

/// One thing that is not alike in two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Difference {
    /// What is not alike.
    pub(crate) what: String,
    /// What A says of it.
    pub(crate) a: String,
    /// What B says of it.
    pub(crate) b: String,
}

/// What must be alike, in the order of a reader's interest.
pub(super) fn differences(a: &Run, b: &Run) -> Vec<Difference> {
    let (one, other) = (must_be_alike(a), must_be_alike(b));
    let differing = one.into_iter().zip(other).filter(|((_, a), (_, b))| a != b);
    let mut differences: Vec<Difference> =
        differing.map(|((what, a), (_, b))| Difference { what: what.to_owned(), a, b }).collect();
    differences.extend(of_definitions(a, b));
    differences
}

/// What may differ in runs that can be compared, and a reader wants to know.
pub(super) fn notes(a: &Run, b: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    if a.build.rustc != b.build.rustc {
        notes.push(format!("A was built by {} and B by {}.", told(&a.build.rustc), told(&b.build.rustc)));
    }
    if a.build.lock_hash.is_none() && b.build.lock_hash.is_none() {
        notes.push("Neither run says by which lockfile it was built.".to_owned());
    }
    let who = match (a.definition.is_empty(), b.definition.is_empty()) {
        (true, true) => Some("Neither run says"),
        (true, false) => Some("A does not say"),
        (false, true) => Some("B does not say"),
        (false, false) => None,
    };
    notes.extend(who.map(|who| {
        format!(
            "{who} what the values of its experiments were: only sizes and the parameters of cells are held against each \
             other."
        )
    }));
    notes
}

/// A name and a value each, in the same order for every run.
fn must_be_alike(run: &Run) -> [(&'static str, String); 18] {
    let (machine, build) = (&run.machine, &run.build);
    [
        ("CPU", told(&machine.cpu)),
        ("CPUs", told(&machine.cpus)),
        ("CPUs by affinity", told(&machine.cpus_affinity)),
        ("CPU quota, cgroup v1", limit(&machine.cgroup.cpus_v1)),
        ("CPU quota, cgroup v2", limit(&machine.cgroup.cpus_v2)),
        ("kernel", told(&machine.kernel)),
        ("governor", told(&machine.governor)),
        ("turbo", told(&machine.turbo)),
        ("descriptor limit", told(&machine.descriptors_soft)),
        ("vm.max_map_count", told(&machine.max_map_count)),
        ("kernel.pid_max", told(&machine.pid_max)),
        ("memory limit of the control group", limit(&machine.cgroup.memory_max_bytes)),
        ("build profile", told(&build.profile)),
        ("lockfile", told(&build.lock_hash)),
        ("size", run.size.clone()),
        ("workers", list(&run.workers)),
        ("--cpus", list(&run.cpus)),
        ("--cpus-by", ways(run)),
    ]
}

/// What differs in the values of the experiments that both runs have. A run of an older harness has none to tell.
fn of_definitions(a: &Run, b: &Run) -> Vec<Difference> {
    let mut differences = Vec::new();
    for (name, one) in &a.definition {
        let Some(other) = b.definition.get(name) else { continue };
        let keys = |value: &Value| value.as_object().map(|table| table.keys().cloned().collect::<Vec<_>>());
        let all: BTreeSet<String> = [one, other].into_iter().filter_map(keys).flatten().collect();
        for key in all {
            let value = |table: &Value| table.get(&key).map_or_else(|| "none".to_owned(), Value::to_string);
            let (a, b) = (value(one), value(other));
            if a != b {
                differences.push(Difference { what: format!("{name}, {key}"), a, b });
            }
        }
    }
    differences
}

fn told(value: &Option<impl fmt::Display>) -> String {
    value.as_ref().map_or_else(|| "not known".to_owned(), ToString::to_string)
}

fn limit(value: &Option<impl fmt::Display>) -> String {
    value.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
}

/// How cells were kept to numbers of CPUs, where they were.
fn ways(run: &Run) -> String {
    let ways: Vec<&str> = run.cpus_by.iter().filter(|_| !run.cpus.is_empty()).map(|by| by.name()).collect();
    if ways.is_empty() { "none".to_owned() } else { ways.join(",") }
}

fn list(values: &[impl fmt::Display]) -> String {
    match values {
        [] => "all".to_owned(),
        _ => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} and {}", self.what, self.a, self.b)
    }
}
