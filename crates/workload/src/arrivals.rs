//! When requests begin: intended starts as offsets from the start of a measurement.

use std::time::Duration;

/// A schedule of intended starts, independent of how the system under test keeps up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// How many requests there are.
    pub requests: u64,
    /// The time over which their starts are spread evenly. Zero is a burst.
    pub spread: Duration,
}

impl Arrivals {
    /// The intended start of request `index`, from the start of the measurement:
    /// `index * spread / requests`, without the drift that adding up a rounded gap would have.
    #[must_use]
    pub fn start(&self, index: u64) -> Duration {
        let spread_ns = self.spread.as_nanos();
        let offset_ns = u128::from(index) * spread_ns / u128::from(self.requests.max(1));
        Duration::from_nanos(u64::try_from(offset_ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_starts_at_once() {
        let burst = Arrivals { requests: 10, spread: Duration::ZERO };
        assert!((0..10).all(|index| burst.start(index) == Duration::ZERO));
    }

    #[test]
    fn a_spread_is_even_and_does_not_drift() {
        let spread = Arrivals { requests: 3, spread: Duration::from_nanos(10) };
        let starts: Vec<_> = (0..3).map(|index| spread.start(index).as_nanos()).collect();
        assert_eq!(starts, [0, 3, 6]);
        let million = Arrivals { requests: 1_000_000, spread: Duration::from_secs(1) };
        assert_eq!(million.start(999_999), Duration::from_nanos(999_999_000));
        let none = Arrivals { requests: 0, spread: Duration::from_secs(1) };
        assert_eq!(none.start(0), Duration::ZERO);
    }
}
