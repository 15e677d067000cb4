//! The latency histogram: constant memory, three significant digits, one nanosecond to one hour.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer as SerdeDeserializer, Serialize, Serializer};

/// The longest time that is recorded as it is, one hour, in nanoseconds.
pub const LONGEST_NS: u64 = 3_600_000_000_000;

/// Where longer times are recorded. The histogram's last bucket lies above [`LONGEST_NS`], so nothing
/// else can be in it, and the number of saturated samples survives merging and serialisation.
const SATURATED_NS: u64 = (1 << 42) - 1;

const SIGNIFICANT_DIGITS: u8 = 3;

/// A histogram of times in nanoseconds, after Gil Tene's `HdrHistogram`. Values are exact to one part in a
/// thousand, and reported as the top of their bucket. Recording allocates nothing.
///
/// Serialised, it is a string: base64 of the `HdrHistogram` V2 compressed encoding, which other tools of
/// that family read. The plain V2 encoding is accepted too.
#[derive(Clone, PartialEq)]
pub struct Histogram {
    inner: hdrhistogram::Histogram<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram. All the memory that it will use, about 270 KiB, is taken now.
    #[must_use]
    pub fn new() -> Self {
        let inner = hdrhistogram::Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
            .expect("constant bounds that the library accepts");
        Self { inner }
    }

    /// Records one time. One above [`LONGEST_NS`] is recorded as that bound and counted as saturated.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let ns = if ns > LONGEST_NS { SATURATED_NS } else { ns };
        // Every value up to the last bucket's top has a place, so this cannot fail.
        self.inner.saturating_record(ns);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.inner.add(&other.inner).expect("both histograms have the same bounds");
    }

    /// Number of samples, saturated ones among them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// Number of samples above [`LONGEST_NS`], whose true value is not known.
    #[must_use]
    pub fn saturated(&self) -> u64 {
        self.inner.count_at(SATURATED_NS)
    }

    /// The time within which a share `quantile` (0 to 1, others are clamped) of the samples lies, in nanoseconds; none
    /// where there is no sample.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        self.when_any(|inner| inner.value_at_quantile(quantile.clamp(0.0, 1.0)))
    }

    /// Number of samples above `ns`, as far as three digits tell.
    #[must_use]
    pub fn count_above_ns(&self, ns: u64) -> u64 {
        let within = self.inner.iter_recorded().take_while(|value| value.value_iterated_to() <= ns);
        self.count() - within.map(|value| value.count_at_value()).sum::<u64>()
    }

    /// The largest sample, in nanoseconds.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        self.when_any(|inner| inner.max())
    }

    /// The smallest sample, in nanoseconds.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        self.when_any(|inner| inner.min())
    }

    /// The arithmetic mean, in nanoseconds; saturated samples count as a value above [`LONGEST_NS`].
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.inner.mean())
    }

    fn when_any(&self, value: impl FnOnce(&hdrhistogram::Histogram<u64>) -> u64) -> Option<u64> {
        (self.count() > 0).then(|| value(&self.inner).min(LONGEST_NS))
    }

    fn to_base64(&self) -> Result<String, String> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.inner, &mut bytes)
            .map_err(|error| format!("the histogram cannot be encoded: {error:?}"))?;
        Ok(BASE64.encode(bytes))
    }

    fn from_base64(text: &str) -> Result<Self, String> {
        let bytes = BASE64.decode(text).map_err(|error| format!("a histogram must be base64: {error}"))?;
        let decoded: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| format!("a histogram must be in the HdrHistogram V2 encoding: {error:?}"))?;
        let own = Self::new();
        let bounds = |histogram: &hdrhistogram::Histogram<u64>| {
            (histogram.low(), histogram.high(), histogram.sigfig())
        };
        if bounds(&decoded) != bounds(&own.inner) {
            return Err(format!(
                "a histogram must have bounds and digits {:?}, and this one has {:?}",
                bounds(&own.inner),
                bounds(&decoded)
            ));
        }
        Ok(Self { inner: decoded })
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("p50_ns", &self.quantile_ns(0.5))
            .field("p99_ns", &self.quantile_ns(0.99))
            .field("max_ns", &self.max_ns())
            .finish()
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_base64().map_err(S::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: SerdeDeserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_base64(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &ns in samples {
            histogram.record(ns);
        }
        histogram
    }

    #[test]
    fn no_sample_has_no_figures_and_one_sample_is_all_of_them() {
        let none = Histogram::new();
        assert_eq!((none.count(), none.saturated()), (0, 0));
        assert_eq!(
            (none.quantile_ns(0.5), none.max_ns(), none.min_ns(), none.mean_ns()),
            (None, None, None, None)
        );

        let one = of(&[1_000]);
        assert_eq!(one.quantile_ns(0.0), Some(1_000));
        assert_eq!(one.quantile_ns(1.0), Some(1_000));
        assert_eq!(one.quantile_ns(f64::NAN), one.quantile_ns(f64::NAN));
        assert_eq!(one.max_ns(), Some(1_000));
        assert_eq!(one.mean_ns(), Some(1_000.0));
        assert!(none.mean_ns().is_none_or(f64::is_finite));
    }

    #[test]
    fn values_are_exact_to_a_thousandth() {
        let constant = of(&[20_000_000; 50]);
        for quantile in [0.0, 0.5, 0.99, 0.999, 1.0] {
            let ns = constant.quantile_ns(quantile).expect("a sample");
            assert!(ns.abs_diff(20_000_000) <= 20_000, "{ns} at {quantile}");
        }
    }

    #[test]
    fn what_is_above_is_counted() {
        let histogram = of(&[5_000_000, 9_900_000, 10_000_000, 10_100_000, 60_000_000, LONGEST_NS + 1]);
        let above = |ns| histogram.count_above_ns(ns);
        assert_eq!([above(0), above(7_000_000), above(10_050_000), above(LONGEST_NS)], [6, 5, 3, 1]);
        assert_eq!(Histogram::new().count_above_ns(0), 0);
    }

    #[test]
    fn merging_adds_counts() {
        let mut left = of(&[1, 2, 3]);
        let right = of(&[4_000_000, LONGEST_NS + 1]);
        left.merge(&right);
        assert_eq!((left.count(), left.saturated()), (5, 1));
        assert_eq!(left.min_ns(), Some(1));
    }

    #[test]
    fn what_is_too_long_is_counted_and_clamped() {
        let histogram = of(&[LONGEST_NS - 1, LONGEST_NS, LONGEST_NS + 1, u64::MAX]);
        assert_eq!(histogram.count(), 4);
        assert_eq!(histogram.saturated(), 2);
        assert_eq!(histogram.max_ns(), Some(LONGEST_NS));
    }

    #[test]
    fn base64_goes_there_and_back() {
        for samples in [&[][..], &[0], &[1, 1_000, 20_000_000, 20_000_001, LONGEST_NS, u64::MAX]] {
            let histogram = of(samples);
            let json = serde_json::to_string(&histogram).expect("serialised");
            let back: Histogram = serde_json::from_str(&json).expect("deserialised");
            assert_eq!(back, histogram);
            assert_eq!(
                (back.count(), back.saturated(), back.max_ns(), back.min_ns()),
                (histogram.count(), histogram.saturated(), histogram.max_ns(), histogram.min_ns())
            );
        }
    }

    #[test]
    fn what_is_not_such_a_histogram_is_refused_with_a_reason() {
        for (text, reason) in [("\"?\"", "base64"), ("\"AAAA\"", "V2")] {
            let error = serde_json::from_str::<Histogram>(text).expect_err("refused").to_string();
            assert!(error.contains(reason), "{error}");
        }
        let mut bytes = Vec::new();
        let other = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1_000, 2).expect("bounds");
        V2DeflateSerializer::new().serialize(&other, &mut bytes).expect("encoded");
        let json = format!("\"{}\"", BASE64.encode(bytes));
        let error = serde_json::from_str::<Histogram>(&json).expect_err("refused").to_string();
        assert!(error.contains("bounds"), "{error}");
    }
}
