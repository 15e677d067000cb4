//! Limits of the machine: what there is a number of, or an amount.

use super::{Limit, MachineLimits, Observed, ThreadLimit, Threads, limit, near, share, with_words};

/// Less available memory than this share of all is none.
const MEMORY_LEFT: f64 = 0.03;

/// The server's descriptors. A server that has nearly all of them in use is at no limit while every request that was
/// offered is in flight.
pub(super) fn descriptors(observed: &Observed, machine: &MachineLimits) -> Option<Limit> {
    let open = observed.sample.as_ref().map(|sample| sample.descriptors);
    let at_limit = open.zip(machine.descriptors).is_some_and(|(open, max)| near(open, max))
        && observed.in_flight_peak < observed.offered;
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

/// What the load client could not have.
pub(super) fn client(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let (class, name) = [
        ("descriptors", "client descriptors"),
        ("connection-limit", "client connections"),
        ("connect-other:EADDRNOTAVAIL", "client ports"),
    ]
    .into_iter()
    .find(|(class, _)| observed.failed.contains_key(*class))?;
    Some(limit(name, true, [("class", class.into()), ("requests", observed.failed[class].into())]))
}

/// A thread or a stack that could not be had, or a runner that ended, with the mappings at their limit.
///
/// A runner that is gone cannot be looked at; its last number of threads is known, and what a thread took in the step
/// before.
pub(super) fn mappings(observed: &Observed, machine: &MachineLimits) -> Option<Limit> {
    let max = machine.mappings.filter(|_| observed.has_broken())?;
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

/// Threads were refused. It is process ids that ran out where a limit on them is near that counts whose threads there
/// are; else nobody knows what it was.
pub(super) fn threads(observed: &Observed, machine: &MachineLimits) -> Option<Limit> {
    let refused = observed.threads_refused();
    let own = observed.sample.as_ref().map(|sample| sample.threads);
    let counted = |limit: &ThreadLimit| {
        let sample = observed.sample.as_ref()?;
        match limit.of {
            Threads::Machine => sample.machine_threads,
            Threads::ControlGroup => sample.cgroup_threads,
            Threads::User => sample.user_threads,
        }
    };
    let at_limit = machine.threads.iter().find_map(|limit| {
        let seen = counted(limit)?;
        near(seen, limit.max).then_some((*limit, seen))
    });
    if let Some((at, seen)) = at_limit.filter(|_| refused > 0) {
        let evidence = [
            ("threads", own.into()),
            ("threads_counted", seen.into()),
            ("threads_max", at.max.into()),
            ("threads_max_from", at.source.into()),
            ("threads_refused", refused.into()),
        ];
        return Some(with_words(observed, limit("process ids", true, evidence)));
    }
    observed.rejected.contains_key("thread-limit").then(|| {
        let evidence = [("threads", own.into()), ("threads_refused", refused.into())];
        with_words(observed, limit("threads", true, evidence))
    })
}

/// Connections that were accepted, and that the model could give nothing to run on: a thread, a stack, a watch.
pub(super) fn unstartable(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let count = observed.connections_unstartable;
    (count > 0).then(|| {
        let threads = observed.sample.as_ref().map(|sample| sample.threads);
        let evidence = [("connections_unstartable", count.into()), ("threads", threads.into())];
        with_words(observed, limit("unstartable connections", true, evidence))
    })
}

pub(super) fn memory(observed: &Observed, machine: &MachineLimits) -> Option<Limit> {
    let available = observed.sample.as_ref().and_then(|sample| sample.memory_available_bytes);
    let exhausted =
        available.zip(machine.memory_bytes).is_some_and(|(left, all)| share(left, all) < MEMORY_LEFT);
    let told = said(observed, &["cannot allocate memory", "enomem", "memory allocation of", "out of memory"]);
    let killed = observed.oom_kills > Some(0) && observed.has_broken();
    (exhausted || told || killed).then(|| {
        with_words(
            observed,
            limit(
                "memory",
                true,
                [
                    ("memory_available_bytes", available.into()),
                    ("memory_bytes", machine.memory_bytes.into()),
                    ("rss_bytes", observed.sample.as_ref().map(|sample| sample.rss_bytes).into()),
                    ("oom_kills", observed.oom_kills.into()),
                ],
            ),
        )
    })
}

/// Connections that came to nothing while an accept queue overflowed, and it was this server's.
///
/// The kernel counts overflows for a whole network namespace, so the server's own queue must have been seen at least
/// half full, or so short that what arrived between two looks could fill it. A connection that was let in at the second
/// try is only late, and no matter for this name.
pub(super) fn accept_queue(observed: &Observed, machine: &MachineLimits) -> Option<Limit> {
    let turned_away =
        |class: &str| matches!(class, "timed-out" | "in-flight-at-end") || class.starts_with("connect-");
    let lost: u64 =
        observed.failed.iter().filter(|(class, _)| turned_away(class)).map(|(_, count)| count).sum();
    let backlog = observed.accept_backlog.into_iter().chain(machine.accept_backlog).min();
    let could_be_full = |(peak, backlog): (u64, u64)| {
        peak.saturating_mul(2) >= backlog || peak.saturating_add(observed.accept_queue_unseen) >= backlog
    };
    let is_own = observed.accept_queue_peak.zip(backlog).is_none_or(could_be_full);
    (lost > 0 && observed.accept_queue_overflows > 0 && is_own).then(|| {
        // The queue is as long as the machine allows, but it is the model that does not empty it.
        limit(
            "accept queue",
            false,
            [
                ("accept_queue_overflows", observed.accept_queue_overflows.into()),
                ("accept_queue_peak", observed.accept_queue_peak.into()),
                ("accept_backlog", backlog.into()),
                ("connections_lost", lost.into()),
            ],
        )
    })
}

/// SIGKILL, and not from the out-of-memory killer. Whoever sent it, the model did not end by itself.
pub(super) fn killed(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    observed.killed.then(|| {
        let evidence = [("reason", observed.died.clone().into()), ("oom_kills", observed.oom_kills.into())];
        limit("killed by signal 9", true, evidence)
    })
}

fn said(observed: &Observed, needles: &[&str]) -> bool {
    observed.said.iter().any(|words| {
        let words = words.to_lowercase();
        needles.iter().any(|needle| words.contains(needle))
    })
}
