//! Intervals, and the one of a median that order statistics give.

use crate::error::finite;
use crate::{Binomial, Level, Sample, StatisticsError};

/// Two ends, and the probability with which they have the true figure between them. All three are finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    low: f64,
    high: f64,
    coverage: f64,
}

impl Interval {
    /// The interval between two numbers, in whichever order they come.
    pub(crate) fn between(a: f64, b: f64, coverage: f64) -> Result<Interval, StatisticsError> {
        let (a, b) = (finite(a)?, finite(b)?);
        Ok(Interval { low: a.min(b), high: a.max(b), coverage })
    }

    /// The lower end.
    #[must_use]
    pub const fn low(self) -> f64 {
        self.low
    }

    /// The upper end.
    #[must_use]
    pub const fn high(self) -> f64 {
        self.high
    }

    /// The probability with which an interval made this way has the true figure in it.
    #[must_use]
    pub const fn coverage(self) -> f64 {
        self.coverage
    }

    /// Whether a number is in it, the ends included.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The interval of a median by order statistics: the narrowest symmetric pair, the k-th smallest and the k-th largest,
/// that covers the true median with a probability of at least `wanted`. Where the samples are too few for that, the
/// pair is the smallest and the largest, whose coverage is then less than `wanted` and stated like any other. One
/// sample has no interval: it says nothing of the spread.
///
/// The coverage is exact whatever the distribution, as long as the samples are independent; where values repeat, it is
/// at least that. The true median is below the k-th smallest with the probability that fewer than k of n fair coins
/// fall heads (David and Nagaraja, Order Statistics, 3rd edition, section 7.1).
///
/// # Errors
/// There are more than 1,000 samples.
pub fn median_interval(sample: &Sample, wanted: Level) -> Result<Option<Interval>, StatisticsError> {
    let sorted = sample.sorted();
    if sorted.len() < 2 {
        return Ok(None);
    }
    let n = u32::try_from(sorted.len()).unwrap_or(u32::MAX);
    let coins = Binomial::new(n, Level::new(0.5)?)?;
    let coverage_of = |below: u32| 1.0 - 2.0 * coins.at_most(below);
    // From the narrowest pair outwards; `below` samples lie outside on either side.
    let below = (0..n / 2).rev().find(|below| coverage_of(*below) >= wanted.get()).unwrap_or(0);
    let outside = usize::try_from(below).unwrap_or(0);
    let (low, high) = (sorted[outside], sorted[sorted.len() - 1 - outside]);
    Interval::between(low, high, coverage_of(below)).map(Some)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The samples are 1 to n, so that an end is its own rank.
    fn ranks(n: u32, wanted: Level) -> Option<(f64, f64, f64)> {
        let sample = Sample::new((1..=n).map(f64::from)).expect("numbers");
        let interval = median_interval(&sample, wanted).expect("few")?;
        Some((interval.low(), interval.high(), interval.coverage()))
    }

    #[test]
    fn the_pairs_of_the_tables() {
        // Conover, Practical Nonparametric Statistics (3rd edition), section 3.2; the coverages follow from table A3.
        assert_eq!(ranks(1, Level::P95), None);
        for (n, wanted, low, high, coverage) in [
            (2, Level::P95, 1.0, 2.0, 0.5),
            (3, Level::P95, 1.0, 3.0, 0.75),
            (4, Level::P90, 1.0, 4.0, 0.875),
            (5, Level::P90, 1.0, 5.0, 0.9375),
            (5, Level::P95, 1.0, 5.0, 0.9375),
            (6, Level::P95, 1.0, 6.0, 0.968_75),
            (8, Level::P90, 2.0, 7.0, 0.929_687_5),
            (8, Level::P95, 1.0, 8.0, 0.992_187_5),
            (10, Level::P95, 2.0, 9.0, 0.978_515_625),
        ] {
            assert_eq!(ranks(n, wanted), Some((low, high, coverage)), "of {n}");
        }
        for (n, low, high, coverage) in [(15, 4.0, 12.0, 0.9648), (20, 6.0, 15.0, 0.9586)] {
            let found = ranks(n, Level::P95).expect("an interval");
            assert_eq!((found.0, found.1), (low, high));
            assert!((found.2 - coverage).abs() < 0.000_06, "{found:?}");
        }
    }

    #[test]
    fn a_thousand_are_the_most() {
        assert!(ranks(1_000, Level::P99).is_some());
        let many = Sample::new((0..1_001).map(f64::from)).expect("numbers");
        let limit = StatisticsError::TooMany { got: 1_001, most: 1_000 };
        assert_eq!(median_interval(&many, Level::P90), Err(limit));
    }

    proptest! {
        #[test]
        fn the_pair_is_the_narrowest_that_covers(
            samples in proptest::collection::vec(-1e300..1e300_f64, 2..60),
            wanted in 0.01..0.99_f64,
        ) {
            let sample = Sample::new(samples).expect("finite");
            let wanted = Level::new(wanted).expect("a probability");
            let interval = median_interval(&sample, wanted).expect("few").expect("two or more");
            prop_assert!(interval.contains(sample.median()));
            prop_assert!((0.0..=1.0).contains(&interval.coverage()));
            if interval.coverage() < wanted.get() {
                prop_assert_eq!((interval.low(), interval.high()), (sample.min(), sample.max()));
            }
            // Asking for exactly what was given gives the same.
            if let Ok(given) = Level::new(interval.coverage()) {
                prop_assert_eq!(median_interval(&sample, given), Ok(Some(interval)));
            }
        }
    }
}
