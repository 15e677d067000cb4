//! Rows of runs that exist as numbers alone.

use cell_control::End;
use cell_protocol::{Stopped, Usage};
use load_driver::http::{HttpLoadResult, Timeline};
use workload::ServerCounts;

use super::*;
use crate::audit::Computing;

const MS: u64 = 1_000_000;
/// The load begins here, and the window 50 ms later.
const START_NS: u64 = 7_000 * MS;

fn used(user_ms: u64) -> Usage {
    Usage { user_ns: user_ms * MS, ..Usage::default() }
}

/// 64 connections, each of whose requests takes 640 us: 100 in a millisecond, for 151 ms. A point every 100 us.
fn timeline() -> Timeline {
    let points = |of: fn(u64) -> u64| (0..=1_510).map(of).collect();
    Timeline {
        start_monotonic_ns: START_NS,
        tick_ns: MS / 10,
        completed: points(|point| point * 10),
        in_flight_ns: points(|point| point * 64 * MS / 10),
        waiting_ns: points(|_| 0),
        is_cut: false,
    }
}

/// A saturated server: 10,000 requests in a window of 100 ms, some before and some after it.
fn good() -> Seen {
    let mut client = HttpLoadResult {
        offered: 10_000,
        completed: 10_000,
        completed_in_window: 10_000,
        warmup_finished: 5_000,
        drain_finished: 64,
        elapsed_ns: 100 * MS,
        in_flight_max: 64,
        in_flight_integral_ns: 6.4e9,
        residence_ns: 6.4e9,
        service_min_ns: Some(510_000),
        timeline: timeline(),
        ..HttpLoadResult::default()
    };
    (0..10_000).for_each(|_| client.response.record(640_000));
    let at = |ms: u64| ServerCounts {
        at_monotonic_ns: START_NS + ms * MS,
        in_flight_integral_ns: 55 * ms * MS,
        ..ServerCounts::default()
    };
    let whole = ServerCounts {
        accepted: 15_064,
        completed: 15_064,
        in_flight_peak: 60,
        connections_accepted: 64,
        ..ServerCounts::default()
    };
    Seen {
        client,
        plan: "wait=500us".parse().unwrap(),
        connections: 64,
        begin_ns: START_NS + 50 * MS,
        duration: Duration::from_millis(100),
        usage: used(99),
        completed: 10_040,
        elapsed_ns: 100_500_000,
        at_edges: [at(50), at(150)],
        whole,
        usage_of_all: used(145),
        end: End {
            stopped: Stopped { unfinished: 0, server: Some(whole), usage: used(150) },
            usage: used(160),
            rss_max_bytes: 1,
            held: None,
        },
        in_flight_limit: Some(200),
        computing: Computing { rounds_per_us: Some(1_000.0), cpus: 1, ahead: Duration::ZERO },
        syscalls: Err("not counted".into()),
        server_cpus: vec![0],
        client_cpus: vec![1],
        server_cpus_allowed: vec![0],
        stall_p99_ns: None,
    }
}

fn names(checks: Vec<Check>) -> Vec<String> {
    checks.into_iter().filter(|check| !check.ok).map(|check| check.name).collect()
}

fn failing(change: impl FnOnce(&mut Seen)) -> Vec<String> {
    let mut seen = good();
    change(&mut seen);
    names(closed(&seen))
}

#[test]
fn a_saturated_row_passes() {
    assert!(failing(|_| ()).is_empty());
    assert!((good().server_busy_share() - 0.985).abs() < 0.001);
    // Nobody is faster than its wait, and a row may be as fast as that.
    assert!(failing(|seen| seen.plan = "wait=510us".parse().unwrap()).is_empty());
}

#[test]
fn each_lie_is_caught_by_its_own_check() {
    assert_eq!(failing(|seen| seen.whole.completed += 1), ["answered_on_both_sides"]);
    assert_eq!(failing(|seen| seen.client.warmup_finished -= 1), ["answered_on_both_sides"]);
    assert_eq!(failing(|seen| seen.end.stopped.unfinished = 1), ["unfinished_at_stop"]);
    assert_eq!(failing(|seen| seen.server_cpus_allowed.push(1)), ["server_cpus"]);
    assert_eq!(failing(|seen| seen.end.stopped.usage = used(161)), ["cpu_within_reaped_ns"]);
    assert_eq!(failing(|seen| seen.whole.in_flight_peak = 65), ["in_flight_peak_within_clients"]);
    assert_eq!(failing(|seen| seen.completed = 9_000), ["throughput_on_both_sides_per_s"]);
    assert_eq!(failing(|seen| seen.whole.connections_accepted = 128), ["connections_on_both_sides"]);
    assert_eq!(failing(|seen| seen.client.residence_ns /= 2.0), ["here_by_parts_ns"]);
    assert_eq!(
        failing(|seen| seen.at_edges[1].in_flight_integral_ns *= 2),
        ["in_flight_integral_within_clients_ns"]
    );
    let timed_out = failing(|seen| {
        seen.client.timed_out = 1;
        seen.whole.completed -= 1;
    });
    assert_eq!(timed_out, ["failed", "answered_within_servers"]);
}

#[test]
fn a_wait_that_was_skipped_is_caught() {
    let skipped = failing(|seen| seen.client.service_min_ns = Some(499_999));
    assert_eq!(skipped, ["service_min_ns"]);
    // 64 places have 161 turns of 620 us in the window, and one more that began before.
    assert!(failing(|seen| seen.client.service_min_ns = Some(620_000)).is_empty());
    let too_many = failing(|seen| {
        seen.plan = "wait=650us".parse().unwrap();
        seen.client.service_min_ns = Some(650_000);
    });
    assert_eq!(too_many[..1], ["completed_within_connections"], "{too_many:?}");
}

#[test]
fn computing_that_was_skipped_is_caught() {
    // 15,064 x 9 us are 136 ms.
    assert!(failing(|seen| seen.plan = "wait=500us,compute=9000".parse().unwrap()).is_empty());
    let skipped = failing(|seen| {
        seen.plan = "wait=500us,compute=9000".parse().unwrap();
        seen.usage_of_all = used(100);
    });
    assert_eq!(skipped, ["cpu_burnt_ns"]);
    let too_much = failing(|seen| {
        seen.plan = "wait=500us,compute=12000".parse().unwrap();
        seen.usage_of_all = used(200);
    });
    assert_eq!(too_much, ["computed_within_cpus_ns"]);
}

#[test]
fn an_open_loop_accounts_for_every_request_and_for_its_own_pace() {
    let late = honesty::Check { name: "send_lag_p99_ns", ok: false, value: 2e6, limit: 1e6 };
    assert!(names(open(&good(), 10_000, &[])).is_empty());
    assert_eq!(names(open(&good(), 10_000, &[late])), ["send_lag_p99_ns"]);
    assert_eq!(names(open(&good(), 5_000, &[])), ["offered_as_scheduled"], "each was sent twice");
    let mut seen = good();
    seen.client.offered += 1;
    assert_eq!(names(open(&seen, seen.client.offered, &[])), ["accounted_for"]);
}

#[test]
fn a_queue_may_grow_before_a_server_whose_cpus_are_used_up_and_before_no_other() {
    let mut seen = good();
    // Twice as many come as go, and those that are left wait for a connection.
    seen.client.offered += 10_000;
    seen.client.unsent_at_end = 10_000;
    for (point, sum) in (0..).zip(&mut seen.client.timeline.waiting_ns) {
        *sum = point * point * MS / 20;
    }
    seen.client.waiting_integral_ns = 1e9 * 10.0;
    seen.client.residence_ns += 1e9 * 10.0;
    assert_eq!(seen.regime(), Regime::Saturated);
    assert!(names(open(&seen, seen.client.offered, &[])).is_empty());
    seen.usage = used(50);
    assert_eq!(seen.regime(), Regime::Steady);
    assert_eq!(names(open(&seen, seen.client.offered, &[])), ["here_growth"]);
}
