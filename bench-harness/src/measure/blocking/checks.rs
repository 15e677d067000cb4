//! The audits of probes beside blockers.

use std::time::Duration;

use load_driver::honesty::{self, honesty};
use load_driver::http::HttpLoadResult;
use statistics::Percentile;

use super::Keeper;
use super::offer::Seen;
use crate::audit::{self, Regime, Stream, Window, at_least, at_most, equal};
use crate::format;
use crate::measure::ns;
use crate::percentile::percentile_ns;
use crate::row::{Check, Figure};

/// As the rule for p99 has it: what send lag is always allowed.
const LAG_ALLOWED_NS: f64 = 1e6;
/// As the rule for p50 has it: of the response at the same percentile.
const LAG_SHARE_MAX: f64 = 0.1;

/// What the harness knows of a cell by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    /// The least that a probe takes.
    pub(super) probe_least_ns: u64,
    pub(super) probes_scheduled: u64,
    pub(super) keeper: Option<&'a Keeper>,
    pub(super) blockers_scheduled: u64,
    /// What arithmetic says of the window.
    pub(super) regime: Regime,
}

/// The audits of probes beside blockers.
pub(super) fn probe(known: &Known<'_>, seen: &Seen) -> Vec<Check> {
    let probes = &seen.probes;
    let mut checks = stream("probe", probes, known.probes_scheduled, Some(known.probe_least_ns));
    let mut all = vec![probes];
    let mut streams = vec![Stream { client: probes, planned: Duration::from_nanos(known.probe_least_ns) }];
    if let (Some(keeper), Some(blockers)) = (known.keeper, &seen.blockers) {
        let least = keeper.plan.least_duration();
        let least_ns = (!least.is_zero()).then(|| ns(least));
        checks.extend(stream("blocker", blockers, known.blockers_scheduled, least_ns));
        checks.extend(seen.computing.burnt(&keeper.plan, blockers.completed, seen.usage.cpu_ns()));
        let (completed, in_flight_max) = (blockers.completed_in_window, blockers.in_flight_max);
        checks.extend(seen.computing.within_cpus(&keeper.plan, completed, seen.duration, in_flight_max));
        all.push(blockers);
        streams.push(Stream { client: blockers, planned: keeper.keep });
    }
    checks.extend(both_sides(&all, seen));
    let unheard: u64 = all.iter().map(|client| audit::unheard(client)).sum();
    if known.regime != Regime::Saturated && all.iter().any(|client| unanswered(client) > 0) {
        // What has no answer is under way, or it is lost.
        let under_way = seen.server.in_flight + seen.server.queued;
        checks.push(at_least("unanswered_are_under_way", under_way, 1));
    }
    // Of those intended before the window it is not told how they ended; where nobody was cut, none of these was.
    let before_window: u64 = all.iter().map(|client| client.warmup_finished).sum();
    let cut = if unheard > 0 { unheard + before_window } else { 0 };
    checks.extend(audit::server(&seen.end, cut));
    checks.extend(audit::window(&Window {
        streams: &streams,
        begin_ns: seen.begin_ns,
        duration: seen.duration,
        server: seen.at_edges,
        regime: if unheard > 0 { Regime::Saturated } else { known.regime },
    }));
    checks.extend(paced(seen));
    checks
}

/// Requests that were offered in the window and had no answer when the client gave up.
pub(super) fn unanswered(client: &HttpLoadResult) -> u64 {
    client.timed_out + client.in_flight_at_end + client.unsent_at_end
}

/// One client by itself, against the schedule that the harness draws for itself.
fn stream(name: &str, client: &HttpLoadResult, scheduled: u64, least_ns: Option<u64>) -> Vec<Check> {
    let ended = client.completed + client.rejected + client.errors_total() + unanswered(client);
    let mut checks = vec![
        equal(&format!("{name}s_offered_as_scheduled"), client.offered, scheduled),
        equal(&format!("{name}s_accounted_for"), ended, client.offered),
        equal(&format!("{name}s_failed"), client.errors_total() + client.rejected, 0),
    ];
    if let (Some(shortest_ns), Some(least_ns)) = (client.service_min_ns, least_ns) {
        checks.push(at_least(&format!("{name}_service_min_ns"), shortest_ns, least_ns));
    }
    checks
}

/// Both clients together, against the server.
fn both_sides(clients: &[&HttpLoadResult], seen: &Seen) -> Vec<Check> {
    let sum = |count: fn(&HttpLoadResult) -> u64| clients.iter().map(|client| count(client)).sum::<u64>();
    // Those intended before the window are no part of it, and were sent all the same.
    let all = sum(|client| client.offered + client.warmup_finished);
    let server = seen.server.completed;
    let mut checks = vec![at_most(
        "in_flight_peak_within_clients",
        seen.server.in_flight_peak,
        sum(|client| client.in_flight_max),
    )];
    if sum(|client| unanswered(client) + client.errors_total() + client.rejected) == 0 {
        checks.push(equal("completed_on_both_sides", all, server));
        checks.push(equal("server_failed", seen.server.failed + seen.server.rejected, 0));
    } else {
        checks.push(at_most("completed_within_servers", sum(|client| client.completed), server));
        checks.push(at_most("completed_by_server", server, all));
    }
    checks
}

/// The clients' own pace. Of the blockers, which are few, their rate and their median.
fn paced(seen: &Seen) -> Vec<Check> {
    let stall_p99_ns = seen.hiccups.stall_p99_ns();
    let named = |name: &str, check: honesty::Check| {
        let (value, limit) = (Figure::new(check.value)?, Figure::new(check.limit)?);
        Some(Check { name: format!("{name}_{}", check.name), ok: check.ok, value, limit })
    };
    let mut checks: Vec<Check> =
        honesty(&seen.probes, stall_p99_ns).into_iter().filter_map(|one| named("probe", one)).collect();
    let blockers = seen.blockers.iter().flat_map(|blockers| honesty(blockers, stall_p99_ns));
    let kept = blockers.filter(|one| one.name != "send_lag_p99_ns");
    checks.extend(kept.filter_map(|one| named("blocker", one)));
    checks
}

/// Why p99.9 is not the server's, where that is so: a client that stalled once was late for it, and for nothing before.
pub(super) fn tail_is_the_clients(seen: &Seen) -> Option<String> {
    let at = |histogram| percentile_ns(histogram, Percentile::P999).map(|ns| figure(ns).get());
    let (lag, response) = (at(&seen.probes.send_lag)?, at(&seen.probes.response)?);
    let stall = seen.hiccups.stalls.as_ref().and_then(|stalls| stalls.quantile_ns(Percentile::P999.share()));
    let allowed = LAG_ALLOWED_NS.max(stall.map_or(0.0, |ns| figure(ns).get())).max(response * LAG_SHARE_MAX);
    (lag > allowed).then(|| {
        format!(
            "the client's own send lag is {} there, and {} is allowed",
            format::ns(lag),
            format::ns(allowed)
        )
    })
}

fn figure(value: u64) -> Figure {
    Figure::from(value)
}

#[cfg(test)]
mod tests;
