//! Sizing a batching pipeline: each stage by what it consumes, and the slowest stage sets the pace.
//!
//! Fetching waits, decoding and rendering use cores, and detecting uses a device by the batch: a batch costs a fixed time
//! and a time for each image. Little's law sizes what waits, and the cores' time sizes what computes.

mod rate;

use std::time::Duration;

use crate::{little, whole};

pub use rate::{Bottleneck, Ceiling, Configuration, Detector};

/// What each stage takes, of a pipeline in which nothing is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// A wait for each image.
    pub fetch: Duration,
    /// CPU time for each image.
    pub decode: Duration,
    /// Detector time of each batch, however large.
    pub detect_batch: Duration,
    /// Detector time of each image, beside its batch's.
    pub detect_image: Duration,
    /// CPU time for each image, to annotate and to render.
    pub post: Duration,
}

/// How many images may be in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlightAdvice {
    /// Fewer cannot carry the rate: by Little's law, the rate x the time through an empty pipeline.
    pub floor: u64,
    /// The floor and one whole batch: the detector takes its next batch at once only where one waits while it works.
    pub advised: u64,
}

impl Stages {
    /// How long a detector works on a batch.
    #[must_use]
    pub fn detect_time(&self, batch: u64) -> Duration {
        self.detect_batch + Duration::from_nanos(mul(self.detect_image, batch))
    }

    /// Images a second that one detector does in batches of that size. Infinite where detecting takes no time.
    #[must_use]
    pub fn detect_per_s(&self, batch: u64) -> f64 {
        self.detect_per_s_at(batch as f64)
    }

    /// The same for a mean batch size, which need not be whole.
    fn detect_per_s_at(&self, batch: f64) -> f64 {
        MS_PER_S / (ms(self.detect_batch) / batch + ms(self.detect_image))
    }

    /// Images a second that one detector never reaches, however large its batches are.
    #[must_use]
    pub fn detect_limit_per_s(&self) -> f64 {
        MS_PER_S / ms(self.detect_image)
    }

    /// How long a detector that waits for a full batch waits, at that rate, from the first image to the last.
    #[must_use]
    pub fn fill_wait_ms(&self, batch: u64, rate_per_s: f64) -> f64 {
        batch.saturating_sub(1) as f64 / rate_per_s * MS_PER_S
    }

    /// How many images arrive at that rate while one batch is detected. Where they are as many as the batch has, batches
    /// of that size fill themselves from those that wait.
    #[must_use]
    pub fn arrivals_while_detecting(&self, batch: u64, rate_per_s: f64) -> f64 {
        rate_per_s * (ms(self.detect_batch) + ms(self.detect_image) * batch as f64) / MS_PER_S
    }

    /// The smallest batch in which one detector reaches the rate. None where no batch does.
    #[must_use]
    pub fn smallest_batch(&self, rate_per_s: f64) -> Option<u64> {
        let left_ms = MS_PER_S / rate_per_s - ms(self.detect_image);
        if left_ms.is_nan() || left_ms <= 0.0 {
            return None;
        }
        let batch = ms(self.detect_batch) / left_ms;
        // The quotient is rounded: its whole neighbours are tried.
        let first = whole::nearest(batch).max(1);
        (first..=first.saturating_add(2)).find(|batch| self.detect_per_s(*batch) >= rate_per_s)
    }

    /// Fetches in flight at that rate, by Little's law.
    #[must_use]
    pub fn fetches_in_flight(&self, rate_per_s: f64) -> f64 {
        rate_per_s * ms(self.fetch) / MS_PER_S
    }

    /// Cores that decoding keeps busy at that rate.
    #[must_use]
    pub fn decode_cores(&self, rate_per_s: f64) -> f64 {
        rate_per_s * ms(self.decode) / MS_PER_S
    }

    /// Cores that annotating and rendering keep busy at that rate.
    #[must_use]
    pub fn post_cores(&self, rate_per_s: f64) -> f64 {
        rate_per_s * ms(self.post) / MS_PER_S
    }

    /// Cores that the CPU stages keep busy together at that rate.
    #[must_use]
    pub fn cpu_cores(&self, rate_per_s: f64) -> f64 {
        rate_per_s * (ms(self.decode) + ms(self.post)) / MS_PER_S
    }

    /// Images a second that so many cores decode and render. Infinite where that takes no time.
    #[must_use]
    pub fn cpu_ceiling_per_s(&self, cores: u64) -> f64 {
        cores as f64 * MS_PER_S / (ms(self.decode) + ms(self.post))
    }

    /// From admission to the end, of an image in a batch of that size, where nothing is in the way.
    #[must_use]
    pub fn unloaded(&self, batch: u64) -> Duration {
        self.fetch + self.decode + self.detect_time(batch) + self.post
    }

    /// The limit on images in flight at that rate and batch size.
    #[must_use]
    pub fn in_flight(&self, batch: u64, rate_per_s: f64) -> InFlightAdvice {
        let floor = whole::at_least(little::in_flight(rate_per_s, self.unloaded(batch)));
        InFlightAdvice { floor, advised: floor.saturating_add(batch) }
    }
}

/// The memory of images in flight, in bytes, where each takes so many.
#[must_use]
pub fn in_flight_bytes(in_flight: u64, image_bytes: u64) -> f64 {
    in_flight as f64 * image_bytes as f64
}

const MS_PER_S: f64 = 1_000.0;

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * MS_PER_S
}

fn mul(time: Duration, times: u64) -> u64 {
    u64::try_from(time.as_nanos().saturating_mul(u128::from(times))).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const STUDY: Stages = Stages {
        fetch: Duration::from_millis(40),
        decode: Duration::from_millis(8),
        detect_batch: Duration::from_millis(30),
        detect_image: Duration::from_millis(6),
        post: Duration::from_millis(6),
    };
    const TARGET: f64 = 120.0;

    #[test]
    fn the_table_of_batches_holds_to_the_digit() {
        let row = |batch: u64| {
            let rate = STUDY.detect_per_s(batch);
            let fill = STUDY.fill_wait_ms(batch, TARGET);
            format!("{batch} {rate:.1} {fill:.1} {:.1}", STUDY.arrivals_while_detecting(batch, TARGET))
        };
        let expected = [
            "1 27.8 0.0 4.3",
            "2 47.6 8.3 5.0",
            "4 74.1 25.0 6.5",
            "8 102.6 58.3 9.4",
            "12 117.6 91.7 12.2",
            "13 120.4 100.0 13.0",
            "16 127.0 125.0 15.1",
            "32 144.1 258.3 26.6",
        ];
        assert_eq!([1, 2, 4, 8, 12, 13, 16, 32].map(row), expected);
        assert_eq!(STUDY.smallest_batch(TARGET), Some(13));
    }

    #[test]
    fn the_other_figures_hold_to_the_digit() {
        assert_eq!(format!("{:.1}", STUDY.fetches_in_flight(TARGET)), "4.8");
        let cores = [STUDY.decode_cores(TARGET), STUDY.post_cores(TARGET), STUDY.cpu_cores(TARGET)];
        assert_eq!(cores.map(|cores| format!("{cores:.2}")), ["0.96", "0.72", "1.68"]);
        let ceilings = [1, 2, 4].map(|cores| format!("{:.1}", STUDY.cpu_ceiling_per_s(cores)));
        assert_eq!(ceilings, ["71.4", "142.9", "285.7"]);
        assert_eq!(format!("{:.0}", in_flight_bytes(48, 1_920 * 1_080 * 3) / 1e6), "299");
    }

    #[test]
    fn a_batch_of_16_needs_22_in_flight_and_one_more_batch_to_wait() {
        assert_eq!(STUDY.unloaded(16), Duration::from_millis(180));
        assert_eq!(STUDY.in_flight(16, TARGET), InFlightAdvice { floor: 22, advised: 38 });
        assert_eq!(STUDY.in_flight(1, 27.0), InFlightAdvice { floor: 3, advised: 4 });
    }

    #[test]
    fn the_smallest_batch_is_the_smallest_and_none_where_there_is_none() {
        for batch in 1..200 {
            let rate = STUDY.detect_per_s(batch);
            assert_eq!(STUDY.smallest_batch(rate), Some(batch));
        }
        assert_eq!(STUDY.smallest_batch(0.001), Some(1));
        for rate in [STUDY.detect_limit_per_s(), 1e9, f64::INFINITY, f64::NAN] {
            assert_eq!(STUDY.smallest_batch(rate), None, "{rate}");
        }
    }
}
