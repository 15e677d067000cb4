//! Runs that exist as numbers alone: what they come to follows from arithmetic.

use load_driver::http::Timeline;

use super::super::failing;
use super::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
/// The load begins, and a second later the window, which is two seconds long.
const START_NS: u64 = 50 * S;
const BEGIN_NS: u64 = START_NS + S;

/// What is done and what is here, `ms` after the start of the load.
struct World<'a> {
    completed: &'a dyn Fn(u64) -> u64,
    /// The integral of those in flight, in request-milliseconds.
    in_flight: &'a dyn Fn(u64) -> u64,
    waiting: &'a dyn Fn(u64) -> u64,
    response_ms: u64,
}

/// A closed loop of 64 connections whose requests take 20 ms each.
fn closed() -> World<'static> {
    World { completed: &|ms| ms / 20 * 64, in_flight: &|ms| ms * 64, waiting: &|_| 0, response_ms: 20 }
}

impl World<'_> {
    fn client(&self) -> HttpLoadResult {
        let points = |of: &dyn Fn(u64) -> u64, unit: u64| (0..=3_000).map(|ms| of(ms) * unit).collect();
        let timeline = Timeline {
            start_monotonic_ns: START_NS,
            tick_ns: MS,
            completed: points(self.completed, 1),
            in_flight_ns: points(self.in_flight, MS),
            waiting_ns: points(self.waiting, MS),
            is_cut: false,
        };
        let window = timeline.between(BEGIN_NS, BEGIN_NS + 2 * S).unwrap();
        let completed = (self.completed)(3_000) - (self.completed)(1_000);
        let mut client = HttpLoadResult {
            offered: completed,
            completed,
            completed_in_window: completed,
            elapsed_ns: 2 * S,
            in_flight_integral_ns: window.in_flight_ns,
            waiting_integral_ns: window.waiting_ns,
            residence_ns: window.in_flight_ns + window.waiting_ns,
            timeline,
            ..HttpLoadResult::default()
        };
        (0..completed).for_each(|_| client.response.record(self.response_ms * MS));
        client
    }
}

/// A server whose snapshots are late by some milliseconds, and in whose service `per_cent` of the client's time is spent.
fn server(client: &HttpLoadResult, per_cent: u64) -> [ServerCounts; 2] {
    let at = |at_monotonic_ns: u64| {
        let so_far = client.timeline.between(START_NS, at_monotonic_ns).unwrap().in_flight_ns;
        let in_flight_integral_ns = crate::format::whole(so_far) / 100 * per_cent;
        ServerCounts { at_monotonic_ns, in_flight_integral_ns, ..ServerCounts::default() }
    };
    [at(BEGIN_NS + 3 * MS), at(BEGIN_NS + 2 * S - 17 * MS)]
}

struct Told {
    planned_ms: u64,
    server_per_cent: u64,
    regime: Regime,
}

const STEADY: Told = Told { planned_ms: 19, server_per_cent: 97, regime: Regime::Steady };

fn failing_when(client: &HttpLoadResult, told: &Told) -> Vec<String> {
    let streams = [Stream { client, planned: Duration::from_millis(told.planned_ms) }];
    failing(window(&Window {
        streams: &streams,
        begin_ns: BEGIN_NS,
        duration: Duration::from_secs(2),
        server: server(client, told.server_per_cent),
        regime: told.regime,
    }))
}

#[test]
fn a_loop_at_its_limit_is_steady_and_passes() {
    assert!(failing_when(&closed().client(), &STEADY).is_empty());
    // Most of the time is spent on the way: the server sees less, and may.
    let on_the_way = Told { planned_ms: 2, server_per_cent: 10, ..STEADY };
    assert!(failing_when(&closed().client(), &on_the_way).is_empty());
}

#[test]
fn a_server_that_does_not_hold_its_requests_is_caught() {
    let client = closed().client();
    let skips = Told { server_per_cent: 60, ..STEADY };
    assert_eq!(failing_when(&client, &skips), ["in_flight_integral_on_both_sides_ns"]);
    for planned_ms in [2, 19] {
        let more = Told { planned_ms, server_per_cent: 110, ..STEADY };
        let failed = failing_when(&client, &more);
        assert!(failed.len() == 1 && failed[0].starts_with("in_flight_integral_"), "{failed:?}");
    }
    let saturated = Told { server_per_cent: 110, regime: Regime::Saturated, ..STEADY };
    assert_eq!(failing_when(&client, &saturated), ["in_flight_integral_within_clients_ns"]);
}

#[test]
fn a_client_that_counts_twice_is_caught() {
    let mut doubled = closed().client();
    doubled.completed_in_window *= 2;
    assert_eq!(failing_when(&doubled, &STEADY), ["here_by_littles_law"]);
    let mut doubled = closed().client();
    doubled.residence_ns *= 2.0;
    assert_eq!(failing_when(&doubled, &STEADY), ["here_by_parts_ns"]);
    let mut doubled = closed().client();
    doubled.timeline.in_flight_ns.iter_mut().for_each(|sum| *sum *= 2);
    let truly = server(&closed().client(), 97);
    let streams = [Stream { client: &doubled, planned: Duration::from_millis(38) }];
    let seen = Window {
        streams: &streams,
        begin_ns: BEGIN_NS,
        duration: Duration::from_secs(2),
        server: truly,
        regime: Regime::Steady,
    };
    assert_eq!(failing(window(&seen)), ["in_flight_integral_on_both_sides_ns"]);
}

#[test]
fn a_queue_that_grows_is_not_steady_and_a_saturated_row_need_not_be() {
    // 1,000 a second come, and 500 can go: so many wait, more and more.
    let overloaded = World {
        completed: &|ms| ms / 2,
        in_flight: &|ms| ms * 10,
        waiting: &|ms| ms * ms / 4,
        response_ms: 1_000,
    };
    let mut client = overloaded.client();
    client.offered *= 2;
    let steady = Told { planned_ms: 19, ..STEADY };
    assert_eq!(failing_when(&client, &steady), ["window_response_times", "here_growth"]);
    assert!(failing_when(&client, &Told { regime: Regime::Saturated, ..steady }).is_empty());
}

#[test]
fn a_throughput_that_falls_is_not_steady() {
    let tires =
        World { completed: &|ms| ms.min(2_000) / 20 * 64 + ms.saturating_sub(2_000) / 80 * 64, ..closed() };
    let mut client = tires.client();
    // Of which the means tell nothing.
    client.offered += 1;
    assert_eq!(failing_when(&client, &Told { planned_ms: 2, ..STEADY }), ["completed_in_second_half"]);
}

#[test]
fn a_short_window_proves_nothing() {
    let slow = World { completed: &|ms| ms / 500 * 64, response_ms: 500, ..closed() };
    let told = Told { planned_ms: 490, ..STEADY };
    assert_eq!(failing_when(&slow.client(), &told), ["window_response_times"]);
}

#[test]
fn two_clients_are_held_against_the_server_together() {
    // Probes of 5 ms and blockers of 50 ms, which are two parts of what the server sees.
    let probes = World { completed: &|ms| ms, in_flight: &|ms| 5 * ms, waiting: &|_| 0, response_ms: 5 };
    let blockers =
        World { completed: &|ms| ms / 25, in_flight: &|ms| 2 * ms, waiting: &|_| 0, response_ms: 50 };
    let (probes, blockers) = (probes.client(), blockers.client());
    let at = |ms: u64| ServerCounts {
        at_monotonic_ns: START_NS + ms * MS,
        in_flight_integral_ns: 7 * ms * MS,
        ..ServerCounts::default()
    };
    let failing = |streams: &[Stream<'_>]| {
        failing(window(&Window {
            streams,
            begin_ns: BEGIN_NS,
            duration: Duration::from_secs(2),
            server: [at(1_004), at(2_990)],
            regime: Regime::Steady,
        }))
    };
    let probing = Stream { client: &probes, planned: Duration::from_millis(5) };
    let blocking = Stream { client: &blockers, planned: Duration::from_millis(50) };
    assert!(failing(&[probing, blocking]).is_empty());
    assert_eq!(failing(&[probing]), ["in_flight_integral_on_both_sides_ns"]);
}

#[test]
fn what_the_client_cannot_tell_fails() {
    let mut client = closed().client();
    client.timeline = Timeline::default();
    let streams = [Stream { client: &client, planned: Duration::from_millis(19) }];
    let seen = Window {
        streams: &streams,
        begin_ns: BEGIN_NS,
        duration: Duration::from_secs(2),
        server: server(&closed().client(), 97),
        regime: Regime::Steady,
    };
    assert_eq!(failing(window(&seen)), ["client_covers_servers_window", "client_covers_window"]);
}
