//! The account of requests dispatched in process: one slot a request, written by whoever carries
//! the request out, read when all is over.
//!
//! Slots instead of shared counters and histograms keep the cost of accounting to two clock reads
//! and a few stores to memory that nobody else writes. Peaks, integrals and percentiles follow from
//! the stamps afterwards.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Instant;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// Not yet.
    Pending,
    /// The plan was carried out.
    Completed,
    /// It was handed back unstarted.
    Rejected,
    /// Its handler panicked.
    Panicked,
    /// Whatever carried it out was killed.
    Killed,
    /// It was dropped without a word: a bug of the runtime.
    Lost,
}

impl Outcome {
    const ALL: [Outcome; 6] = [
        Outcome::Pending,
        Outcome::Completed,
        Outcome::Rejected,
        Outcome::Panicked,
        Outcome::Killed,
        Outcome::Lost,
    ];
}

/// The stamps of one request, in nanoseconds from the ledger's epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// How it ended.
    pub outcome: Outcome,
    /// When its service began; 0 where it did not.
    pub started_ns: u64,
    /// When it ended; 0 where it has not.
    pub ended_ns: u64,
    /// The checksum of its answer.
    pub checksum: u64,
}

/// The account of a fixed number of requests.
#[derive(Debug)]
pub struct Ledger {
    epoch: Instant,
    slots: Box<[Slot]>,
    open: AtomicUsize,
    all_ended: (Mutex<()>, Condvar),
}

/// A cache line of its own, so that requests which end at the same time on two cores do not disturb
/// each other's accounts.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Slot {
    started_ns: AtomicU64,
    ended_ns: AtomicU64,
    checksum: AtomicU64,
    outcome: AtomicU8,
}

impl Ledger {
    /// An account of `requests` requests, all pending, whose memory is already resident.
    #[must_use]
    pub fn new(requests: usize) -> Ledger {
        Ledger {
            epoch: Instant::now(),
            slots: (0..requests).map(|_| Slot::default()).collect(),
            open: AtomicUsize::new(requests),
            all_ended: (Mutex::new(()), Condvar::new()),
        }
    }

    /// The instant that stamps count from.
    #[must_use]
    pub fn epoch(&self) -> Instant {
        self.epoch
    }

    /// What is known of request `index` by now.
    #[must_use]
    pub fn stamps(&self, index: usize) -> Stamps {
        let slot = &self.slots[index];
        // Pairs with the release in `ended`: who sees the outcome sees the stamps.
        let outcome = Outcome::ALL[usize::from(slot.outcome.load(Ordering::Acquire))];
        Stamps {
            outcome,
            started_ns: slot.started_ns.load(Ordering::Relaxed),
            ended_ns: slot.ended_ns.load(Ordering::Relaxed),
            checksum: slot.checksum.load(Ordering::Relaxed),
        }
    }

    /// Every request's stamps, in the order of their indices.
    pub fn all_stamps(&self) -> impl Iterator<Item = Stamps> {
        (0..self.slots.len()).map(|index| self.stamps(index))
    }

    /// Waits until every request has ended or `deadline` has come. Returns how many are still open.
    ///
    /// # Panics
    ///
    /// Never: nothing panics while the lock is held.
    pub fn wait_until(&self, deadline: Instant) -> usize {
        let (lock, condition) = &self.all_ended;
        let mut guard = lock.lock().expect("nothing panics under this lock");
        loop {
            let open = self.open.load(Ordering::Acquire);
            let left = deadline.saturating_duration_since(Instant::now());
            if open == 0 || left.is_zero() {
                return open;
            }
            guard = condition.wait_timeout(guard, left).expect("nothing panics under this lock").0;
        }
    }

    pub(crate) fn started(&self, index: usize) {
        self.slots[index].started_ns.store(self.now_ns(), Ordering::Relaxed);
    }

    pub(crate) fn ended(&self, index: usize, outcome: Outcome, checksum: u64) {
        let slot = &self.slots[index];
        slot.checksum.store(checksum, Ordering::Relaxed);
        slot.ended_ns.store(self.now_ns(), Ordering::Relaxed);
        slot.outcome.store(outcome as u8, Ordering::Release);
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Under the lock, so that a waiter cannot miss it between its look and its sleep.
            let _guard = self.all_ended.0.lock().expect("nothing panics under this lock");
            self.all_ended.1.notify_all();
        }
    }

    /// Rewrites the end of a request that its library dropped because it could not start it.
    pub(crate) fn rejected(&self, index: usize) {
        self.slots[index].outcome.store(Outcome::Rejected as u8, Ordering::Release);
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use workload::{BlockingStrategy, Job, Progress};

    use super::*;
    use crate::request::{RefusedBecause, Request};

    fn ledger(requests: usize) -> &'static Ledger {
        Box::leak(Box::new(Ledger::new(requests)))
    }

    fn request(ledger: &'static Ledger, index: usize) -> Request {
        let job = Job { plan: "".parse().unwrap(), seed: 7, strategy: BlockingStrategy::Inline };
        Request::new(job, ledger, index)
    }

    #[test]
    fn each_way_to_end_is_told_apart() {
        let ledger = ledger(6);
        let (job, ticket) = request(ledger, 0).begin();
        ticket.complete(Progress::new(job.seed).answer());
        drop(request(ledger, 1).refuse(RefusedBecause::QueueFull, "16 of 16"));
        let (_, ticket) = request(ledger, 2).begin();
        assert!(
            crate::catch_unwind(move || {
                let _ticket = ticket;
                panic!("planted")
            })
            .is_err()
        );
        request(ledger, 3).begin().1.fail_killed();
        drop(request(ledger, 4));
        let outcomes: Vec<_> = ledger.all_stamps().map(|stamps| stamps.outcome).collect();
        let expected = [
            Outcome::Completed,
            Outcome::Rejected,
            Outcome::Panicked,
            Outcome::Killed,
            Outcome::Lost,
            Outcome::Pending,
        ];
        assert_eq!(outcomes, expected);
        assert_eq!(ledger.stamps(0).checksum, 7);
        assert_eq!(ledger.wait_until(Instant::now()), 1);
    }

    #[test]
    fn the_last_end_wakes_the_waiter() {
        let ledger = ledger(2);
        let (first, second) = (request(ledger, 0), request(ledger, 1));
        let thread = std::thread::spawn(move || {
            drop(first);
            std::thread::sleep(Duration::from_millis(20));
            drop(second);
        });
        let began = Instant::now();
        assert_eq!(ledger.wait_until(began + Duration::from_secs(10)), 0);
        assert!(began.elapsed() < Duration::from_secs(5));
        thread.join().unwrap();
    }
}
