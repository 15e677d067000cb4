//! The plain values of a pipeline: what a cell states and a driver builds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::costs::{StageCosts, Variation};
use super::policy::Policy;

/// Everything that decides how a pipeline works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineSpec {
    /// Order, admission and batches.
    pub policy: Policy,
    /// What the stages take.
    pub costs: StageCosts,
    /// How that differs between images.
    pub variation: Variation,
    /// How many work at each stage.
    pub workers: Workers,
    /// What detects.
    pub detector: Detector,
    /// The room of the queue before each stage, in images: of each lane where the order is by lanes. Several devices want
    /// room for a batch of each: those that end together find only what waits there.
    pub queue_capacity: usize,
    /// The most images in flight.
    pub in_flight_max: usize,
    /// What an image takes in memory.
    pub image: ImageBytes,
}

/// How many work at each stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workers {
    /// Fetches at one time.
    pub fetch: usize,
    /// Images being decoded at one time.
    pub decode: usize,
    /// Images being annotated and rendered at one time.
    pub post: usize,
}

/// What carries detection out. Each takes one batch at a time, which is not preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Detector {
    /// Accelerators, which use no core.
    Device {
        /// How many there are.
        devices: usize,
    },
    /// The cores, which decode and render too.
    Cpu {
        /// Batches at one time.
        workers: usize,
    },
}

/// What an image takes in memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageBytes {
    /// As it is fetched.
    #[serde(rename = "compressed_bytes")]
    pub compressed: u64,
    /// As pixels.
    #[serde(rename = "decoded_bytes")]
    pub decoded: u64,
}

impl PipelineSpec {
    /// How many work at all stages, taken together.
    #[must_use]
    pub fn workers_total(&self) -> usize {
        let detectors = match self.detector {
            Detector::Device { devices } => devices,
            Detector::Cpu { workers } => workers,
        };
        let Workers { fetch, decode, post } = self.workers;
        [fetch, decode, detectors, post].into_iter().fold(0, usize::saturating_add)
    }

    /// The study's pipeline on so many cores, with the policy of one image a batch: 16 fetch, one decodes and one renders
    /// for each core, and images are 1920 x 1080 pixels of 3 bytes.
    #[must_use]
    pub const fn of_the_study(cores: usize) -> PipelineSpec {
        PipelineSpec {
            policy: Policy::FIFO1,
            costs: StageCosts {
                fetch: Duration::from_millis(40),
                decode: Duration::from_millis(8),
                detect_batch: Duration::from_millis(30),
                detect_image: Duration::from_millis(6),
                post: Duration::from_millis(6),
            },
            variation: Variation::None,
            workers: Workers { fetch: 16, decode: cores, post: cores },
            detector: Detector::Device { devices: 1 },
            queue_capacity: 16,
            in_flight_max: 48,
            image: ImageBytes { compressed: 500_000, decoded: 1_920 * 1_080 * 3 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_survives_a_message() {
        let varied = Variation::LogNormal { deviation_share: 0.2, seed: u64::MAX };
        for detector in [Detector::Device { devices: 2 }, Detector::Cpu { workers: 2 }] {
            let spec = PipelineSpec { variation: varied, detector, ..PipelineSpec::of_the_study(4) };
            let text = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<PipelineSpec>(&text).unwrap(), spec, "{text}");
        }
    }
}
