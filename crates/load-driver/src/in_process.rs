//! Offers requests to a runtime in the same process, each at its intended start, and accounts for
//! every one of them afterwards.
//!
//! This is an open loop: the schedule does not wait for the runtime, and response times count from intended starts.
//! A request that is due while the last one is still being dispatched is dispatched late, and its send lag says so.

mod stages;

use std::time::{Duration, Instant};

use execution_model::{HandlerRuntime, Job, Ledger, Outcome, Refused, Request, Stamps};
use workload::arrivals::{Pattern, Schedule};

use crate::pace;
use crate::recorder::Histogram;

pub use stages::{Board, StagedOffer, offer_in_stages};

/// What is offered, by any schedule.
#[derive(Clone, Debug)]
pub struct Offer<S = Pattern> {
    /// What request 0 does; request i has the seed `job.seed + i`.
    pub job: Job,
    /// When each request begins.
    pub arrivals: S,
    /// When to give up on requests that have not ended, from when the last one was dispatched.
    pub time_limit: Duration,
}

/// What came of the requests, each counted once.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Requests of the schedule. Each is in one of the counts that follow.
    pub offered: u64,
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
    /// The time in which the schedule has all its starts, in nanoseconds; 0 for a burst.
    pub schedule_ns: u64,
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
    /// Intended start to end, of completed requests. Those that had not ended at the time limit are in it as "at least
    /// this long".
    pub response: Histogram,
    /// Begin of service to end.
    pub service: Histogram,
    /// Dispatch to begin of service.
    pub queue_wait: Histogram,
    /// Intended start to dispatch.
    pub send_lag: Histogram,
}

impl Account {
    /// Requests that were handed back, for all reasons.
    #[must_use]
    pub fn rejected_total(&self) -> u64 {
        self.rejected.values().sum()
    }

    /// Whether each request is in exactly one count: offered = completed + rejected + panicked + killed + lost + unfinished.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        let failed = self.panicked + self.killed + self.lost;
        self.offered == self.completed + self.rejected_total() + failed + self.unfinished
    }

    /// Requests a second that the schedule has; none for a burst.
    #[must_use]
    pub fn offered_rate_per_s(&self) -> Option<f64> {
        self.per_s(self.schedule_ns)
    }

    /// Requests a second at which they were dispatched; none for a burst.
    #[must_use]
    pub fn sent_rate_per_s(&self) -> Option<f64> {
        self.per_s(self.schedule_ns.max(self.dispatch_elapsed_ns))
    }

    fn per_s(&self, elapsed_ns: u64) -> Option<f64> {
        (self.schedule_ns > 0).then(|| self.offered as f64 / elapsed_ns as f64 * 1e9)
    }
}

/// Offers the requests, waits for them, and accounts for them. `watch` is called when the first
/// request is about to start and when the last one has ended, so that the caller can read usage.
pub fn offer<R: HandlerRuntime, S: Schedule>(
    runtime: &R,
    offer: &Offer<S>,
    mut watch: impl FnMut(),
) -> Account {
    let starts_ns: Vec<u64> = offer.arrivals.starts_ns().collect();
    // The ledger lives as long as the process: a request that never ends still points to it.
    let ledger: &'static Ledger = Box::leak(Box::new(Ledger::new(starts_ns.len())));
    let mut refusals = Refusals::default();
    watch();
    let start_ns = since(ledger.epoch());
    dispatch_all(runtime, &offer.job, &starts_ns, ledger, start_ns, &mut refusals);
    let dispatch_elapsed_ns = since(ledger.epoch()) - start_ns;
    ledger.wait_until(Instant::now() + offer.time_limit);
    watch();
    // One instant for all that have not ended, before the others are looked at.
    let now_ns = since(ledger.epoch());
    let mut account = settle(ledger.all_stamps(), &offer.job, &starts_ns, start_ns, now_ns);
    account.offered = u64::try_from(starts_ns.len()).unwrap_or(u64::MAX);
    account.schedule_ns = nanoseconds(offer.arrivals.length());
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
    job: &Job,
    starts_ns: &[u64],
    ledger: &'static Ledger,
    start_ns: u64,
    refusals: &mut Refusals,
) {
    // In a burst nothing is waited for, and no clock is read.
    let paced = starts_ns.last().is_some_and(|&last_ns| last_ns > 0);
    // The pacing clock and the ledger's are the same clock with other origins.
    let origin_ns = pace::monotonic_ns() - since(ledger.epoch());
    for (index, &offset_ns) in starts_ns.iter().enumerate() {
        if paced {
            pace::sleep_until(origin_ns + start_ns + offset_ns);
        }
        dispatch(runtime, job, ledger, index, refusals);
    }
}

fn dispatch<R: HandlerRuntime>(
    runtime: &R,
    job: &Job,
    ledger: &'static Ledger,
    index: usize,
    refusals: &mut Refusals,
) {
    let job = Job { seed: job.seed.wrapping_add(index as u64), ..job.clone() };
    if let Err(refused) = runtime.dispatch(Request::new(job, ledger, index)) {
        refusals.count(refused);
    }
}

/// Reads the stamps when all is over, at `now_ns` on their clock.
fn settle(
    stamps: impl Iterator<Item = Stamps>,
    job: &Job,
    starts_ns: &[u64],
    start_ns: u64,
    now_ns: u64,
) -> Account {
    let mut account = Account::default();
    let mut edges = Vec::with_capacity(2 * starts_ns.len());
    let mut shortest_ns: Option<u64> = None;
    for ((number, stamps), offset_ns) in (0..).zip(stamps).zip(starts_ns) {
        let intended_ns = start_ns + offset_ns;
        match stamps.outcome {
            Outcome::Completed => {
                account.completed += 1;
                let expected = job.plan.checksum(job.seed.wrapping_add(number));
                account.checksums_wrong += u64::from(stamps.checksum != expected);
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
            Outcome::Pending => {
                account.unfinished += 1;
                account.response.record(now_ns.saturating_sub(intended_ns));
            }
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
mod tests;
