//! The rate of one configuration of a pipeline: a ceiling that nothing can beat, and what sets it.

use std::fmt;

use super::{MS_PER_S, Stages, ms};

/// What a pipeline is given. Counts are at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Cores that all CPU stages share.
    pub cores: u64,
    /// Fetches at one time.
    pub fetch_workers: u64,
    /// Images being decoded at one time.
    pub decode_workers: u64,
    /// Images being annotated and rendered at one time.
    pub post_workers: u64,
    /// The most images in a batch.
    pub batch: u64,
    /// What detects.
    pub detector: Detector,
    /// The most images in flight.
    pub in_flight_max: u64,
}

/// What carries detection out, one batch at a time each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// Accelerators, which use no core.
    Device {
        /// How many there are.
        devices: u64,
    },
    /// The cores, which decode and render too.
    Cpu {
        /// Batches at one time.
        workers: u64,
    },
}

/// What sets the pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bottleneck {
    /// The workers that fetch, by Little's law.
    FetchWorkers,
    /// The workers that decode.
    DecodeWorkers,
    /// The detectors, in batches of the size there is.
    Detector,
    /// The workers that annotate and render.
    PostWorkers,
    /// The cores, which all that computes shares.
    Cores,
    /// The limit on images in flight, by Little's law.
    InFlightLimit,
}

/// The most images a second.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// No run of the pipeline is faster.
    pub images_per_s: f64,
    /// What sets it. Of several that do, the one that comes first in a pipeline.
    pub bottleneck: Bottleneck,
    /// The ceiling of each part by itself, in images a second.
    pub parts: [(Bottleneck, f64); 6],
}

impl Bottleneck {
    /// The name in reports and rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Bottleneck::FetchWorkers => "fetch workers",
            Bottleneck::DecodeWorkers => "decode workers",
            Bottleneck::Detector => "detector",
            Bottleneck::PostWorkers => "post workers",
            Bottleneck::Cores => "cores",
            Bottleneck::InFlightLimit => "in-flight limit",
        }
    }
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Configuration {
    /// Batches that are detected at one time at full speed.
    fn detectors(&self) -> u64 {
        match self.detector {
            Detector::Device { devices } => devices,
            Detector::Cpu { workers } => workers.min(self.cores),
        }
    }
}

impl Stages {
    /// The most images a second of a configuration.
    #[must_use]
    pub fn ceiling(&self, configuration: &Configuration) -> Ceiling {
        let per_s = |at_once: u64, ms: f64| at_once as f64 * MS_PER_S / ms;
        let cpu_workers = |workers: u64| workers.min(configuration.cores);
        let detectors = configuration.detectors();
        let batch = configuration.batch.max(1) as f64;
        let parts = [
            (Bottleneck::FetchWorkers, per_s(configuration.fetch_workers, ms(self.fetch))),
            (Bottleneck::DecodeWorkers, per_s(cpu_workers(configuration.decode_workers), ms(self.decode))),
            (Bottleneck::Detector, detectors as f64 * self.detect_per_s_at(batch)),
            (Bottleneck::PostWorkers, per_s(cpu_workers(configuration.post_workers), ms(self.post))),
            (Bottleneck::Cores, per_s(configuration.cores, self.cpu_ms(configuration, batch))),
            (Bottleneck::InFlightLimit, self.held_per_s(configuration)),
        ];
        let (bottleneck, images_per_s) = parts
            .into_iter()
            .reduce(|least, part| if part.1 < least.1 { part } else { least })
            .unwrap_or(parts[0]);
        Ceiling { images_per_s, bottleneck, parts }
    }

    /// What a limit on images in flight lets a pipeline do whose detectors never pause: while each works on a batch,
    /// another gathers, so that a batch has its part of the limit. An estimate and no bound, though never above the
    /// ceiling: stages that are uneven lose some of it, and batches larger than that, at the price of pauses, gain some.
    #[must_use]
    pub fn expected_per_s(&self, configuration: &Configuration) -> f64 {
        let groups = configuration.detectors().saturating_add(1);
        let share = (configuration.in_flight_max as f64 / groups as f64).max(1.0);
        let batch = share.min(configuration.batch.max(1) as f64);
        let detected = configuration.detectors() as f64 * self.detect_per_s_at(batch);
        let held = configuration.in_flight_max as f64 * MS_PER_S / self.unloaded_ms(batch);
        self.ceiling(configuration).images_per_s.min(detected).min(held)
    }

    /// By Little's law, what is in flight bounds the rate x the time in the system, and a batch's images are each in it
    /// for as long as their whole batch. So a small limit wants small batches, which are quick, and the detectors want
    /// large ones. The ceiling is that of the best mean size for both, where the detectors just keep up; the cost of
    /// a batch is shared by its images, so that sizes which differ do no better than their mean.
    fn held_per_s(&self, configuration: &Configuration) -> f64 {
        const HALVINGS: u32 = 64;
        let held = |batch: f64| configuration.in_flight_max as f64 * MS_PER_S / self.unloaded_ms(batch);
        let detected = |batch: f64| configuration.detectors() as f64 * self.detect_per_s_at(batch);
        let (mut small, mut large) = (1.0, configuration.batch.max(1) as f64);
        if held(large) >= detected(large) {
            return held(large);
        }
        if held(small) <= detected(small) {
            return held(small);
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(small, large);
            if held(middle) > detected(middle) { small = middle } else { large = middle }
        }
        held(small)
    }

    fn unloaded_ms(&self, batch: f64) -> f64 {
        ms(self.fetch + self.decode + self.detect_batch + self.post) + ms(self.detect_image) * batch
    }

    /// CPU time of an image.
    fn cpu_ms(&self, configuration: &Configuration, batch: f64) -> f64 {
        let detect = match configuration.detector {
            Detector::Device { .. } => 0.0,
            Detector::Cpu { .. } => ms(self.detect_batch) / batch + ms(self.detect_image),
        };
        ms(self.decode + self.post) + detect
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::STUDY;
    use super::*;

    const TWO_CORES: Configuration = Configuration {
        cores: 2,
        fetch_workers: 16,
        decode_workers: 2,
        post_workers: 2,
        batch: 16,
        detector: Detector::Device { devices: 1 },
        in_flight_max: 48,
    };

    fn check(configuration: Configuration, rate: &str, bottleneck: Bottleneck) {
        let ceiling = STUDY.ceiling(&configuration);
        assert_eq!((format!("{:.1}", ceiling.images_per_s).as_str(), ceiling.bottleneck), (rate, bottleneck));
        assert!(STUDY.expected_per_s(&configuration) <= ceiling.images_per_s);
        assert!(ceiling.parts.iter().all(|(_, per_s)| *per_s >= ceiling.images_per_s));
    }

    #[test]
    fn the_slowest_part_sets_the_pace() {
        check(TWO_CORES, "127.0", Bottleneck::Detector);
        check(Configuration { batch: 1, ..TWO_CORES }, "27.8", Bottleneck::Detector);
        check(Configuration { batch: 32, ..TWO_CORES }, "142.9", Bottleneck::Cores);
        check(Configuration { cores: 1, ..TWO_CORES }, "71.4", Bottleneck::Cores);
        check(Configuration { fetch_workers: 4, ..TWO_CORES }, "100.0", Bottleneck::FetchWorkers);
        check(Configuration { decode_workers: 1, ..TWO_CORES }, "125.0", Bottleneck::DecodeWorkers);
        let wide = Configuration { cores: 8, decode_workers: 8, post_workers: 1, batch: 64, ..TWO_CORES };
        check(
            Configuration { detector: Detector::Device { devices: 2 }, ..wide },
            "166.7",
            Bottleneck::PostWorkers,
        );
    }

    #[test]
    fn another_device_doubles_the_detectors_and_moves_the_bottleneck() {
        let two = Detector::Device { devices: 2 };
        check(Configuration { batch: 1, detector: two, ..TWO_CORES }, "55.6", Bottleneck::Detector);
        check(Configuration { detector: two, ..TWO_CORES }, "142.9", Bottleneck::Cores);
        assert_eq!(
            format!("{:.1}", STUDY.ceiling(&Configuration { detector: two, ..TWO_CORES }).parts[2].1),
            "254.0"
        );
    }

    #[test]
    fn a_detector_on_the_cores_joins_their_budget() {
        let on_cores = Configuration { detector: Detector::Cpu { workers: 2 }, ..TWO_CORES };
        // 2,000 ms of cores a second, and 8 + 6 + 126 / 16 ms an image.
        check(on_cores, "91.4", Bottleneck::Cores);
        check(Configuration { batch: 1, ..on_cores }, "40.0", Bottleneck::Cores);
    }

    #[test]
    fn a_limit_on_images_in_flight_bounds_the_rate() {
        let at = |in_flight_max| Configuration { in_flight_max, ..TWO_CORES };
        check(at(1), "11.1", Bottleneck::InFlightLimit);
        check(at(12), "96.1", Bottleneck::InFlightLimit);
        check(at(22), "125.5", Bottleneck::InFlightLimit);
        check(at(24), "127.0", Bottleneck::Detector);
        check(Configuration { batch: 1, ..at(12) }, "27.8", Bottleneck::Detector);
        let expected = [12, 24, 28, 32, 48].map(|limit| format!("{:.1}", STUDY.expected_per_s(&at(limit))));
        assert_eq!(expected, ["90.9", "117.6", "122.8", "127.0", "127.0"]);
    }

    #[test]
    fn a_larger_limit_is_never_slower() {
        let rates = (1..200).map(|in_flight_max| {
            let configuration = Configuration { in_flight_max, ..TWO_CORES };
            (STUDY.ceiling(&configuration).images_per_s, STUDY.expected_per_s(&configuration))
        });
        let rates: Vec<_> = rates.collect();
        assert!(rates.is_sorted_by(|less, more| less.0 <= more.0 + 1e-9 && less.1 <= more.1 + 1e-9));
    }
}
