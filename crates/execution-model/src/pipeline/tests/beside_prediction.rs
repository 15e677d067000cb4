//! The pipeline on a virtual clock beside its arithmetic, which knows nothing of queues, and of batches that wait.

use std::time::Duration;

use prediction::pipeline::{self as predicted, Bottleneck, Ceiling};
use workload::pipeline::{Detector, PipelineSpec, Policy, Stage, Variation};

use super::simulation::{Load, run};
use crate::pipeline::account::WindowAccount;

const MEASURED: Duration = Duration::from_secs(10);
const VARIED: Variation = Variation::LogNormal { deviation_share: 0.2, seed: 4 };

/// Cores, a policy and a detector of the study's pipeline, with bulk work always ready.
#[derive(Clone, Debug)]
struct Case {
    cores: usize,
    spec: PipelineSpec,
}

/// What came of it, beside what was predicted.
#[derive(Debug)]
struct Seen {
    per_s: f64,
    ceiling: Ceiling,
    /// Of the detectors' time and of the cores', how much was used.
    detectors_share: f64,
    cores_share: f64,
}

fn case(cores: usize, policy: Policy, detector: Detector) -> Case {
    Case { cores, spec: PipelineSpec { policy, detector, ..PipelineSpec::of_the_study(cores) } }
}

fn devices(devices: usize) -> Detector {
    Detector::Device { devices }
}

impl Case {
    fn in_flight_max(self, in_flight_max: usize) -> Case {
        Case { spec: PipelineSpec { in_flight_max, ..self.spec }, ..self }
    }

    fn varied(self, variation: Variation) -> Case {
        Case { spec: PipelineSpec { variation, ..self.spec }, ..self }
    }

    fn queue_capacity(self, queue_capacity: usize) -> Case {
        Case { spec: PipelineSpec { queue_capacity, ..self.spec }, ..self }
    }

    fn run(&self) -> Seen {
        let load = Load { warm_up: Duration::from_secs(3), measured: MEASURED, interactive: Vec::new() };
        let window = run(&self.spec, self.cores, &load).window;
        let (detectors, on_cores) = match self.spec.detector {
            Detector::Device { devices } => (devices, 0),
            Detector::Cpu { workers } => (workers, window.planned_ns[Stage::Detect]),
        };
        let on_cores = on_cores + window.planned_ns[Stage::Decode] + window.planned_ns[Stage::Post];
        let share = |ns: u64, of: usize| Duration::from_nanos(ns).div_duration_f64(MEASURED) / of as f64;
        Seen {
            per_s: window.completed.bulk as f64 / MEASURED.as_secs_f64(),
            ceiling: self.ceiling(&window),
            detectors_share: share(window.busy_ns[Stage::Detect], detectors),
            cores_share: share(on_cores, self.cores),
        }
    }

    /// The prediction, of the largest batch that the policy allows.
    fn ceiling(&self, window: &WindowAccount) -> Ceiling {
        let PipelineSpec { costs, workers, detector, policy, in_flight_max, .. } = &self.spec;
        assert!(window.batch_sizes.keys().all(|size| *size <= policy.batch_max));
        let stages = predicted::Stages {
            fetch: costs.fetch,
            decode: costs.decode,
            detect_batch: costs.detect_batch,
            detect_image: costs.detect_image,
            post: costs.post,
        };
        stages.ceiling(&predicted::Configuration {
            cores: self.cores as u64,
            fetch_workers: workers.fetch as u64,
            decode_workers: workers.decode as u64,
            post_workers: workers.post as u64,
            batch: policy.batch_max as u64,
            detector: match *detector {
                Detector::Device { devices } => predicted::Detector::Device { devices: devices as u64 },
                Detector::Cpu { workers } => predicted::Detector::Cpu { workers: workers as u64 },
            },
            in_flight_max: *in_flight_max as u64,
        })
    }
}

fn all() -> impl Iterator<Item = Case> {
    let detectors = |cores| [devices(1), devices(2), devices(4), Detector::Cpu { workers: cores }];
    let cores = [1, 2, 4].into_iter();
    let cases = cores.flat_map(move |cores| detectors(cores).map(|detector| (cores, detector)));
    cases.flat_map(|(cores, detector)| {
        [Policy::FIFO1, Policy::FIFO16].map(|policy| case(cores, policy, detector))
    })
}

#[test]
fn nothing_is_faster_than_its_ceiling() {
    for case in all() {
        for in_flight_max in [12, 24, 48] {
            let seen = case.clone().in_flight_max(in_flight_max).run();
            // A batch that began before the window may end in it.
            let edge = case.spec.policy.batch_max as f64 / MEASURED.as_secs_f64();
            assert!(seen.per_s <= seen.ceiling.images_per_s + 4.0 * edge, "{case:?}: {seen:?}");
        }
    }
}

#[test]
fn with_enough_in_flight_the_ceiling_is_reached_whatever_the_costs_vary() {
    for case in all() {
        for variation in [Variation::None, VARIED] {
            let seen = case.clone().in_flight_max(192).queue_capacity(64).varied(variation).run();
            let reached = seen.per_s / seen.ceiling.images_per_s;
            // Images that go together leave the cores idle now and then, where those do all the work.
            let least = if seen.ceiling.bottleneck == Bottleneck::Cores { 0.93 } else { 0.98 };
            assert!((least..=1.02).contains(&reached), "{reached} of {case:?}: {seen:?}");
        }
    }
}

#[test]
fn a_second_device_moves_the_bottleneck_to_the_cores() {
    let [one, two] = [1, 2].map(|count| case(2, Policy::FIFO16, devices(count)).run());
    assert_eq!((one.ceiling.bottleneck, two.ceiling.bottleneck), (Bottleneck::Detector, Bottleneck::Cores));
    assert!(one.detectors_share > 0.99 && one.cores_share < 0.92, "{one:?}");
    assert!(two.cores_share > 0.98 && two.detectors_share < 0.92, "{two:?}");
}

#[test]
fn two_devices_want_room_for_the_batch_of_each() {
    let of = |queue_capacity| {
        let roomy = case(4, Policy::FIFO16, devices(2)).in_flight_max(96).queue_capacity(queue_capacity);
        roomy.run().detectors_share
    };
    // Both end together, one takes all that waits, and the other what little comes after it.
    let [one_batch, two_batches] = [16, 32].map(of);
    assert!(one_batch < 0.95 && two_batches > 0.99, "{one_batch} and {two_batches}");
}

#[test]
fn a_second_device_doubles_the_rate_where_nothing_else_is_in_the_way() {
    let [one, two, four] = [1, 2, 4].map(|count| case(2, Policy::FIFO1, devices(count)).run().per_s);
    for times in [two / one, four / two] {
        assert!((1.97..=2.03).contains(&times), "{one}, {two} and {four} images/s");
    }
}

#[test]
fn a_detector_on_the_cores_takes_its_time_from_the_other_stages() {
    let device = case(2, Policy::FIFO16, devices(1)).run();
    let cores = case(2, Policy::FIFO16, Detector::Cpu { workers: 2 }).run();
    assert_eq!(cores.ceiling.bottleneck, Bottleneck::Cores);
    assert!((0.95..=1.0).contains(&cores.cores_share), "{cores:?}");
    assert!(cores.per_s < 0.75 * device.per_s, "{cores:?} and {device:?}");
}
