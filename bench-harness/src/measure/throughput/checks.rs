//! The audits of a throughput row.

use load_driver::honesty;

use super::window::Seen;
use crate::audit::{at_most, equal};
use crate::row::{Check, Figure};

/// Client and server measure the window each for itself, at instants that differ by little.
const WINDOW_TOLERANCE: f64 = 0.05;

pub(super) fn closed(seen: &Seen) -> Vec<Check> {
    let mut checks = both(seen);
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

pub(super) fn open(seen: &Seen, paced: &[honesty::Check]) -> Vec<Check> {
    let mut checks = both(seen);
    let client = &seen.client;
    let ended = client.completed
        + client.rejected
        + client.timed_out
        + client.errors_total()
        + client.in_flight_at_end
        + client.unsent_at_end;
    checks.push(equal("accounted_for", ended, client.offered));
    checks.extend(paced.iter().filter_map(|check| {
        let (value, limit) = (Figure::new(check.value)?, Figure::new(check.limit)?);
        Some(Check { name: check.name.to_owned(), ok: check.ok, value, limit })
    }));
    checks
}

#[expect(clippy::cast_precision_loss, reason = "a window has far fewer than 2^53 requests")]
fn both(seen: &Seen) -> Vec<Check> {
    let client = &seen.client;
    let mut checks = vec![
        equal("failed", client.errors_total() + client.timed_out + client.rejected, 0),
        equal("unfinished", seen.end.stopped.unfinished, 0),
        equal("server_cpus", count(&seen.server_cpus_allowed), count(&seen.server_cpus)),
        at_most("cpu_within_reaped_ns", seen.usage_at_end.cpu_ns(), seen.end.usage.cpu_ns()),
        at_most("in_flight_peak_within_clients", seen.whole.in_flight_peak, client.in_flight_max),
    ];
    let server_per_s = seen.completed as f64 * 1e9 / seen.elapsed_ns.max(1) as f64;
    if let Some(client_per_s) = client.throughput_per_s() {
        let ok = (server_per_s / client_per_s - 1.0).abs() <= WINDOW_TOLERANCE;
        checks.extend(check("throughput_on_both_sides_per_s", ok, client_per_s, server_per_s));
        if let Some(rate_max_per_s) = seen.rate_max_per_s {
            let ok = client_per_s <= rate_max_per_s;
            checks.extend(check("throughput_within_ceiling_per_s", ok, client_per_s, rate_max_per_s));
        }
    }
    checks
}

fn check(name: &str, ok: bool, value: f64, limit: f64) -> Option<Check> {
    Some(Check { name: name.to_owned(), ok, value: Figure::new(value)?, limit: Figure::new(limit)? })
}

fn count(cpus: &[usize]) -> u64 {
    u64::try_from(cpus.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use cell_control::End;
    use cell_protocol::{Stopped, Usage};
    use load_driver::http::HttpLoadResult;
    use workload::ServerCounts;

    use super::*;

    fn used(user_ns: u64) -> Usage {
        Usage { user_ns, ..Usage::default() }
    }

    /// A saturated server: 1,000 requests in a window of 10 ms, some before and some after it.
    fn good() -> Seen {
        Seen {
            client: HttpLoadResult {
                offered: 1_010,
                completed: 1_000,
                completed_in_window: 1_000,
                warmup_finished: 300,
                drain_finished: 10,
                elapsed_ns: 10_000_000,
                in_flight_max: 64,
                ..HttpLoadResult::default()
            },
            usage: used(9_900_000),
            completed: 1_004,
            elapsed_ns: 10_050_000,
            whole: ServerCounts { completed: 1_310, in_flight_peak: 1, ..ServerCounts::default() },
            usage_at_end: used(15_000_000),
            end: End { stopped: Stopped::default(), usage: used(16_000_000), rss_max_bytes: 1 },
            syscalls: Err("not counted".into()),
            server_cpus: vec![0],
            client_cpus: vec![1],
            server_cpus_allowed: vec![0],
            stall_p99_ns: None,
            rate_max_per_s: Some(101_000.0),
        }
    }

    fn failing(change: impl FnOnce(&mut Seen)) -> Vec<String> {
        let mut seen = good();
        change(&mut seen);
        closed(&seen).into_iter().filter(|check| !check.ok).map(|check| check.name).collect()
    }

    #[test]
    fn a_saturated_row_passes() {
        assert!(failing(|_| ()).is_empty());
        assert!((good().server_busy_share() - 0.985).abs() < 0.001);
    }

    #[test]
    fn each_lie_is_caught_by_its_own_check() {
        assert_eq!(failing(|seen| seen.whole.completed += 1), ["answered_on_both_sides"]);
        assert_eq!(failing(|seen| seen.client.warmup_finished -= 1), ["answered_on_both_sides"]);
        assert_eq!(failing(|seen| seen.end.stopped.unfinished = 1), ["unfinished"]);
        assert_eq!(failing(|seen| seen.server_cpus_allowed.push(1)), ["server_cpus"]);
        assert_eq!(failing(|seen| seen.usage_at_end = used(16_000_001)), ["cpu_within_reaped_ns"]);
        assert_eq!(failing(|seen| seen.whole.in_flight_peak = 65), ["in_flight_peak_within_clients"]);
        assert_eq!(failing(|seen| seen.completed = 900), ["throughput_on_both_sides_per_s"]);
        assert_eq!(failing(|seen| seen.rate_max_per_s = Some(99_999.0)), ["throughput_within_ceiling_per_s"]);
        let timed_out = failing(|seen| {
            seen.client.timed_out = 1;
            seen.whole.completed -= 1;
        });
        assert_eq!(timed_out, ["failed", "answered_within_servers"]);
    }

    #[test]
    fn an_open_loop_accounts_for_every_request_and_for_its_own_pace() {
        let mut seen = good();
        seen.client.offered = 1_000;
        let late = honesty::Check { name: "send_lag_p99_ns", ok: false, value: 2e6, limit: 1e6 };
        let names = |seen: &Seen, paced: &[honesty::Check]| -> Vec<String> {
            open(seen, paced).into_iter().filter(|check| !check.ok).map(|check| check.name).collect()
        };
        assert!(names(&seen, &[]).is_empty());
        assert_eq!(names(&seen, &[late]), ["send_lag_p99_ns"]);
        seen.client.offered = 1_001;
        assert_eq!(names(&seen, &[]), ["accounted_for"]);
    }
}
