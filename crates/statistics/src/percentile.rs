//! Which percentiles so many samples support.

/// A percentile in steps of a thousandth of a percent: whole numbers, so that 1,000 samples have exactly ten beyond p99.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile {
    /// Of 100,000.
    parts: u32,
}

/// How many samples must be expected beyond a percentile. The number beyond it is itself random, with a standard
/// deviation of its square root: of ten, a third. With fewer, what is printed is one or two unlucky requests.
const BEYOND_LEAST: u64 = 10;

const WHOLE: u32 = 100_000;

impl Percentile {
    /// The median.
    pub const P50: Percentile = Percentile { parts: 50_000 };
    /// 90 %
    pub const P90: Percentile = Percentile { parts: 90_000 };
    /// 99 %
    pub const P99: Percentile = Percentile { parts: 99_000 };
    /// 99.9 %
    pub const P999: Percentile = Percentile { parts: 99_900 };
    /// 99.99 %
    pub const P9999: Percentile = Percentile { parts: 99_990 };

    /// The ones that have a name here, ascending.
    pub const ALL: [Percentile; 5] =
        [Percentile::P50, Percentile::P90, Percentile::P99, Percentile::P999, Percentile::P9999];

    /// The share of samples that lie within it, from 0 to 1.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.parts) / f64::from(WHOLE)
    }

    /// Whether `n` samples support it: at least ten of them are expected beyond it. So the median takes 20, p99 takes
    /// 1,000 and p99.9 takes 10,000.
    #[must_use]
    pub fn is_supported_by(self, n: u64) -> bool {
        n >= self.samples_least()
    }

    /// How many samples support it.
    #[must_use]
    pub fn samples_least(self) -> u64 {
        (BEYOND_LEAST * u64::from(WHOLE)).div_ceil(u64::from(WHOLE - self.parts))
    }

    /// The furthest percentile that has a name here and that `n` samples support; none of fewer than 20.
    #[must_use]
    pub fn furthest(n: u64) -> Option<Percentile> {
        Percentile::ALL.into_iter().rev().find(|percentile| percentile.is_supported_by(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_samples_lie_beyond_what_is_supported() {
        let least = Percentile::ALL.map(Percentile::samples_least);
        assert_eq!(least, [20, 100, 1_000, 10_000, 100_000]);
        for percentile in Percentile::ALL {
            let n = percentile.samples_least();
            assert!(percentile.is_supported_by(n) && !percentile.is_supported_by(n - 1));
            assert!((n as f64 * (1.0 - percentile.share()) - 10.0).abs() < 1e-6);
        }
    }

    #[test]
    fn the_furthest_grows_with_the_samples() {
        assert_eq!(Percentile::furthest(0), None);
        assert_eq!(Percentile::furthest(19), None);
        assert_eq!(Percentile::furthest(20), Some(Percentile::P50));
        assert_eq!(Percentile::furthest(999), Some(Percentile::P90));
        assert_eq!(Percentile::furthest(u64::MAX), Some(Percentile::P9999));
    }
}
