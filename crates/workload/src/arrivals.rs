//! When requests begin: intended starts as offsets from the start of a measurement.
//!
//! A schedule is known before the first request begins and does not depend on how the system under test keeps
//! up. [`Arrivals`] spreads a number of requests over a time; [`OpenArrivals`] keeps a rate for a time; a [`Pattern`] is
//! either.

mod pattern;

use std::iter::FusedIterator;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::math;

pub use pattern::Pattern;
pub(crate) use pattern::nanoseconds;

/// Intended starts, as pure values.
pub trait Schedule {
    /// The intended start of each request, in order, in nanoseconds from the start of the measurement.
    fn starts_ns(&self) -> impl Iterator<Item = u64>;

    /// The time in which all the starts lie. Zero is a burst.
    fn length(&self) -> Duration;
}

/// A number of requests, spread evenly over a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// How many requests there are.
    pub requests: u64,
    /// The time over which their starts are spread evenly. Zero is a burst.
    #[serde(rename = "spread_ns", with = "pattern::nanoseconds")]
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

impl Schedule for Arrivals {
    fn starts_ns(&self) -> impl Iterator<Item = u64> {
        (0..self.requests).map(|index| u64::try_from(self.start(index).as_nanos()).unwrap_or(u64::MAX))
    }

    fn length(&self) -> Duration {
        self.spread
    }
}

/// How the requests of an open loop follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// All gaps are alike; request i starts at `i / rate`, the first one at once.
    Constant,
    /// A Poisson process: independent gaps, exponentially distributed, as of many clients that know nothing of
    /// each other. How many requests there are in a given time is itself random.
    Poisson,
}

/// Requests at a rate, for a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenArrivals {
    /// Requests a second. One that is not above zero and finite gives no request.
    pub rate_per_s: f64,
    /// How they follow each other.
    pub spacing: Spacing,
    /// What the gaps of a Poisson process are drawn from; the same seed gives the same schedule, everywhere.
    pub seed: u64,
    /// For how long; no request starts at its end or later.
    #[serde(rename = "duration_ns", with = "pattern::nanoseconds")]
    pub duration: Duration,
}

impl OpenArrivals {
    /// The intended starts, in order.
    #[must_use]
    pub fn starts(&self) -> OpenStarts {
        let sound = self.rate_per_s.is_finite() && self.rate_per_s > 0.0;
        let end_ns = if sound { u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX) } else { 0 };
        OpenStarts {
            gap_mean_ns: NS_PER_S / self.rate_per_s,
            rate_per_s: self.rate_per_s,
            spacing: self.spacing,
            end_ns,
            index: 0,
            random: self.seed,
            at_ns: 0.0,
        }
    }

    /// How many requests there are: of a constant rate to within one, of a Poisson process on average.
    #[must_use]
    pub fn requests_expected(&self) -> f64 {
        self.rate_per_s * self.duration.as_secs_f64()
    }
}

impl Schedule for OpenArrivals {
    fn starts_ns(&self) -> impl Iterator<Item = u64> {
        self.starts()
    }

    fn length(&self) -> Duration {
        self.duration
    }
}

/// The intended starts of [`OpenArrivals`], in nanoseconds from the start of the measurement.
///
/// A shard of the load takes every n-th: shards of one seed together are the whole schedule.
#[derive(Clone, Debug)]
pub struct OpenStarts {
    gap_mean_ns: f64,
    rate_per_s: f64,
    spacing: Spacing,
    end_ns: u64,
    index: u64,
    random: u64,
    at_ns: f64,
}

const NS_PER_S: f64 = 1e9;

impl Iterator for OpenStarts {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self.spacing {
            // From the index and not from the last start, so that no rounding adds up. Both operations are rounded
            // correctly, so that the result rises with the index, and is within 1 ns for 10^6 s.
            Spacing::Constant => self.at_ns = self.index as f64 * NS_PER_S / self.rate_per_s,
            Spacing::Poisson => self.at_ns += self.gap_mean_ns * exponential(&mut self.random),
        }
        self.index += 1;
        #[expect(clippy::cast_possible_truncation, reason = "a start is at a whole nanosecond")]
        let at_ns = self.at_ns as u64;
        (at_ns < self.end_ns).then_some(at_ns)
    }
}

impl FusedIterator for OpenStarts {}

/// Draws from the exponential distribution of mean 1, by inverting its distribution function.
fn exponential(random: &mut u64) -> f64 {
    -math::ln(math::uniform(random))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn open(spacing: Spacing, rate_per_s: f64, seed: u64, millis: u64) -> OpenArrivals {
        OpenArrivals { rate_per_s, spacing, seed, duration: Duration::from_millis(millis) }
    }

    #[test]
    fn a_burst_starts_at_once() {
        let burst = Arrivals { requests: 10, spread: Duration::ZERO };
        assert!((0..10).all(|index| burst.start(index) == Duration::ZERO));
    }

    #[test]
    fn a_spread_is_even_and_does_not_drift() {
        let spread = Arrivals { requests: 3, spread: Duration::from_nanos(10) };
        assert_eq!(spread.starts_ns().collect::<Vec<_>>(), [0, 3, 6]);
        let million = Arrivals { requests: 1_000_000, spread: Duration::from_secs(1) };
        assert_eq!(million.start(999_999), Duration::from_nanos(999_999_000));
        let none = Arrivals { requests: 0, spread: Duration::from_secs(1) };
        assert_eq!(none.start(0), Duration::ZERO);
    }

    #[test]
    fn a_constant_rate_is_exact_and_does_not_drift() {
        let starts: Vec<_> = open(Spacing::Constant, 3.0, 0, 1_001).starts().collect();
        assert_eq!(starts, [0, 333_333_333, 666_666_666, 1_000_000_000]);
        let hour = open(Spacing::Constant, 7.0, 0, 3_600_000);
        assert_eq!(hour.starts().count(), 7 * 3_600);
        for (index, start) in hour.starts().enumerate() {
            let exact = index as u128 * 1_000_000_000 / 7;
            assert!(u128::from(start).abs_diff(exact) <= 1, "{start} of {index}");
        }
    }

    #[test]
    fn nonsense_gives_no_request() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            for spacing in [Spacing::Constant, Spacing::Poisson] {
                assert_eq!(open(spacing, rate, 1, 1_000).starts().next(), None, "{rate}");
            }
        }
        assert_eq!(open(Spacing::Constant, 5.0, 1, 0).starts().next(), None);
    }

    #[test]
    fn the_gaps_of_a_poisson_process_are_exponential_and_independent() {
        let starts: Vec<_> = open(Spacing::Poisson, 1_000.0, 42, 100_000).starts().collect();
        let gaps: Vec<_> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        // Of an exponential distribution, exp(-x) of the gaps are above x mean gaps.
        for above in [0.1, 0.5, 1.0, 2.0, 3.0, 5.0_f64] {
            let share = gaps.iter().filter(|&&gap| gap > above).count() as f64 / count;
            let expected = (-above).exp();
            let deviation = (expected * (1.0 - expected) / count).sqrt();
            assert!((share - expected).abs() < 5.0 * deviation, "{share} above {above}, not {expected}");
        }
        let covariance = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / count;
        assert!(covariance.abs() < 5.0 / count.sqrt(), "a gap tells nothing of the next one: {covariance}");
    }

    #[test]
    fn a_seed_gives_the_same_schedule_on_every_machine() {
        let starts: Vec<_> = open(Spacing::Poisson, 1_000.0, 7, 1_000).starts().take(4).collect();
        assert_eq!(starts, KNOWN_STARTS);
    }

    /// Of seed 7 at 1,000 a second, computed by another program too (Python, with its own logarithm).
    const KNOWN_STARTS: [u64; 4] = [942_045, 5_029_118, 5_133_634, 5_673_321];

    proptest! {
        #[test]
        fn starts_rise_and_keep_the_rate(rate in 1.0..100_000.0_f64, seed: u64, millis in 1..500_u64) {
            for spacing in [Spacing::Constant, Spacing::Poisson] {
                let arrivals = open(spacing, rate, seed, millis);
                let starts: Vec<_> = arrivals.starts().collect();
                prop_assert!(starts.is_sorted());
                prop_assert!(starts.iter().all(|&start| start < millis * 1_000_000));
                let expected = arrivals.requests_expected();
                let within = match spacing {
                    Spacing::Constant => 1.0,
                    Spacing::Poisson => 6.0 * expected.sqrt() + 6.0,
                };
                prop_assert!((starts.len() as f64 - expected).abs() <= within, "{} of {expected}", starts.len());
            }
        }

        #[test]
        fn the_seed_is_the_schedule(seed: u64, rate in 100.0..10_000.0_f64) {
            let of = |seed| open(Spacing::Poisson, rate, seed, 200).starts().collect::<Vec<_>>();
            prop_assert_eq!(of(seed), of(seed));
            prop_assert_ne!(of(seed), of(seed ^ 1));
        }

        #[test]
        fn shards_interleave_to_the_whole(seed: u64, shards in 1..5_usize) {
            let whole = open(Spacing::Poisson, 1_000.0, seed, 200);
            let mut merged: Vec<_> =
                (0..shards).flat_map(|first| whole.starts().skip(first).step_by(shards)).collect();
            merged.sort_unstable();
            prop_assert_eq!(merged, whole.starts().collect::<Vec<_>>());
        }
    }
}
