//! When requests are intended to start, known before the first one does.

/// Evenly spread starts, of which this shard takes every `stride`-th.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    start_ns: u64,
    spread_ns: u64,
    requests: usize,
    next: usize,
    stride: usize,
}

impl Schedule {
    pub(super) fn new(start_ns: u64, spread_ns: u64, requests: usize, first: usize, stride: usize) -> Self {
        Self { start_ns, spread_ns, requests, next: first, stride }
    }

    /// The next intended start, in nanoseconds of the monotonic clock.
    pub(super) fn peek(&self) -> Option<u64> {
        (self.next < self.requests).then(|| {
            let offset_ns = self.next as u128 * u128::from(self.spread_ns) / self.requests as u128;
            // The quotient is below the spread, so it fits.
            self.start_ns.saturating_add(u64::try_from(offset_ns).unwrap_or(u64::MAX))
        })
    }

    /// Goes on to the following start.
    pub(super) fn advance(&mut self) {
        self.next = self.next.saturating_add(self.stride);
    }

    /// When the load ends: no start is later.
    pub(super) fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.spread_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(mut schedule: Schedule) -> Vec<u64> {
        let mut starts = Vec::new();
        while let Some(start) = schedule.peek() {
            starts.push(start);
            schedule.advance();
        }
        starts
    }

    #[test]
    fn starts_are_spread_evenly_from_the_first_on() {
        assert_eq!(starts(Schedule::new(100, 40, 4, 0, 1)), [100, 110, 120, 130]);
        assert_eq!(starts(Schedule::new(100, 0, 3, 0, 1)), [100, 100, 100]);
        assert_eq!(starts(Schedule::new(100, 10, 3, 0, 1)), [100, 103, 106]);
        assert!(starts(Schedule::new(100, 40, 0, 0, 1)).is_empty());
    }

    #[test]
    fn shards_interleave_to_the_whole() {
        let mut merged: Vec<_> =
            (0..3).flat_map(|first| starts(Schedule::new(5, 1_000, 10, first, 3))).collect();
        merged.sort_unstable();
        assert_eq!(merged, starts(Schedule::new(5, 1_000, 10, 0, 1)));
    }

    #[test]
    fn nothing_overflows() {
        let schedule = Schedule::new(u64::MAX, u64::MAX, usize::MAX, usize::MAX - 1, usize::MAX);
        assert_eq!(starts(schedule), [u64::MAX]);
    }
}
