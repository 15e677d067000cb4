//! The audits of a throughput row.

use std::time::Duration;

use load_driver::honesty;

use super::window::Seen;
use crate::audit::{self, Ends, Places, Regime, Stream, Window, at_least, at_most, check, equal};
use crate::measure::ns;
use crate::row::Check;

/// Client and server measure the window each for itself, at instants that differ by little.
const WINDOW_TOLERANCE: f64 = 0.05;

pub(super) fn closed(seen: &Seen) -> Vec<Check> {
    // However busy the server is, no more comes than goes.
    let mut checks = both(seen, Regime::Steady);
    // In a closed loop what began before the window or ended after it has an outcome too.
    let client = &seen.client;
    let heard = client.completed + client.rejected + client.warmup_finished + client.drain_finished;
    let server = seen.whole.completed + seen.whole.rejected;
    if client.errors_total() + client.timed_out + client.in_flight_at_end == 0 {
        checks.push(equal("answered_on_both_sides", heard, server));
    } else {
        checks.push(at_most("answered_within_servers", heard, server));
    }
    checks
}

/// `scheduled` is what the harness draws of the schedule for itself.
pub(super) fn open(seen: &Seen, scheduled: u64, paced: &[honesty::Check]) -> Vec<Check> {
    let mut checks = both(seen, seen.regime());
    let client = &seen.client;
    checks.push(equal("offered_as_scheduled", client.offered, scheduled));
    let ended = client.completed + client.rejected + audit::unheard(client) + client.unsent_at_end;
    checks.push(equal("accounted_for", ended, client.offered));
    checks.extend(audit::paced(paced));
    checks
}

#[expect(clippy::cast_precision_loss, reason = "a window has far fewer than 2^53 requests")]
fn both(seen: &Seen, regime: Regime) -> Vec<Check> {
    let client = &seen.client;
    let mut checks = vec![
        equal("failed", client.errors_total() + client.timed_out + client.rejected, 0),
        equal("server_cpus", count(&seen.server_cpus_allowed), count(&seen.server_cpus)),
        at_most("in_flight_peak_within_clients", seen.whole.in_flight_peak, client.in_flight_max),
    ];
    if audit::unheard(client) == 0 {
        checks.push(equal("connections_on_both_sides", seen.whole.connections_accepted, seen.connections));
    }
    let server_per_s = seen.completed as f64 * 1e9 / seen.elapsed_ns.max(1) as f64;
    if let Some(client_per_s) = client.throughput_per_s() {
        let ok = (server_per_s / client_per_s - 1.0).abs() <= WINDOW_TOLERANCE;
        checks.extend(check("throughput_on_both_sides_per_s", ok, client_per_s, server_per_s));
    }
    let least = seen.plan.least_duration();
    if let Some(shortest_ns) = client.service_min_ns {
        checks.push(at_least("service_min_ns", shortest_ns, ns(least)));
    }
    let (completed, elapsed) = (client.completed_in_window, Duration::from_nanos(client.elapsed_ns));
    let places = Places { connections: Some(seen.connections), in_flight_limit: seen.in_flight_limit };
    let ends = Ends::InWindow { completed, elapsed, least };
    checks.extend(ends.checks(places, seen.whole.in_flight_peak));
    checks.extend(seen.computing.within_cpus(&seen.plan, completed, elapsed, client.in_flight_max));
    checks.extend(seen.computing.burnt(&seen.plan, seen.whole.completed, seen.usage_of_all.cpu_ns()));
    checks.extend(audit::server(&seen.end, audit::unheard(client)));
    let planned = least + seen.computing.planned(&seen.plan).unwrap_or_default();
    checks.extend(audit::window(&Window {
        streams: &[Stream { client, planned }],
        begin_ns: seen.begin_ns,
        duration: seen.duration,
        server: seen.at_edges,
        regime,
    }));
    checks
}

fn count(cpus: &[usize]) -> u64 {
    u64::try_from(cpus.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
