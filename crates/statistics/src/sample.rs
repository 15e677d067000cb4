//! Samples: finite numbers in order, at least one.

use crate::StatisticsError;

/// Finite numbers in ascending order, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
}

impl Sample {
    /// Takes samples in any order.
    ///
    /// # Errors
    /// There is none, or one is infinite or no number.
    pub fn new(samples: impl IntoIterator<Item = f64>) -> Result<Sample, StatisticsError> {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        if let Some(index) = sorted.iter().position(|value| !value.is_finite()) {
            return Err(StatisticsError::NotFinite { index });
        }
        if sorted.is_empty() {
            return Err(StatisticsError::TooFew { got: 0, least: 1 });
        }
        sorted.sort_by(f64::total_cmp);
        Ok(Sample { sorted })
    }

    /// How many there are; never 0.
    #[must_use]
    pub fn n(&self) -> usize {
        self.sorted.len()
    }

    /// The samples, ascending.
    #[must_use]
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The smallest.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// The largest.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.sorted[self.n() - 1]
    }

    /// The middle one; of an even number, the mean of the two in the middle.
    #[must_use]
    pub fn median(&self) -> f64 {
        median_of_sorted(&self.sorted)
    }
}

/// The median of samples that are in order and at least one.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn medians_of_known_samples() {
        let median = |samples: &[f64]| Sample::new(samples.to_vec()).map(|sample| sample.median());
        assert_eq!(median(&[7.0]), Ok(7.0));
        assert_eq!(median(&[2.0, 1.0]), Ok(1.5));
        assert_eq!(median(&[5.0, 1.0, 4.0, 2.0, 3.0]), Ok(3.0));
        // Half of the sum would be infinite.
        assert_eq!(median(&[f64::MAX, f64::MAX]), Ok(f64::MAX));
    }

    #[test]
    fn what_is_no_number_is_refused_by_its_place() {
        assert_eq!(Sample::new([]), Err(StatisticsError::TooFew { got: 0, least: 1 }));
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Sample::new([1.0, wrong]), Err(StatisticsError::NotFinite { index: 1 }));
        }
    }

    proptest! {
        #[test]
        fn a_median_has_as_many_on_either_side(samples in proptest::collection::vec(-1e9..1e9_f64, 1..40)) {
            let sample = Sample::new(samples.clone()).expect("finite");
            let median = sample.median();
            let below = samples.iter().filter(|value| **value < median).count();
            let above = samples.iter().filter(|value| **value > median).count();
            prop_assert!(below * 2 <= samples.len() && above * 2 <= samples.len());
            prop_assert!(sample.min() <= median && median <= sample.max());
        }
    }
}
