//! What ended a ramp: from evidence to the name of a limit. Pure, so that each limit has a test.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::sample::Sample;

/// Numbers that the machine sets. None is not available, or no limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct MachineLimits {
    pub(crate) descriptors: Option<u64>,
    pub(crate) mappings: Option<u64>,
    /// The smallest of `pid_max`, `threads-max`, the user's limit and the control group's.
    pub(crate) threads: Option<(u64, &'static str)>,
    pub(crate) memory_bytes: Option<u64>,
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
    /// Connections that found the accept queue full.
    pub(crate) accept_queue_overflows: u64,
    pub(crate) sample: Option<Sample>,
    /// The most threads that the runner was seen with, also where it ended before the sample.
    pub(crate) threads_last: Option<u64>,
    /// What a thread took in an earlier step, where threads are many.
    pub(crate) mappings_per_thread: Option<u64>,
    /// A check failed, so that nothing else can be told.
    pub(crate) invalid: Option<String>,
    /// The runner was killed by SIGKILL, which nobody here sent.
    pub(crate) killed: bool,
    /// The runner ended, for this reason.
    pub(crate) died: Option<String>,
    pub(crate) response_p99: Option<Duration>,
    /// How late the load client itself began its requests; none in process, where dispatch is the model's work.
    pub(crate) client_lag_p99: Option<Duration>,
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
/// Less available memory than this share of all is none.
const MEMORY_LEFT: f64 = 0.03;

/// Names the limit. The order is from the most specific evidence to the least: an objective that was
/// missed because descriptors ran out is a matter of descriptors.
pub(crate) fn name(observed: &Observed, machine: &MachineLimits) -> Limit {
    let candidates = [
        failed_check,
        model,
        descriptors,
        client,
        mappings,
        threads,
        memory,
        accept_queue,
        runner,
        client_lag,
        objective,
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

fn descriptors(observed: &Observed, machine: &MachineLimits) -> Option<Limit> {
    let open = observed.sample.as_ref().map(|sample| sample.descriptors);
    let at_limit = open.zip(machine.descriptors).is_some_and(|(open, max)| near(open, max));
    let told = observed.accept_out_of_descriptors > 0
        || said(observed, &["too many open files", "emfile", "enfile"]);
    (at_limit || told).then(|| {
        limit(
            "descriptors",
            true,
            [
                ("accept_out_of_descriptors", observed.accept_out_of_descriptors.into()),
                ("descriptors_open", open.into()),
                ("descriptors_max", machine.descriptors.into()),
            ],
        )
    })
}

fn client(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let (class, name) = [
        ("descriptors", "client descriptors"),
        ("connection-limit", "client connections"),
        ("connect-other:EADDRNOTAVAIL", "client ports"),
    ]
    .into_iter()
    .find(|(class, _)| observed.failed.contains_key(*class))?;
    Some(limit(name, true, [("class", class.into()), ("requests", observed.failed[class].into())]))
}

/// A thread that could not be had, or a runner that ended, with the mappings at their limit.
///
/// A runner that is gone cannot be looked at; its last number of threads is known, and what a thread took in the step
/// before.
fn mappings(observed: &Observed, machine: &MachineLimits) -> Option<Limit> {
    let max = machine.mappings?;
    let counted = observed.sample.as_ref().map(|sample| sample.mappings);
    if counted.is_some_and(|mappings| near(mappings, max)) {
        let evidence = [("mappings", counted.into()), ("max_map_count", max.into())];
        return Some(with_words(observed, limit("mappings", true, evidence)));
    }
    let (each, threads) = observed.mappings_per_thread.zip(observed.threads_last)?;
    near(each * threads, max).then(|| {
        let evidence = [
            ("mappings_inferred", (each * threads).into()),
            ("threads_last", threads.into()),
            ("mappings_per_thread", each.into()),
            ("max_map_count", max.into()),
        ];
        with_words(observed, limit("mappings", true, evidence))
    })
}

fn threads(observed: &Observed, machine: &MachineLimits) -> Option<Limit> {
    let refused =
        observed.rejected.get("thread-limit").copied().unwrap_or(0) + observed.connections_unstartable;
    let seen = observed.sample.as_ref().and_then(|sample| sample.machine_threads);
    let at_limit = seen.zip(machine.threads).is_some_and(|(seen, (max, _))| near(seen, max));
    if !at_limit && refused == 0 {
        return None;
    }
    let own = observed.sample.as_ref().map(|sample| sample.threads);
    let name = if at_limit { "process ids" } else { "threads" };
    let evidence = [
        ("threads", own.into()),
        ("machine_threads", seen.into()),
        ("threads_max", machine.threads.map(|(max, _)| max).into()),
        ("threads_max_from", machine.threads.map(|(_, source)| source).into()),
        ("threads_refused", refused.into()),
    ];
    Some(with_words(observed, limit(name, true, evidence)))
}

fn memory(observed: &Observed, machine: &MachineLimits) -> Option<Limit> {
    let available = observed.sample.as_ref().and_then(|sample| sample.memory_available_bytes);
    let exhausted =
        available.zip(machine.memory_bytes).is_some_and(|(left, all)| share(left, all) < MEMORY_LEFT);
    let told = said(observed, &["cannot allocate memory", "enomem", "memory allocation of", "out of memory"]);
    (exhausted || told || observed.killed).then(|| {
        with_words(
            observed,
            limit(
                "memory",
                true,
                [
                    ("memory_available_bytes", available.into()),
                    ("memory_bytes", machine.memory_bytes.into()),
                    ("rss_bytes", observed.sample.as_ref().map(|sample| sample.rss_bytes).into()),
                    ("killed", observed.killed.into()),
                ],
            ),
        )
    })
}

fn accept_queue(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let overflows = observed.accept_queue_overflows;
    // The queue is as long as the machine allows, but it is the model that does not empty it.
    (overflows > 0).then(|| limit("accept queue", false, [("accept_queue_overflows", overflows.into())]))
}

fn runner(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let reason = observed.died.clone()?;
    Some(limit("runner failed", false, [("reason", reason.into())]))
}

/// Half of what a response took beyond its wait had passed before the client even began the request. Client and
/// server share the CPUs here, so more of them might have let the model go on.
fn client_lag(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let p99 = observed.response_p99.filter(|p99| *p99 > observed.objective)?;
    let lag = observed.client_lag_p99.filter(|lag| *lag * 2 >= p99.saturating_sub(observed.wait))?;
    Some(limit("load client", true, [("send_lag_p99_ns", ns(lag)), ("response_p99_ns", ns(p99))]))
}

fn objective(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let p99 = observed.response_p99.filter(|p99| *p99 > observed.objective)?;
    Some(limit("objective", false, [("response_p99_ns", ns(p99)), ("objective_ns", ns(observed.objective))]))
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
    Limit {
        name: name.to_owned(),
        censored,
        evidence: evidence.map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}

fn with_words(observed: &Observed, mut limit: Limit) -> Limit {
    if let Some(words) = observed.said.first() {
        limit.evidence.insert("said".to_owned(), words.clone().into());
    }
    limit
}

fn said(observed: &Observed, needles: &[&str]) -> bool {
    observed.said.iter().any(|words| {
        let words = words.to_lowercase();
        needles.iter().any(|needle| words.contains(needle))
    })
}

fn ns(duration: Duration) -> Value {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).into()
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
