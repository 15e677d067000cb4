//! Percentiles of what was recorded, where there are samples enough for them.

use cell_protocol::Histogram;
use statistics::Percentile;

/// A percentile in nanoseconds; none where fewer than ten samples lie beyond it.
pub(crate) fn percentile_ns(histogram: &Histogram, percentile: Percentile) -> Option<u64> {
    let is_supported = percentile.is_supported_by(histogram.count());
    is_supported.then(|| histogram.quantile_ns(percentile.share())).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_that_the_samples_do_not_support_is_none() {
        let mut histogram = Histogram::new();
        (1..=999).for_each(|us| histogram.record(us * 1_000));
        let of = |histogram: &Histogram| {
            [Percentile::P50, Percentile::P90, Percentile::P99]
                .map(|one| percentile_ns(histogram, one).is_some())
        };
        assert_eq!(of(&histogram), [true, true, false]);
        histogram.record(1_000_000);
        assert_eq!(of(&histogram), [true, true, true]);
        assert!(percentile_ns(&histogram, Percentile::P99).unwrap().abs_diff(990_000) <= 1_000);
        assert_eq!(of(&Histogram::new()), [false; 3]);
    }
}
