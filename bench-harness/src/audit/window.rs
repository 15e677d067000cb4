//! Little's law and steadiness, in a window of a longer run: what was in flight is what came, times how long it
//! stayed, by the client's count, by the server's, and in both halves of the window.
//!
//! John D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9(3), 1961.

use std::time::Duration;

use load_driver::http::{HttpLoadResult, Stretch};
use workload::ServerCounts;

use super::{check, float, ns};
use crate::row::Check;

/// A window of fewer mean response times is not steady, whatever happens in it.
const RESPONSE_TIMES_MIN: f64 = 5.0;
/// How far the two sides of the law may be apart.
const LAW_TOLERANCE: f64 = 0.05;
/// The client's two accounts of the same times: they differ by rounding alone.
const ACCOUNT_TOLERANCE: f64 = 0.001;
/// From this share of the time in flight on, planned service explains what is in flight: the server must see as much as
/// the client. Below it, requests are elsewhere for a part of their time: in a socket, or on their way.
const PLANNED_SHARE_MIN: f64 = 0.9;
/// How far the halves may be apart in requests completed: a guest of a shared machine has a fifth less of it in one
/// half of a second than in the other.
const COMPLETED_TOLERANCE: f64 = 0.25;
/// How many more may be here at the end than at the begin, of those that completed: more than that come for each that
/// goes, and a queue grows.
const GROWTH_SHARE_MAX: f64 = 0.02;
/// And beyond that, so many standard deviations of what independent arrivals vary by.
const DEVIATIONS: f64 = 4.0;

/// Whether a window is held to be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Regime {
    /// What comes also goes.
    Steady,
    /// It does, and in fits: now and then something stops everything, so that one half is not like the other.
    Fitful,
    /// More comes than can go, by arithmetic: queues grow, and only accounts and ceilings hold.
    Saturated,
}

/// One client's requests, which may be beside those of others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream<'a> {
    pub(crate) client: &'a HttpLoadResult,
    /// What each request takes where nothing is in its way: it waits, blocks and computes.
    pub(crate) planned: Duration,
}

/// A window of a run, seen from both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    pub(crate) streams: &'a [Stream<'a>],
    /// When it begins, on `CLOCK_MONOTONIC`.
    pub(crate) begin_ns: u64,
    pub(crate) duration: Duration,
    /// The server's counts, at instants near the window's edges.
    pub(crate) server: [ServerCounts; 2],
    pub(crate) regime: Regime,
}

/// The audits of a window.
pub(crate) fn window(window: &Window<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    checks.extend(by_parts(window.streams));
    checks.extend(on_both_sides(window));
    if window.regime == Regime::Steady {
        checks.extend(long_enough(window));
        checks.extend(by_means(window));
        checks.extend(steady(window));
    }
    checks
}

fn sum(streams: &[Stream<'_>], of: impl Fn(&HttpLoadResult) -> f64) -> f64 {
    streams.iter().map(|stream| of(stream.client)).sum()
}

/// What is here, over the window, in request-nanoseconds.
fn here_ns(client: &HttpLoadResult) -> f64 {
    client.in_flight_integral_ns + client.waiting_integral_ns
}

/// The integral of how many are here is the sum of how long each is here, those that the window cuts counted in part.
fn by_parts(streams: &[Stream<'_>]) -> Option<Check> {
    let (integral, parts) = (sum(streams, here_ns), sum(streams, |client| client.residence_ns));
    let ok = (integral - parts).abs() <= ACCOUNT_TOLERANCE * integral;
    check("here_by_parts_ns", ok, parts, integral)
}

/// The same from other figures: throughput times the mean time. Requests that the window cuts are whole in these, so
/// that the two may differ by what is here for one response time, and by those at the edges for the longest.
fn by_means(window: &Window<'_>) -> Option<Check> {
    let (mut by_law, mut allowed) = (0.0, 0.0);
    for Stream { client, .. } in window.streams {
        if client.completed == 0 || client.completed != client.offered {
            // The mean is of completed requests, and others were here too.
            return None;
        }
        let lag_ns = client.send_lag.mean_ns().unwrap_or(0.0);
        let here_ns_each = client.response.mean_ns()? - lag_ns;
        let elapsed_ns = float(client.elapsed_ns);
        by_law += float(client.completed_in_window) / elapsed_ns * here_ns_each;
        allowed += here_ns(client) / elapsed_ns * (LAW_TOLERANCE + here_ns_each / elapsed_ns);
        let cut_ns = here_at_edges(client, window)? * float(client.response.max_ns()?);
        allowed += cut_ns / elapsed_ns;
    }
    let mean = sum(window.streams, |client| here_ns(client) / float(client.elapsed_ns));
    check("here_by_littles_law", (by_law - mean).abs() <= allowed, by_law, mean)
}

/// How many requests are here when the window begins, and when it ends: those that it cuts.
fn here_at_edges(client: &HttpLoadResult, window: &Window<'_>) -> Option<f64> {
    let (tick_ns, end_ns) = (client.timeline.tick_ns, window.begin_ns + ns(window.duration));
    let begin = client.timeline.between(window.begin_ns, window.begin_ns + tick_ns)?;
    let end = client.timeline.between(end_ns - tick_ns, end_ns)?;
    Some(begin.in_system_mean()? + end.in_system_mean()?)
}

/// The server's integral against the client's, over the time between the server's two instants.
fn on_both_sides(window: &Window<'_>) -> Option<Check> {
    let [begin, end] = window.server;
    let server_ns = float(end.in_flight_integral_ns.saturating_sub(begin.in_flight_integral_ns));
    let (mut client_ns, mut planned_ns) = (0.0, 0.0);
    for Stream { client, planned } in window.streams {
        let Some(stretch) = client.timeline.between(begin.at_monotonic_ns, end.at_monotonic_ns) else {
            return check("client_covers_servers_window", false, 0.0, 1.0);
        };
        client_ns += stretch.in_flight_ns;
        planned_ns += stretch.completed * float(ns(*planned));
    }
    let most_ns = client_ns * (1.0 + LAW_TOLERANCE);
    if window.regime == Regime::Steady && planned_ns >= PLANNED_SHARE_MIN * client_ns {
        let least_ns = client_ns * (1.0 - LAW_TOLERANCE);
        let ok = (least_ns..=most_ns).contains(&server_ns);
        return check("in_flight_integral_on_both_sides_ns", ok, server_ns, client_ns);
    }
    check("in_flight_integral_within_clients_ns", server_ns <= most_ns, server_ns, client_ns)
}

fn long_enough(window: &Window<'_>) -> Option<Check> {
    let means = window.streams.iter().filter_map(|stream| stream.client.response.mean_ns());
    let longest_ns = means.fold(0.0, f64::max);
    let response_times = float(ns(window.duration)) / longest_ns;
    check("window_response_times", response_times >= RESPONSE_TIMES_MIN, response_times, RESPONSE_TIMES_MIN)
}

/// One half is like the other in what completed, and no more is here in the last tenth than in the first: a queue that
/// grows is not steady.
fn steady(window: &Window<'_>) -> Vec<Check> {
    let whole_ns = ns(window.duration);
    let part = |of: u64, index: u64| -> Option<Stretch> {
        let length_ns = whole_ns / of;
        let from_ns = window.begin_ns + index * length_ns;
        let none = Stretch { elapsed_ns: length_ns, completed: 0.0, in_flight_ns: 0.0, waiting_ns: 0.0 };
        window.streams.iter().try_fold(none, |sum, stream| {
            let one = stream.client.timeline.between(from_ns, from_ns + length_ns)?;
            Some(Stretch {
                completed: sum.completed + one.completed,
                in_flight_ns: sum.in_flight_ns + one.in_flight_ns,
                waiting_ns: sum.waiting_ns + one.waiting_ns,
                ..sum
            })
        })
    };
    let (Some(first), Some(second)) = (part(2, 0), part(2, 1)) else {
        return check("client_covers_window", false, 0.0, 1.0).into_iter().collect();
    };
    let here = |stretch: Option<Stretch>| stretch.and_then(|stretch| stretch.in_system_mean());
    let mut checks = Vec::new();
    let completed = first.completed + second.completed;
    if let Some(here) = here(part(1, 0)) {
        // Those that are here may all complete just before the middle, or just after.
        let allowed = COMPLETED_TOLERANCE * completed / 2.0 + DEVIATIONS * completed.sqrt() + here;
        let apart = (first.completed - second.completed).abs();
        checks.extend(check("completed_in_second_half", apart <= allowed, second.completed, first.completed));
    }
    // From a tenth to a tenth, so that what piles up in a stall of the machine and is gone soon after is no growth.
    if let (Some(begin), Some(end)) = (here(part(10, 0)), here(part(10, 9))) {
        let allowed = GROWTH_SHARE_MAX * completed + DEVIATIONS * begin.sqrt();
        checks.extend(check("here_growth", end - begin <= allowed, end - begin, allowed));
    }
    checks
}

#[cfg(test)]
mod tests;
