//! Offers requests to a runtime in the same process, each at its intended start, and accounts for
//! every one of them afterwards.

use std::time::{Duration, Instant};

use execution_model::{HandlerRuntime, Job, Ledger, Outcome, Refused, Request, Stamps};
use workload::arrivals::Arrivals;

use crate::pace;
use crate::recorder::Histogram;

/// What is offered.
#[derive(Clone, Debug)]
pub struct Offer {
    /// What request 0 does; request i has the seed `job.seed + i`.
    pub job: Job,
    /// When each request begins.
    pub arrivals: Arrivals,
    /// When to give up on requests that have not ended, from the last intended start.
    pub time_limit: Duration,
}

/// What came of the requests, each counted once.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Requests that carried out their plan.
    pub completed: u64,
    /// Requests that were handed back, by reason.
    pub rejected: std::collections::BTreeMap<&'static str, u64>,
    /// What the library said when it handed the first one back.
    pub rejection_example: Option<String>,
    /// Requests whose handler panicked.
    pub panicked: u64,
    /// Requests whose process was killed.
    pub killed: u64,
    /// Requests that were dropped without a word.
    pub lost: u64,
    /// Requests that had not ended at the time limit.
    pub unfinished: u64,
    /// Completed requests with a wrong checksum.
    pub checksums_wrong: u64,
    /// From the first intended start to the last end of a completed request, in nanoseconds.
    pub elapsed_ns: u64,
    /// From the first intended start until the last dispatch had returned, in nanoseconds.
    pub dispatch_elapsed_ns: u64,
    /// The most requests in service at one time.
    pub in_flight_peak: u64,
    /// The sum of the service times, in nanoseconds.
    pub in_flight_integral_ns: u64,
    /// The shortest service time, to the nanosecond, which a histogram does not keep; 0 where none completed.
    pub service_min_ns: u64,
    /// Intended start to end.
    pub response: Histogram,
    /// Begin of service to end.
    pub service: Histogram,
    /// Dispatch to begin of service.
    pub queue_wait: Histogram,
    /// Intended start to dispatch.
    pub send_lag: Histogram,
}

/// Offers the requests, waits for them, and accounts for them. `watch` is called when the first
/// request is about to start and when the last one has ended, so that the caller can read usage.
pub fn offer<R: HandlerRuntime>(runtime: &R, offer: &Offer, mut watch: impl FnMut()) -> Account {
    let requests = usize::try_from(offer.arrivals.requests).expect("the requests fit into memory");
    // The ledger lives as long as the process: a request that never ends still points to it.
    let ledger: &'static Ledger = Box::leak(Box::new(Ledger::new(requests)));
    let mut refusals = Refusals::default();
    watch();
    let start_ns = since(ledger.epoch());
    dispatch_all(runtime, offer, ledger, start_ns, &mut refusals);
    let dispatch_elapsed_ns = since(ledger.epoch()) - start_ns;
    ledger.wait_until(Instant::now() + offer.time_limit);
    watch();
    let mut account = settle(ledger, offer, start_ns);
    account.dispatch_elapsed_ns = dispatch_elapsed_ns;
    account.rejected = refusals.by_reason;
    account.rejection_example = refusals.example;
    account
}

#[derive(Default)]
struct Refusals {
    by_reason: std::collections::BTreeMap<&'static str, u64>,
    example: Option<String>,
}

impl Refusals {
    fn count(&mut self, refused: Refused) {
        *self.by_reason.entry(refused.because.name()).or_default() += 1;
        self.example.get_or_insert(refused.detail);
    }
}

fn dispatch_all<R: HandlerRuntime>(
    runtime: &R,
    offer: &Offer,
    ledger: &'static Ledger,
    start_ns: u64,
    refusals: &mut Refusals,
) {
    let paced = !offer.arrivals.spread.is_zero();
    // The pacing clock and the ledger's are the same clock with other origins.
    let origin_ns = pace::monotonic_ns() - since(ledger.epoch());
    for (index, number) in (0..offer.arrivals.requests).enumerate() {
        if paced {
            pace::sleep_until(origin_ns + start_ns + nanoseconds(offer.arrivals.start(number)));
        }
        let job = Job { seed: offer.job.seed.wrapping_add(number), ..offer.job.clone() };
        if let Err(refused) = runtime.dispatch(Request::new(job, ledger, index)) {
            refusals.count(refused);
        }
    }
}

/// Reads the ledger when all is over.
fn settle(ledger: &Ledger, offer: &Offer, start_ns: u64) -> Account {
    let mut account = Account::default();
    let mut edges = Vec::with_capacity(2 * ledger.all_stamps().count());
    let mut shortest_ns: Option<u64> = None;
    for (number, stamps) in (0..).zip(ledger.all_stamps()) {
        match stamps.outcome {
            Outcome::Completed => {
                account.completed += 1;
                let expected = offer.job.plan.checksum(offer.job.seed.wrapping_add(number));
                account.checksums_wrong += u64::from(stamps.checksum != expected);
                let intended_ns = start_ns + nanoseconds(offer.arrivals.start(number));
                record(&mut account, &stamps, intended_ns);
                account.elapsed_ns = account.elapsed_ns.max(stamps.ended_ns.saturating_sub(start_ns));
                let service_ns = stamps.ended_ns.saturating_sub(stamps.started_ns);
                shortest_ns = Some(shortest_ns.map_or(service_ns, |shortest| shortest.min(service_ns)));
                edges.push((stamps.started_ns, 1_i64));
                edges.push((stamps.ended_ns, -1));
            }
            Outcome::Rejected => {}
            Outcome::Panicked => account.panicked += 1,
            Outcome::Killed => account.killed += 1,
            Outcome::Lost => account.lost += 1,
            Outcome::Pending => account.unfinished += 1,
        }
    }
    account.in_flight_peak = peak(edges);
    account.service_min_ns = shortest_ns.unwrap_or(0);
    account
}

fn record(account: &mut Account, stamps: &Stamps, intended_ns: u64) {
    let service_ns = stamps.ended_ns.saturating_sub(stamps.started_ns);
    account.in_flight_integral_ns += service_ns;
    account.response.record(stamps.ended_ns.saturating_sub(intended_ns));
    account.service.record(service_ns);
    account.queue_wait.record(stamps.started_ns.saturating_sub(stamps.dispatched_ns));
    account.send_lag.record(stamps.dispatched_ns.saturating_sub(intended_ns));
}

/// The most intervals open at one time, from their edges. An end and a begin at the same nanosecond
/// do not overlap.
fn peak(mut edges: Vec<(u64, i64)>) -> u64 {
    edges.sort_unstable();
    let mut open = 0;
    let mut most = 0;
    for (_, change) in edges {
        open += change;
        most = most.max(open);
    }
    u64::try_from(most).expect("the most open is at least 0")
}

fn since(epoch: Instant) -> u64 {
    nanoseconds(epoch.elapsed())
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_that_of_overlapping_intervals() {
        assert_eq!(peak(vec![]), 0);
        assert_eq!(peak(vec![(0, 1), (10, -1), (10, 1), (20, -1)]), 1);
        assert_eq!(peak(vec![(0, 1), (5, 1), (10, -1), (10, -1), (7, 1), (8, -1)]), 3);
    }
}
