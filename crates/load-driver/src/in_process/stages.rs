//! Requests in stages: each stage is a burst on top of those before it, made when somebody calls for it, so that the
//! process can be looked at while a known number of requests wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use execution_model::{HandlerRuntime, Job, Ledger, Outcome};
use workload::RequestCounts;

use super::{Account, Instants, Refusals, dispatch, settle, since};

/// What is offered, in stages.
#[derive(Clone, Debug)]
pub struct StagedOffer {
    /// What request 0 does; request i has the seed `job.seed + i`.
    pub job: Job,
    /// How many requests each stage adds.
    pub stages: Vec<u64>,
    /// When to give up on requests that have not ended, from the call after the last stage.
    pub time_limit: Duration,
}

/// Where the requests of a [`StagedOffer`] stand, for another thread to look at. It lives as long as the process: a
/// request that never ends still points to it.
#[derive(Debug)]
pub struct Board {
    ledger: Ledger,
    /// When each request was handed to the runtime.
    sent_ns: Box<[AtomicU64]>,
    offered: AtomicU64,
}

impl Board {
    /// A board for all requests of all stages, whose memory is already resident: what a stage adds to the process is
    /// the runtime's.
    #[must_use]
    pub fn new(offer: &StagedOffer) -> &'static Board {
        let requests = usize::try_from(offer.stages.iter().sum::<u64>()).unwrap_or(usize::MAX);
        Box::leak(Box::new(Board {
            ledger: Ledger::new(requests),
            // No zeros, which would be memory that is not there before it is written.
            sent_ns: (0..requests).map(|_| AtomicU64::new(u64::MAX)).collect(),
            offered: AtomicU64::new(0),
        }))
    }

    /// Where the requests are now. It reads every stamp, and so takes some time, and no memory.
    #[must_use]
    pub fn counts(&self) -> RequestCounts {
        let mut counts =
            RequestCounts { offered: self.offered.load(Ordering::Acquire), ..RequestCounts::default() };
        for stamps in self.ledger.all_stamps() {
            if stamps.outcome != Outcome::Pending {
                counts.ended += 1;
            } else if stamps.started_ns > 0 {
                counts.in_service += 1;
            }
        }
        counts
    }
}

/// Offers the requests of each stage when `call` returns, and, when it returns once more, waits for all of them and
/// accounts for them. A `call` that returns false ends the stages early. `watch` is called when the first request is
/// about to start and when the last one has ended.
pub fn offer_in_stages<R: HandlerRuntime>(
    runtime: &R,
    offer: &StagedOffer,
    board: &'static Board,
    mut call: impl FnMut() -> bool,
    mut watch: impl FnMut(),
) -> Account {
    let ledger = &board.ledger;
    let mut refusals = Refusals::default();
    // Those of whole stages: those of requests would be memory that grows while somebody looks.
    let mut begun_ns = Vec::with_capacity(offer.stages.len());
    let (mut offered, mut dispatch_elapsed_ns) = (0, 0);
    watch();
    let start_ns = since(ledger.epoch());
    for &requests in &offer.stages {
        if !call() {
            break;
        }
        begun_ns.push(since(ledger.epoch()) - start_ns);
        for _ in 0..requests {
            let sent_ns = dispatch(runtime, &offer.job, ledger, offered, &mut refusals);
            board.sent_ns[offered].store(sent_ns, Ordering::Relaxed);
            offered += 1;
            board.offered.store(offered as u64, Ordering::Release);
        }
        dispatch_elapsed_ns = since(ledger.epoch()) - start_ns;
    }
    if call() {
        ledger.wait_until(Instant::now() + offer.time_limit);
    }
    watch();
    let now_ns = since(ledger.epoch());
    let starts_ns: Vec<u64> = offer
        .stages
        .iter()
        .zip(begun_ns)
        .flat_map(|(requests, begun_ns)| (0..*requests).map(move |_| begun_ns))
        .collect();
    let instants = Instants { start_ns, now_ns, starts_ns: &starts_ns };
    let sent_ns = board.sent_ns[..offered].iter().map(|sent_ns| sent_ns.load(Ordering::Relaxed));
    let mut account = settle(ledger.all_stamps(), sent_ns, &offer.job, &instants);
    account.dispatch_elapsed_ns = dispatch_elapsed_ns;
    account.rejected = refusals.by_reason;
    account.rejection_example = refusals.example;
    account
}
