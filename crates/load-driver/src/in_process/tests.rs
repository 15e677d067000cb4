//! Accounts whose figures follow from arithmetic: stamps of requests that exist as numbers alone.

use workload::arrivals::{OpenArrivals, Spacing};
use workload::{BlockingStrategy, Plan};

use super::*;
use crate::honesty::{generator_limited, honesty};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
/// The first intended start on the ledger's clock.
const START_NS: u64 = 3 * S;

fn job() -> Job {
    let plan: Plan = "wait=20ms,compute=10".parse().expect("a plan");
    Job { plan, strategy: BlockingStrategy::Inline, seed: 7 }
}

/// What a run is made of. Times are exact, and count from the first intended start.
struct World<'a> {
    requests: usize,
    /// How long the generator is busy with each dispatch.
    dispatch_ns: u64,
    /// When a request that is dispatched at an instant begins and ends, or [`NEVER`].
    serves_ns: &'a dyn Fn(u64) -> (u64, u64),
    /// How those end that do.
    outcome: Outcome,
}

const NEVER: u64 = u64::MAX;

/// 200 requests a second for five seconds, a constant 20 ms each.
fn world() -> World<'static> {
    World {
        requests: 1_000,
        dispatch_ns: 0,
        serves_ns: &|sent_ns| (sent_ns, sent_ns + 20 * MS),
        outcome: Outcome::Completed,
    }
}

impl World<'_> {
    fn account(&self) -> Account {
        let duration = Duration::from_secs(5);
        let arrivals = OpenArrivals { rate_per_s: 200.0, spacing: Spacing::Constant, seed: 1, duration };
        let starts_ns: Vec<u64> = arrivals.starts_ns().take(self.requests).collect();
        let (mut free_ns, job) = (0, job());
        let mut all_sent_ns = Vec::new();
        let stamps: Vec<Stamps> = (0_u64..)
            .zip(&starts_ns)
            .map(|(number, intended_ns)| {
                let sent_ns = free_ns.max(*intended_ns);
                free_ns = sent_ns + self.dispatch_ns;
                all_sent_ns.push(START_NS + sent_ns);
                let (started_ns, ended_ns) = (self.serves_ns)(sent_ns);
                Stamps {
                    outcome: if ended_ns == NEVER { Outcome::Pending } else { self.outcome },
                    started_ns: if started_ns == NEVER { 0 } else { START_NS + started_ns },
                    ended_ns: START_NS.saturating_add(ended_ns),
                    checksum: job.plan.checksum(job.seed + number),
                }
            })
            .collect();
        let instants = Instants { start_ns: START_NS, now_ns: START_NS + 10 * S, starts_ns: &starts_ns };
        let mut account = settle(stamps.into_iter(), all_sent_ns.into_iter(), &job, &instants);
        account.schedule_ns = nanoseconds(arrivals.length());
        account.dispatch_elapsed_ns = free_ns;
        assert!(account.is_balanced(), "{account:?}");
        for rate in [account.offered_rate_per_s(), account.sent_rate_per_s()] {
            assert!(rate.is_some_and(f64::is_finite));
        }
        account
    }
}

/// Asserts a quantile, to the histogram's precision of a thousandth.
#[track_caller]
fn assert_quantile(histogram: &Histogram, quantile: f64, expected_ns: u64) {
    let ns = histogram.quantile_ns(quantile).expect("a sample");
    assert!(ns.abs_diff(expected_ns) <= expected_ns / 1_000, "{ns} at {quantile}, not {expected_ns}");
}

fn failing(account: &Account) -> Vec<&'static str> {
    honesty(account, None).iter().filter(|check| !check.ok).map(|check| check.name).collect()
}

#[test]
fn the_peak_is_that_of_overlapping_intervals() {
    assert_eq!(peak(vec![]), 0);
    assert_eq!(peak(vec![(0, 1), (10, -1), (10, 1), (20, -1)]), 1);
    assert_eq!(peak(vec![(0, 1), (5, 1), (10, -1), (10, -1), (7, 1), (8, -1)]), 3);
}

#[test]
fn a_runtime_of_constant_20_ms_is_measured_as_one() {
    let account = world().account();
    assert_eq!((account.completed, account.checksums_wrong), (1_000, 0));
    for quantile in [0.0, 0.5, 0.99, 0.999, 1.0] {
        assert_quantile(&account.service, quantile, 20 * MS);
    }
    assert_eq!(account.response, account.service);
    assert_eq!((account.send_lag.max_ns(), account.queue_wait.max_ns()), (Some(0), Some(0)));
    // One every 5 ms that stays 20 ms: four at one time, and 1,000 x 20 ms in all.
    assert_eq!((account.in_flight_peak, account.in_flight_integral_ns), (4, 20 * S));
    assert_eq!((account.service_min_ns, account.elapsed_ns), (20 * MS, 4_995 * MS + 20 * MS));
    assert_eq!(failing(&account), [""; 0]);
}

#[test]
fn one_stall_of_a_second_shows_in_the_response_and_not_in_the_median() {
    // Nothing begins in the third second: what is dispatched there waits in the model's queue until its end.
    let stall = |sent_ns: u64| {
        let started_ns = if (2 * S..3 * S).contains(&sent_ns) { 3 * S } else { sent_ns };
        (started_ns, started_ns + 20 * MS)
    };
    let account = World { serves_ns: &stall, ..world() }.account();
    assert_quantile(&account.service, 1.0, 20 * MS);
    assert_quantile(&account.response, 0.5, 20 * MS);
    // 200 requests wait for up to a second: a tenth of all waits half a second.
    assert_quantile(&account.response, 0.9, 520 * MS);
    assert!(account.response.quantile_ns(0.99) >= Some(500 * MS), "{account:?}");
    assert_quantile(&account.queue_wait, 1.0, S);
    assert_eq!(failing(&account), [""; 0], "the stall is the runtime's");
}

#[test]
fn a_saturated_generator_is_caught_and_a_saturated_runtime_is_not_blamed_on_it() {
    let late = World { dispatch_ns: 6 * MS, ..world() }.account();
    assert_eq!(failing(&late), ["sent_rate_per_s", "send_lag_p50_ns", "send_lag_p99_ns"]);
    assert!(generator_limited(&honesty(&late, None)).is_some());

    // One worker of 20 ms can do 50 a second of the 200.
    let free_ns = std::cell::Cell::new(0);
    let one_worker = |sent_ns: u64| {
        let started_ns = free_ns.get().max(sent_ns);
        free_ns.set(started_ns + 20 * MS);
        (started_ns, started_ns + 20 * MS)
    };
    let saturated = World { serves_ns: &one_worker, ..world() }.account();
    // Request i begins at i x 20 ms and was due at i x 5 ms.
    assert_quantile(&saturated.response, 1.0, 999 * 15 * MS + 20 * MS);
    assert_eq!((saturated.in_flight_peak, saturated.elapsed_ns), (1, 20 * S));
    assert_eq!((honesty(&saturated, None).len(), failing(&saturated)), (3, vec![]));
}

#[test]
fn what_has_not_ended_is_at_least_this_long() {
    let hangs = World { serves_ns: &|sent_ns| (sent_ns, NEVER), ..world() }.account();
    assert_eq!((hangs.unfinished, hangs.completed, hangs.service.count()), (1_000, 0, 0));
    assert_quantile(&hangs.response, 1.0, 10 * S);
    assert_quantile(&hangs.response, 0.0, 10 * S - 4_995 * MS);
    // All of them are in service, from 0, 5, 10, ... ms to the end.
    assert_eq!((hangs.in_flight_peak, hangs.in_flight_integral_ns), (1_000, 10_000 * S - 999 * 500 * 5 * MS));
    assert_eq!((hangs.queue_wait.max_ns(), hangs.send_lag.count()), (Some(0), 1_000));
}

#[test]
fn what_has_not_begun_waits_at_least_this_long_and_is_not_in_flight() {
    let queues = World { serves_ns: &|_| (NEVER, NEVER), ..world() }.account();
    assert_eq!((queues.unfinished, queues.in_flight_peak, queues.in_flight_integral_ns), (1_000, 0, 0));
    assert_quantile(&queues.queue_wait, 1.0, 10 * S);
    assert_eq!((queues.response, queues.send_lag.count()), (queues.queue_wait, 1_000));
}

#[test]
fn those_that_fail_were_in_flight_too() {
    for outcome in [Outcome::Panicked, Outcome::Killed, Outcome::Lost] {
        let failing = World { outcome, ..world() }.account();
        let failed = failing.panicked + failing.killed + failing.lost;
        assert_eq!((failing.offered, failed, failing.response.count()), (1_000, 1_000, 0));
        assert_eq!((failing.in_flight_peak, failing.in_flight_integral_ns), (4, 20 * S));
    }
}

#[test]
fn no_request_and_one_request_have_no_undefined_figure() {
    let none = World { requests: 0, ..world() }.account();
    assert_eq!((none.offered, none.response.mean_ns(), none.response.quantile_ns(0.99)), (0, None, None));
    assert_eq!((none.elapsed_ns, none.service_min_ns, none.in_flight_peak), (0, 0, 0));
    let one = World { requests: 1, ..world() }.account();
    assert_eq!((one.completed, one.in_flight_peak), (1, 1));
    for quantile in [0.0, 0.5, 0.999, 1.0] {
        assert_quantile(&one.response, quantile, 20 * MS);
    }
    let checks = [honesty(&none, None), honesty(&one, None)].concat();
    assert!(checks.iter().all(|check| check.value.is_finite() && check.limit.is_finite()));
}
