//! Each audit catches the lie that it is for, and lets an overload pass.

use std::time::Duration;

use cell_control::End;
use cell_protocol::{Histogram, Stopped, Usage};
use load_driver::hiccup::Hiccups;
use load_driver::http::Timeline;
use load_driver::priority::Going;
use workload::{BlockingStrategy, LoopLag, ServerCounts};

use super::*;
use crate::audit::Computing;
use crate::experiment::{Blocker, Keeps};

const MS: u64 = 1_000_000;
const START_NS: u64 = 50_000 * MS;

fn of(samples: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::new();
    for &(ns, count) in samples {
        (0..count).for_each(|_| histogram.record(ns));
    }
    histogram
}

fn used(user_ns: u64) -> Usage {
    Usage { user_ns, ..Usage::default() }
}

/// Ten seconds in which so many requests come evenly, after a second of the same.
fn client(requests: u64, took_ms: u64) -> HttpLoadResult {
    let per_s = requests / 10;
    let in_flight_ns = |ms: u64| ms * per_s * took_ms * MS / 1_000;
    let timeline = Timeline {
        start_monotonic_ns: START_NS,
        tick_ns: MS,
        completed: (0..=12_000).map(|ms| ms * per_s / 1_000).collect(),
        in_flight_ns: (0..=12_000).map(in_flight_ns).collect(),
        waiting_ns: vec![0; 12_001],
        is_cut: false,
    };
    let here_ns = in_flight_ns(10_000) as f64;
    HttpLoadResult {
        offered: requests,
        completed: requests,
        completed_in_window: requests,
        warmup_finished: per_s,
        elapsed_ns: 10_000 * MS,
        dispatch_elapsed_ns: 10_000 * MS,
        rate_asked_per_s: per_s as f64,
        response: of(&[(took_ms * MS, requests)]),
        service: of(&[(took_ms * MS, requests)]),
        service_min_ns: Some(took_ms * MS),
        send_lag: of(&[(5_000, requests)]),
        in_flight_max: 10,
        in_flight_integral_ns: here_ns,
        residence_ns: here_ns,
        timeline,
        ..HttpLoadResult::default()
    }
}

/// 10,000 probes of 6 ms, and 200 blockers of 51 ms.
fn good() -> Seen {
    let at = |ms: u64| ServerCounts {
        at_monotonic_ns: START_NS + ms * MS,
        in_flight_integral_ns: ms * 7 * MS,
        ..ServerCounts::default()
    };
    let counts = ServerCounts { completed: 11_220, in_flight_peak: 12, ..ServerCounts::default() };
    let stopped = Stopped {
        unfinished: 0,
        server: Some(ServerCounts { accepted: 11_220, ..counts }),
        usage: used(11_500 * MS),
    };
    Seen {
        probes: client(10_000, 6),
        blockers: Some(client(200, 51)),
        server: counts,
        begin_ns: START_NS + 1_000 * MS,
        duration: Duration::from_secs(10),
        at_edges: [at(1_001), at(11_002)],
        lag: LoopLag::default(),
        usage: used(11_000 * MS),
        computing: Computing { rounds_per_us: Some(240.0), cpus: 2, ahead: Duration::ZERO },
        hiccups: Hiccups::default(),
        clients_go_first: Going::RealTime,
        end: End { stopped, usage: used(11_600 * MS), rss_max_bytes: 1, held: None },
    }
}

fn keeper(keeps: Keeps) -> Keeper {
    let plan = match keeps {
        Keeps::Block => "block=50ms",
        Keeps::Compute => "compute=12000000",
    };
    Keeper {
        blocker: Blocker { keeps, strategy: BlockingStrategy::Inline, offload_threads: None },
        keep: Duration::from_millis(50),
        plan: plan.parse().unwrap(),
        threads: Some(2),
        cpus: 2,
        ahead: Duration::ZERO,
    }
}

fn failing(keeps: Keeps, regime: Regime, change: impl FnOnce(&mut Seen)) -> Vec<String> {
    let (mut seen, keeper) = (good(), keeper(keeps));
    change(&mut seen);
    let known = Known {
        probe_least_ns: 5 * MS,
        probes_scheduled: 10_000,
        keeper: Some(&keeper),
        blockers_scheduled: 200,
        regime,
    };
    let checks = probe(&known, &seen);
    assert!(checks.len() > 10);
    checks.into_iter().filter(|check| !check.ok).map(|check| check.name).collect()
}

fn lie(change: impl FnOnce(&mut Seen)) -> Vec<String> {
    failing(Keeps::Block, Regime::Steady, change)
}

fn blockers(seen: &mut Seen) -> &mut HttpLoadResult {
    seen.blockers.as_mut().unwrap()
}

#[test]
fn what_is_true_passes() {
    assert!(lie(|_| ()).is_empty());
    assert!(failing(Keeps::Compute, Regime::Steady, |_| ()).is_empty());
    let alone = |seen: &mut Seen| {
        seen.blockers = None;
        (seen.server.completed, seen.server.in_flight_peak) = (11_000, 10);
        seen.at_edges[1].in_flight_integral_ns -= 10_000 * MS;
    };
    assert!(lie(alone).is_empty());
}

#[test]
fn each_lie_is_caught_by_its_own_check() {
    assert_eq!(lie(|seen| seen.probes.service_min_ns = Some(5 * MS - 1)), ["probe_service_min_ns"]);
    assert_eq!(lie(|seen| blockers(seen).service_min_ns = Some(49 * MS)), ["blocker_service_min_ns"]);
    assert_eq!(lie(|seen| seen.server.completed += 1), ["completed_on_both_sides"]);
    assert_eq!(lie(|seen| blockers(seen).warmup_finished += 1), ["completed_on_both_sides"]);
    assert_eq!(lie(|seen| seen.server.failed = 1), ["server_failed"]);
    assert_eq!(lie(|seen| seen.server.in_flight_peak = 21), ["in_flight_peak_within_clients"]);
    let more = lie(|seen| seen.at_edges[1].in_flight_integral_ns += 6_000 * MS);
    assert_eq!(more, ["in_flight_integral_within_clients_ns"]);
    assert_eq!(lie(|seen| seen.end.usage = used(11_499 * MS)), ["cpu_within_reaped_ns"]);
    let unfinished = lie(|seen| seen.end.stopped.unfinished = 1);
    assert_eq!(unfinished, ["unfinished_at_stop"]);
    let fewer = lie(|seen| {
        (seen.probes.offered, seen.probes.completed) = (9_999, 9_999);
        seen.server.completed -= 1;
    });
    assert_eq!(fewer, ["probes_offered_as_scheduled"]);
    assert_eq!(lie(|seen| seen.probes.completed -= 1), ["probes_accounted_for"]);
}

#[test]
fn computing_that_was_skipped_is_caught() {
    // 200 x 50 ms are 10 s of CPU, and 9 s of them must show.
    assert!(failing(Keeps::Compute, Regime::Steady, |seen| seen.usage = used(9_000 * MS)).is_empty());
    assert_eq!(
        failing(Keeps::Compute, Regime::Steady, |seen| seen.usage = used(8_999 * MS)),
        ["cpu_burnt_ns"]
    );
    assert!(lie(|seen| seen.usage = used(0)).is_empty(), "who sleeps burns nothing");
}

/// Cut at the end, with as many answers as an overload leaves.
fn overload(seen: &mut Seen) {
    let probes = &mut seen.probes;
    (probes.completed, probes.in_flight_at_end, probes.unsent_at_end) = (2_000, 600, 7_400);
    probes.response = of(&[(3_000 * MS, 10_000)]);
    probes.connection_wait = of(&[(2_000 * MS, 10_000)]);
    (blockers(seen).completed, blockers(seen).in_flight_at_end) = (100, 100);
    // It goes on with what nobody waits for any more.
    seen.server =
        ServerCounts { completed: 2_700, in_flight: 2, queued: 500, in_flight_peak: 12, ..seen.server };
}

#[test]
fn an_overload_is_no_lie() {
    assert!(failing(Keeps::Block, Regime::Saturated, overload).is_empty());
    // Also where arithmetic did not foresee it, such as where connections are not spread evenly.
    assert!(lie(overload).is_empty());
    assert_eq!(
        failing(Keeps::Block, Regime::Saturated, |seen| {
            overload(seen);
            seen.server.completed = 2_099;
        }),
        ["completed_within_servers"]
    );
    assert_eq!(
        failing(Keeps::Block, Regime::Saturated, |seen| {
            overload(seen);
            seen.server.completed = 11_221;
        }),
        ["completed_by_server"]
    );
}

#[test]
fn what_has_no_answer_and_is_not_under_way_is_lost() {
    let lost = lie(|seen| {
        (seen.probes.completed, seen.probes.in_flight_at_end) = (9_999, 1);
        seen.server.completed -= 1;
    });
    assert_eq!(lost, ["unanswered_are_under_way"]);
}

#[test]
fn a_client_that_stalled_once_is_late_where_it_shows() {
    // 20 of 10,000 were sent 200 ms late: no p99 shows it, and p99.9 is the client's own.
    let stalled = |seen: &mut Seen| {
        seen.probes.send_lag = of(&[(5_000, 9_980), (200 * MS, 20)]);
        seen.probes.response = of(&[(6 * MS, 9_980), (206 * MS, 20)]);
    };
    assert!(lie(stalled).is_empty());
    let tail = |change: &dyn Fn(&mut Seen)| {
        let mut seen = good();
        change(&mut seen);
        tail_is_the_clients(&seen)
    };
    assert_eq!(tail(&|_| ()), None);
    let reason = tail(&stalled).unwrap();
    assert!(reason.contains("send lag is 200.0 ms there, and 20.60 ms is allowed"), "{reason}");
    let longer = |seen: &mut Seen| {
        seen.probes.send_lag = of(&[(5_000, 9_800), (200 * MS, 200)]);
        seen.probes.response = of(&[(6 * MS, 9_800), (206 * MS, 200)]);
    };
    assert_eq!(lie(longer), ["probe_send_lag_p99_ns"]);
    // What the machine does to a thread that does nothing is not laid at the client's door.
    let machine = |seen: &mut Seen| {
        stalled(seen);
        seen.hiccups.stalls = Some(of(&[(5_000, 9_980), (210 * MS, 20)]));
    };
    assert!(lie(machine).is_empty());
    assert_eq!(tail(&machine), None);
    assert_eq!(lie(|seen| seen.probes.dispatch_elapsed_ns = 10_200 * MS), ["probe_sent_rate_per_s"]);
    assert_eq!(lie(|seen| blockers(seen).dispatch_elapsed_ns = 10_200 * MS), ["blocker_sent_rate_per_s"]);
    // A hundred blockers have no p99 to be judged by.
    assert!(lie(|seen| blockers(seen).send_lag = of(&[(5_000, 190), (5 * MS, 10)])).is_empty());
}
