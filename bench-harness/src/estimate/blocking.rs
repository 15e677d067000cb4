//! The blocking experiments: how long a cell takes.

use std::time::Duration;

use prediction::little;
use workload::BlockingStrategy;

use crate::contestant::Contestant;
use crate::experiment::{Beside, Blocker, Keeps, Values};

/// The probes, and where blockers ask for more than there is, the wait for what is left.
pub(super) fn probe(values: &Values, contestant: &Contestant, beside: Option<Beside>) -> Duration {
    let probe = &values.blocking.probe;
    let refuses = |beside: Beside| contestant.refuses(beside.blocker.strategy).is_some();
    if beside.is_some_and(refuses) {
        return Duration::ZERO;
    }
    let inline = |beside: &Beside| beside.blocker.strategy == BlockingStrategy::Inline;
    let is_overload = beside.filter(inline).is_some_and(|beside| {
        let workers = u64::try_from(contestant.place.workers).unwrap_or(u64::MAX);
        let asked = beside.share_percent.saturating_mul(workers);
        contestant.handler_threads.is_some_and(|threads| asked >= threads.saturating_mul(100))
    });
    let left = if is_overload { probe.drain } else { Duration::ZERO };
    values.estimate.process + values.estimate.client + probe.warmup + probe.duration + left
}

pub(super) fn pinning(values: &Values, contestant: &Contestant, blocker: Blocker) -> Duration {
    let pinning = &values.blocking.pinning;
    if contestant.refuses(blocker.strategy).is_some() {
        return Duration::ZERO;
    }
    let workers = u64::try_from(contestant.place.workers).unwrap_or(u64::MAX);
    let threads = match (blocker.keeps, blocker.strategy) {
        // There are as many workers as CPUs where nobody says otherwise.
        (Keeps::Compute, BlockingStrategy::Inline) => {
            Some(contestant.handler_threads.map_or(workers, |threads| threads.min(workers)))
        }
        (Keeps::Compute, _) => Some(workers),
        (Keeps::Block, BlockingStrategy::Inline) => contestant.handler_threads,
        (Keeps::Block, _) => blocker.offload_threads.and_then(|threads| u64::try_from(threads).ok()),
    };
    values.estimate.process + little::burst_bound(pinning.requests, pinning.keep, threads)
}
