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
    /// Requests that were handed to the runtime, counted one by one. Each is in one of the counts that follow.
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
    /// The most requests in service at one time, however they ended, and if they did.
    pub in_flight_peak: u64,
    /// The integral of requests in service over time, those that have not ended among them, in nanoseconds.
    pub in_flight_integral_ns: u64,
    /// The shortest service time, to the nanosecond, which a histogram does not keep; 0 where none completed.
    pub service_min_ns: u64,
    /// Intended start to end, of completed requests. Those that had not ended at the time limit are in it as "at least
    /// this long".
    pub response: Histogram,
    /// Begin of service to end, of completed requests.
    pub service: Histogram,
    /// Dispatch to begin of service. Those that had not begun at the time limit are in it as "at least this long".
    pub queue_wait: Histogram,
    /// Intended start to dispatch, of every request.
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
    let sent_ns = dispatch_all(runtime, &offer.job, &starts_ns, ledger, start_ns, &mut refusals);
    let dispatch_elapsed_ns = since(ledger.epoch()) - start_ns;
    ledger.wait_until(Instant::now() + offer.time_limit);
    watch();
    // One instant for all that have not ended, before the others are looked at.
    let now_ns = since(ledger.epoch());
    let instants = Instants { start_ns, now_ns, starts_ns: &starts_ns };
    let mut account = settle(ledger.all_stamps(), sent_ns.iter().copied(), &offer.job, &instants);
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
) -> Vec<u64> {
    // Nothing is allocated while requests are dispatched.
    let mut sent_ns = Vec::with_capacity(starts_ns.len());
    // In a burst nothing is waited for, and no clock is read.
    let paced = starts_ns.last().is_some_and(|&last_ns| last_ns > 0);
    // The pacing clock and the ledger's are the same clock with other origins.
    let origin_ns = pace::monotonic_ns() - since(ledger.epoch());
    for (index, &offset_ns) in starts_ns.iter().enumerate() {
        if paced {
            pace::sleep_until(origin_ns + start_ns + offset_ns);
        }
        sent_ns.push(dispatch(runtime, job, ledger, index, refusals));
    }
    sent_ns
}

/// Hands one request to the runtime. Returns when, on the ledger's clock.
fn dispatch<R: HandlerRuntime>(
    runtime: &R,
    job: &Job,
    ledger: &'static Ledger,
    index: usize,
    refusals: &mut Refusals,
) -> u64 {
    let job = Job { seed: job.seed.wrapping_add(index as u64), ..job.clone() };
    let sent_ns = since(ledger.epoch());
    if let Err(refused) = runtime.dispatch(Request::new(job, ledger, index)) {
        refusals.count(refused);
    }
    sent_ns
}

/// The instants of a measurement on the ledger's clock.
struct Instants<'a> {
    /// What the intended starts count from.
    start_ns: u64,
    /// When all is over: what has not ended by then is cut.
    now_ns: u64,
    starts_ns: &'a [u64],
}

/// Reads the stamps when all is over; `sent_ns` says when each request was handed to the runtime.
fn settle(
    stamps: impl Iterator<Item = Stamps>,
    sent_ns: impl Iterator<Item = u64>,
    job: &Job,
    instants: &Instants<'_>,
) -> Account {
    let Instants { start_ns, now_ns, starts_ns } = *instants;
    let mut account = Account::default();
    let mut edges = Vec::with_capacity(2 * starts_ns.len());
    let mut shortest_ns: Option<u64> = None;
    for (((number, stamps), offset_ns), sent_ns) in (0..).zip(stamps).zip(starts_ns).zip(sent_ns) {
        let intended_ns = start_ns + offset_ns;
        let pending = stamps.outcome == Outcome::Pending;
        let begun = stamps.started_ns > 0;
        let ended_ns = if pending { now_ns } else { stamps.ended_ns };
        let (response_ns, service_ns) =
            (ended_ns.saturating_sub(intended_ns), ended_ns.saturating_sub(stamps.started_ns));
        account.offered += 1;
        account.send_lag.record(sent_ns.saturating_sub(intended_ns));
        if begun || pending {
            let begun_ns = if begun { stamps.started_ns } else { now_ns };
            account.queue_wait.record(begun_ns.saturating_sub(sent_ns));
        }
        if begun {
            account.in_flight_integral_ns += service_ns;
            edges.push((stamps.started_ns, 1_i64));
            edges.push((ended_ns, -1));
        }
        match stamps.outcome {
            Outcome::Completed => {
                account.completed += 1;
                let expected = job.plan.checksum(job.seed.wrapping_add(number));
                account.checksums_wrong += u64::from(stamps.checksum != expected);
                account.response.record(response_ns);
                account.service.record(service_ns);
                account.elapsed_ns = account.elapsed_ns.max(ended_ns.saturating_sub(start_ns));
                shortest_ns = Some(shortest_ns.map_or(service_ns, |shortest| shortest.min(service_ns)));
            }
            Outcome::Rejected => {}
            Outcome::Panicked => account.panicked += 1,
            Outcome::Killed => account.killed += 1,
            Outcome::Lost => account.lost += 1,
            Outcome::Pending => {
                account.unfinished += 1;
                account.response.record(response_ns);
            }
        }
    }
    account.in_flight_peak = peak(edges);
    account.service_min_ns = shortest_ns.unwrap_or(0);
    account
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
