//! How large a difference is where there is none: the noise floor.

use crate::{Binomial, Level, Sample, StatisticsError};

/// How far a ratio is from one, the same for a ratio and for its inverse: 0.1 for 1.1 and for 1/1.1.
///
/// # Errors
/// The ratio is not a finite number above zero.
pub fn distance(ratio: f64) -> Result<f64, StatisticsError> {
    if !ratio.is_finite() {
        return Err(StatisticsError::Overflow);
    }
    if ratio <= 0.0 {
        return Err(StatisticsError::NotPositive { value: ratio });
    }
    crate::error::finite(ratio.max(1.0 / ratio) - 1.0)
}

/// A value below which a share of all that is yet to come lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The value.
    pub value: f64,
    /// The share.
    pub share: f64,
    /// The probability with which the share is at least that.
    pub confidence: f64,
}

/// The smallest of the samples below which at least `share` of all samples lies, also of those that are yet to come,
/// with a probability of at least `wanted`. Where the samples are too few for that it is the largest, whose confidence
/// is then less than `wanted` and stated like any other.
///
/// Wilks, "Determination of sample sizes for setting tolerance limits" (1941): whatever the distribution, the k-th
/// smallest of n bounds the share with the probability that fewer than k of n samples lie below that share's quantile.
/// So the largest of 29 bounds 90 % with a confidence of 95 %, and the largest of 20 with one of 88 %.
///
/// # Errors
/// There are more than 1,000 samples.
pub fn upper_bound(sample: &Sample, share: Level, wanted: Level) -> Result<Bound, StatisticsError> {
    let n = u32::try_from(sample.n()).unwrap_or(u32::MAX);
    let below = Binomial::new(n, share)?;
    let confidence_of = |rank: u32| below.at_most(rank - 1);
    let rank = (1..=n).find(|rank| confidence_of(*rank) >= wanted.get()).unwrap_or(n);
    let index = usize::try_from(rank - 1).unwrap_or(0);
    Ok(Bound { value: sample.sorted()[index], share: share.get(), confidence: confidence_of(rank) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wilks_sample_sizes() {
        // For 95 % and 95 % the largest of 59 and the second largest of 93 are the textbook's numbers; see Conover,
        // Practical Nonparametric Statistics (3rd edition), section 3.3 and table A6.
        let rank = |n: u32, share: Level| {
            let sample = Sample::new((1..=n).map(f64::from)).expect("numbers");
            let bound = upper_bound(&sample, share, Level::P95).expect("few");
            (bound.value, bound.confidence >= 0.95)
        };
        assert_eq!(rank(58, Level::P95), (58.0, false));
        assert_eq!(rank(59, Level::P95), (59.0, true));
        assert_eq!(rank(92, Level::P95), (92.0, true));
        assert_eq!(rank(93, Level::P95), (92.0, true));
        assert_eq!((rank(28, Level::P90), rank(29, Level::P90)), ((28.0, false), (29.0, true)));
        let twenty = Sample::new((1..=20).map(f64::from)).expect("numbers");
        let bound = upper_bound(&twenty, Level::P90, Level::P95).expect("few");
        assert!((bound.confidence - (1.0 - 0.9_f64.powi(20))).abs() < 1e-12, "{bound:?}");
    }

    #[test]
    fn a_ratio_and_its_inverse_are_as_far() {
        assert!((distance(1.1).expect("a ratio") - 0.1).abs() < 1e-12);
        assert!((distance(1.0 / 1.1).expect("a ratio") - 0.1).abs() < 1e-12);
        assert_eq!(distance(1.0), Ok(0.0));
        assert_eq!(distance(0.0), Err(StatisticsError::NotPositive { value: 0.0 }));
        assert_eq!(distance(f64::NAN), Err(StatisticsError::Overflow));
        assert_eq!(distance(f64::from_bits(1)), Err(StatisticsError::Overflow));
    }

    proptest! {
        #[test]
        fn the_bound_is_one_of_the_samples(samples in proptest::collection::vec(0.0..1.0_f64, 1..80)) {
            let sample = Sample::new(samples.clone()).expect("finite");
            let bound = upper_bound(&sample, Level::P90, Level::P95).expect("few");
            prop_assert!(samples.contains(&bound.value) && (0.0..=1.0).contains(&bound.confidence));
            prop_assert!(bound.confidence >= 0.95 || bound.value == sample.max());
        }
    }
}
