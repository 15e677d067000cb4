//! How a load went over time: sums at evenly spaced instants, so that any part of the run can be held against what
//! somebody else counted in the same part.

use serde::{Deserialize, Serialize};

/// Points of a closed or an open loop from its start to its end, without the drain.
const POINTS_OF_A_LOAD: u64 = 1_000;
/// The most points, those of the drain among them.
const POINTS_MAX: usize = 4_096;

/// Sums from the start of a load, of all requests, whichever of them belong to the window. Sum i is as of
/// `start_monotonic_ns + i * tick_ns`; behind the last one nothing changes any more. Empty for a load that is neither a
/// closed nor an open loop.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// The start of the load, its warm-up included, on `CLOCK_MONOTONIC`, in nanoseconds.
    pub start_monotonic_ns: u64,
    /// From one sum to the next, in nanoseconds.
    pub tick_ns: u64,
    /// Requests completed.
    pub completed: Vec<u64>,
    /// The integral of the number of requests in flight, in request-nanoseconds.
    pub in_flight_ns: Vec<u64>,
    /// The integral of the number of requests that wait for a connection, in request-nanoseconds.
    pub waiting_ns: Vec<u64>,
    /// The run went on behind the last point: a drain that was longer than there is room for.
    pub is_cut: bool,
}

/// What came to pass between two instants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// From the one to the other, in nanoseconds.
    pub elapsed_ns: u64,
    /// Requests completed.
    pub completed: f64,
    /// The integral of the number of requests in flight, in request-nanoseconds.
    pub in_flight_ns: f64,
    /// The integral of the number of requests that wait for a connection, in request-nanoseconds.
    pub waiting_ns: f64,
}

impl Stretch {
    /// The mean number of requests that are in flight or wait for a connection; none of no time.
    #[must_use]
    pub fn in_system_mean(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| (self.in_flight_ns + self.waiting_ns) / self.elapsed_ns as f64)
    }
}

impl Timeline {
    /// The timeline of a load that starts at an instant and takes some time, of which nothing has passed.
    pub(super) fn new(start_ns: u64, length_ns: u64) -> Timeline {
        let room = || Vec::with_capacity(POINTS_MAX);
        Timeline {
            start_monotonic_ns: start_ns,
            tick_ns: length_ns.div_ceil(POINTS_OF_A_LOAD).max(1),
            completed: room(),
            in_flight_ns: room(),
            waiting_ns: room(),
            is_cut: false,
        }
    }

    /// When the next point is due; never where there is no timeline, or no room.
    pub(super) fn next_ns(&self) -> u64 {
        match self.completed.len() {
            _ if self.tick_ns == 0 => u64::MAX,
            POINTS_MAX.. => u64::MAX,
            points => self.start_monotonic_ns.saturating_add(self.tick_ns.saturating_mul(points as u64)),
        }
    }

    /// Adds a point.
    pub(super) fn push(&mut self, completed: u64, in_flight_ns: u64, waiting_ns: u64) {
        self.completed.push(completed);
        self.in_flight_ns.push(in_flight_ns);
        self.waiting_ns.push(waiting_ns);
    }

    /// What came to pass from one instant of `CLOCK_MONOTONIC` to a later one, to a tick's part of what changed in that
    /// tick. None where the load had not started by the first instant, or where the second is not covered.
    #[must_use]
    pub fn between(&self, from_ns: u64, to_ns: u64) -> Option<Stretch> {
        let elapsed_ns = to_ns.checked_sub(from_ns)?;
        let grown = |sums: &[u64]| Some(self.at(sums, to_ns)? - self.at(sums, from_ns)?);
        Some(Stretch {
            elapsed_ns,
            completed: grown(&self.completed)?,
            in_flight_ns: grown(&self.in_flight_ns)?,
            waiting_ns: grown(&self.waiting_ns)?,
        })
    }

    /// A sum at an instant, on the line between the two points beside it.
    fn at(&self, sums: &[u64], at_ns: u64) -> Option<f64> {
        let offset_ns = at_ns.checked_sub(self.start_monotonic_ns)?;
        let point = usize::try_from(offset_ns.checked_div(self.tick_ns)?).ok()?;
        let (Some(&before), Some(&after)) = (sums.get(point), sums.get(point + 1)) else {
            return sums.last().filter(|_| !self.is_cut).map(|&last| last as f64);
        };
        let share = (offset_ns % self.tick_ns) as f64 / self.tick_ns as f64;
        Some(before as f64 + (after - before) as f64 * share)
    }

    /// Adds another shard's. Those of shards that did not start together add up to nothing that could be told.
    pub(super) fn merge(&mut self, other: &Timeline) {
        if (self.start_monotonic_ns, self.tick_ns) != (other.start_monotonic_ns, other.tick_ns) {
            *self = Timeline::default();
            return;
        }
        add(&mut self.completed, &other.completed);
        add(&mut self.in_flight_ns, &other.in_flight_ns);
        add(&mut self.waiting_ns, &other.waiting_ns);
        self.is_cut |= other.is_cut;
    }
}

/// Adds point by point; behind its last one a sum stays as it is.
fn add(sums: &mut Vec<u64>, others: &[u64]) {
    let last = sums.last().copied().unwrap_or(0);
    sums.resize(sums.len().max(others.len()), last);
    let other_last = others.last().copied().unwrap_or(0);
    let others = others.iter().copied().chain(std::iter::repeat(other_last));
    sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One request in flight from the first to the third tick, which then completes.
    fn timeline() -> Timeline {
        let mut timeline = Timeline::new(500, 10_000);
        assert_eq!((timeline.tick_ns, timeline.next_ns()), (10, 500));
        for (completed, in_flight_ns) in [(0, 0), (0, 0), (0, 10), (1, 20), (1, 20)] {
            timeline.push(completed, in_flight_ns, 2 * in_flight_ns);
        }
        assert_eq!(timeline.next_ns(), 550);
        timeline
    }

    #[test]
    fn between_points_is_a_straight_line() {
        let whole = timeline().between(500, 540).expect("covered");
        let expected = Stretch { elapsed_ns: 40, completed: 1.0, in_flight_ns: 20.0, waiting_ns: 40.0 };
        assert_eq!((whole, whole.in_system_mean()), (expected, Some(1.5)));
        let part = timeline().between(515, 525).expect("covered");
        assert_eq!((part.completed, part.in_flight_ns), (0.5, 10.0));
        assert_eq!(timeline().between(520, 520).expect("covered").in_system_mean(), None);
    }

    #[test]
    fn what_is_not_covered_is_not_told() {
        assert_eq!(timeline().between(499, 520), None);
        assert_eq!(timeline().between(520, 519), None);
        // Behind the end nothing changes, unless it is not the end.
        assert_eq!(timeline().between(500, 9_000).map(|all| all.in_flight_ns), Some(20.0));
        let cut = Timeline { is_cut: true, ..timeline() };
        assert_eq!((cut.between(500, 9_000), cut.between(500, 539).is_some()), (None, true));
        assert_eq!(Timeline::default().between(0, 1), None);
    }

    #[test]
    fn shards_add_up_where_they_started_together() {
        let mut sum = timeline();
        let mut longer = timeline();
        longer.push(2, 50, 0);
        sum.merge(&longer);
        let all = sum.between(500, 550).expect("covered");
        assert_eq!((all.completed, all.in_flight_ns), (3.0, 70.0));
        let mut other = timeline();
        other.merge(&Timeline { start_monotonic_ns: 501, ..timeline() });
        assert_eq!(other, Timeline::default());
    }

    #[test]
    fn there_is_room_for_so_many_points_and_no_more() {
        let mut timeline = Timeline::new(0, 1_000);
        (0..POINTS_MAX).for_each(|_| timeline.push(0, 0, 0));
        assert_eq!(timeline.next_ns(), u64::MAX);
        assert_eq!(Timeline::default().next_ns(), u64::MAX);
    }
}
