//! What ended a ramp: from evidence to the name of a limit. Pure, so that each limit has a test.
//!
//! A limit is named only where something was refused, lost or late, and where the figure beside it counts the same
//! things as the limit does.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::format::printable;
use crate::sample::{CpuUse, Sample};

mod machine;
mod time;

/// Numbers that the machine sets. None is not available, or no limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct MachineLimits {
    pub(crate) descriptors: Option<u64>,
    pub(crate) mappings: Option<u64>,
    pub(crate) threads: Vec<ThreadLimit>,
    /// Memory of the whole machine.
    pub(crate) memory_bytes: Option<u64>,
    /// The longest accept queue that the kernel allows, whatever a listener asks for.
    pub(crate) accept_backlog: Option<u64>,
}

/// A limit on threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadLimit {
    pub(crate) max: u64,
    pub(crate) of: Threads,
    pub(crate) source: &'static str,
}

/// Whose threads count against a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    Machine,
    ControlGroup,
    User,
}

/// What was seen of a step that was not met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) offered: u64,
    pub(crate) in_flight_peak: u64,
    /// The model's own in-flight limit.
    pub(crate) model_limit: Option<u64>,
    /// Requests that were refused or failed, by class, on either side.
    pub(crate) rejected: BTreeMap<String, u64>,
    pub(crate) failed: BTreeMap<String, u64>,
    /// What the system or the library said: of a refusal, or as the runner's last words.
    pub(crate) said: Vec<String>,
    /// Times that the server could not accept for want of descriptors.
    pub(crate) accept_out_of_descriptors: u64,
    /// Connections that could not be given a thread, or what else the model needs.
    pub(crate) connections_unstartable: u64,
    /// Connections that found an accept queue full: of any listener in this network namespace.
    pub(crate) accept_queue_overflows: u64,
    /// The most connections that were seen in the server's own accept queue.
    pub(crate) accept_queue_peak: Option<u64>,
    /// The most connections that arrived between two looks at it.
    pub(crate) accept_queue_unseen: u64,
    /// The length that the server asked for it.
    pub(crate) accept_backlog: Option<u64>,
    pub(crate) sample: Option<Sample>,
    /// The most threads that the runner was seen with, also where it ended before the sample.
    pub(crate) threads_last: Option<u64>,
    /// What a thread took in an earlier step, where threads are many.
    pub(crate) mappings_per_thread: Option<u64>,
    /// A check failed, so that nothing else can be told.
    pub(crate) invalid: Option<String>,
    /// The runner was killed by SIGKILL, which nobody here sent.
    pub(crate) killed: bool,
    /// Processes that the out-of-memory killer killed meanwhile; none where the kernel does not tell.
    pub(crate) oom_kills: Option<u64>,
    /// The runner ended, for this reason.
    pub(crate) died: Option<String>,
    pub(crate) response_p99: Option<Duration>,
    /// How late the load client itself began its requests; none in process, where dispatch is the model's work.
    pub(crate) client_lag_p99: Option<Duration>,
    /// While requests arrived.
    pub(crate) cpu: Option<CpuUse>,
    pub(crate) wait: Duration,
    pub(crate) objective: Duration,
}

/// The limit that ended a ramp.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    pub(crate) name: String,
    /// The machine, and not the model, set it.
    pub(crate) censored: bool,
    pub(crate) evidence: BTreeMap<String, Value>,
}

/// The name where a step's figures cannot be believed.
pub(crate) const FAILED_CHECK: &str = "failed check";

/// The share of a limit from which on a figure counts as being at it: what the kernel and the
/// harness take for themselves is the rest.
const NEAR: f64 = 0.97;

/// Names the limit. The order is from the most specific evidence to the least: an objective that was
/// missed because descriptors ran out is a matter of descriptors.
pub(crate) fn name(observed: &Observed, machine: &MachineLimits) -> Limit {
    let candidates = [
        failed_check,
        model,
        machine::descriptors,
        machine::client,
        machine::mappings,
        machine::threads,
        machine::unstartable,
        machine::memory,
        machine::accept_queue,
        machine::killed,
        runner,
        time::client,
        time::cpu,
        time::objective,
        failures,
    ];
    candidates
        .iter()
        .find_map(|candidate| candidate(observed, machine))
        .unwrap_or_else(|| limit("not told", false, [("offered", observed.offered.into())]))
}

/// The ramp's last step was met: nothing was found that ends it.
pub(crate) fn end_of_the_ramp(last_step: u64) -> Limit {
    limit("end of the ramp", true, [("last_step", last_step.into())])
}

impl MachineLimits {
    /// The smallest of the limits on threads, whatever they count.
    pub(crate) fn threads_max(&self) -> Option<u64> {
        self.threads.iter().map(|limit| limit.max).min()
    }
}

impl Observed {
    /// Threads that could not be had for a request or a connection.
    fn threads_refused(&self) -> u64 {
        self.rejected.get("thread-limit").copied().unwrap_or(0) + self.connections_unstartable
    }

    /// Something was refused or failed, and did not merely take long.
    fn has_broken(&self) -> bool {
        let none = self.rejected.is_empty() && self.failed.is_empty() && self.died.is_none();
        !none || self.threads_refused() > 0
    }
}

fn failed_check(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let reason = observed.invalid.clone()?;
    Some(limit(FAILED_CHECK, false, [("reason", reason.into())]))
}

fn model(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let size = observed.model_limit?;
    let at_it = observed.in_flight_peak == size && observed.offered > size;
    at_it.then(|| {
        let peak = ("in_flight_peak", observed.in_flight_peak.into());
        limit("pool size", false, [("pool_size", size.into()), peak, ("offered", observed.offered.into())])
    })
}

fn runner(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let reason = observed.died.clone()?;
    Some(limit("runner failed", false, [("reason", reason.into())]))
}

fn failures(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let of =
        |classes: &BTreeMap<String, u64>| -> Value { classes.iter().map(|(k, v)| (k.clone(), *v)).collect() };
    let any = !observed.rejected.is_empty() || !observed.failed.is_empty();
    any.then(|| {
        let counts = [("rejected", of(&observed.rejected)), ("failed", of(&observed.failed))];
        with_words(observed, limit("failures", false, counts))
    })
}

fn limit<const N: usize>(name: &str, censored: bool, evidence: [(&str, Value); N]) -> Limit {
    let evidence = evidence.into_iter().filter(|(_, value)| !value.is_null());
    // A runner's own words may be in it.
    let plain = |value: Value| match value {
        Value::String(words) => printable(&words).into(),
        other => other,
    };
    Limit {
        name: name.to_owned(),
        censored,
        evidence: evidence.map(|(name, value)| (name.to_owned(), plain(value))).collect(),
    }
}

fn with_words(observed: &Observed, mut limit: Limit) -> Limit {
    if let Some(words) = observed.said.first() {
        limit.evidence.insert("said".to_owned(), printable(words).into());
    }
    limit
}

fn near(value: u64, max: u64) -> bool {
    share(value, max) >= NEAR
}

#[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
fn share(value: u64, max: u64) -> f64 {
    value as f64 / max.max(1) as f64
}

#[cfg(test)]
mod tests;
