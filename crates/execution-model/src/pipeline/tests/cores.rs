//! Cores that are shared evenly by the work on them, on a virtual clock.

use std::time::Duration;

/// Work on cores: each piece has a core to itself where there are enough, and an even share otherwise.
pub(super) struct Cores<T> {
    cores: usize,
    running: Vec<(Duration, T)>,
}

impl<T> Cores<T> {
    pub(super) fn new(cores: usize) -> Cores<T> {
        Cores { cores, running: Vec::new() }
    }

    pub(super) fn begin(&mut self, cost: Duration, work: T) {
        self.running.push((cost, work));
    }

    /// When the next piece ends, if no other begins before.
    pub(super) fn next_end(&self, now: Duration) -> Option<Duration> {
        let left = self.running.iter().map(|(left, _)| *left).min()?;
        let stretched = left.as_nanos() * self.pieces_a_core().0 / self.pieces_a_core().1;
        // A nanosecond more, so that rounding leaves nothing.
        Some(now + Duration::from_nanos(u64::try_from(stretched).expect("it is far below 584 years") + 1))
    }

    /// Lets time pass, and gives what has ended.
    pub(super) fn advance(&mut self, time: Duration) -> Vec<T> {
        let (pieces, cores) = self.pieces_a_core();
        let done = time.as_nanos() * cores / pieces;
        let done = Duration::from_nanos(u64::try_from(done).expect("it is far below 584 years"));
        let mut ended = Vec::new();
        for (left, work) in std::mem::take(&mut self.running) {
            match left.checked_sub(done).filter(|left| *left > Duration::from_nanos(1)) {
                Some(left) => self.running.push((left, work)),
                None => ended.push(work),
            }
        }
        ended
    }

    fn pieces_a_core(&self) -> (u128, u128) {
        let pieces = self.running.len().max(self.cores);
        (pieces as u128, self.cores as u128)
    }
}
