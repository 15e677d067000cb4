//! What is seen of a cell from outside while requests arrive and wait, also where the cell fails.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use cell_control::CellProcess;

use super::{Bench, GLANCE, after};
use crate::limit::Observed;
use crate::sample::{self, AcceptQueues, CpuAccount, CpuUse, Sample};

/// What is looked at, and when.
#[derive(Debug)]
pub(super) struct Watched<'a> {
    pub(super) cell: &'a CellProcess,
    pub(super) listen: Option<SocketAddr>,
    pub(super) clients: &'a [u32],
    /// When requests begin to arrive.
    pub(super) begin: Instant,
    /// When all requests should be waiting.
    pub(super) all_wait: Instant,
}

/// What was seen.
#[derive(Clone, Debug)]
pub(super) struct Glimpse {
    queues_before: AcceptQueues,
    oom_kills_before: Option<u64>,
    /// At the instant when all requests should be waiting.
    sample: Option<Sample>,
    /// The most threads before that.
    threads_last: Option<u64>,
    /// The most connections that waited to be accepted by this runner.
    accept_queue_peak: Option<u64>,
    /// While requests arrived.
    cpu: Option<CpuUse>,
}

/// How many of `requests`, which arrive within `spread`, arrive between two looks.
pub(super) fn arrivals_unseen(requests: u64, spread: Duration) -> u64 {
    let all = u128::from(requests) * GLANCE.as_nanos() / spread.as_nanos().max(1);
    u64::try_from(all).unwrap_or(u64::MAX).min(requests)
}

impl Glimpse {
    /// Begins before the runner does, whose end may be all that is seen.
    pub(super) fn begin() -> Glimpse {
        Glimpse {
            queues_before: AcceptQueues::read(),
            oom_kills_before: sample::oom_kills(),
            sample: None,
            threads_last: None,
            accept_queue_peak: None,
            cpu: None,
        }
    }

    /// Counts what the runner has and uses until all requests should be waiting, and takes the sample then.
    pub(super) fn look(&mut self, bench: &Bench, watched: &Watched<'_>) {
        let runner = watched.cell.pid();
        let cpu =
            || CpuAccount::read(&sample::members(runner), watched.cell.control_group(), watched.clients);
        bench.interrupt.sleep_until(watched.begin);
        let before = cpu();
        while Instant::now() < watched.all_wait
            && !bench.interrupt.is_raised()
            && watched.cell.is_running()
            && watched.clients.iter().all(|client| sample::is_running(*client))
        {
            // A zombie has no thread, and keeps what was seen of it before.
            self.threads_last = self.threads_last.max(sample::threads(runner));
            let port = watched.listen.map(|listen| listen.port());
            self.accept_queue_peak =
                self.accept_queue_peak.max(port.and_then(sample::waiting_to_be_accepted));
            bench.interrupt.sleep_until(watched.all_wait.min(after(Instant::now(), GLANCE)));
        }
        self.cpu = cpu().since(&before);
        self.sample = Some(sample::group(runner)).filter(|sample| sample.threads > 0);
    }

    /// Says what was seen, when the cell has ended.
    pub(super) fn tell(self, observed: &mut Observed) {
        observed.accept_queue_overflows = AcceptQueues::read().turned_away_since(self.queues_before);
        observed.accept_queue_peak = self.accept_queue_peak;
        let kills = sample::oom_kills().zip(self.oom_kills_before);
        observed.oom_kills = kills.map(|(now, before)| now.saturating_sub(before));
        observed.sample = self.sample;
        observed.threads_last = self.threads_last;
        observed.cpu = self.cpu;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_between_two_looks_is_a_share_of_the_spread() {
        assert_eq!(arrivals_unseen(1_000, Duration::from_secs(1)), 20);
        assert_eq!(arrivals_unseen(1_000, Duration::from_millis(10)), 1_000);
        assert_eq!(arrivals_unseen(1_000, Duration::ZERO), 1_000);
    }
}
