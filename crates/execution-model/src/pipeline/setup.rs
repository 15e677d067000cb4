//! With what a pipeline is started, and which of it is accepted.

use std::ops::RangeInclusive;
use std::time::Duration;

use workload::pipeline::{Detector, Fault, PipelineSpec, PlannedFault, Stage};
use workload::{BlockingStrategy, ROUNDS_MAX};

use crate::limits::{OutOfRange, within};

const IMAGES: RangeInclusive<usize> = 1..=100_000;
const WORKERS: RangeInclusive<usize> = 1..=1_024;
const COST: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(10);
const STUCK: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(300);
const FAULTS: RangeInclusive<usize> = 0..=1_000;
const ROUNDS_PER_US: RangeInclusive<f64> = 1e-3..=1e6;
const IMAGE_BYTES: RangeInclusive<u64> = 0..=1 << 40;

/// The longest that an image waits for its fetch and for a device that has no other batch. With all that it may be stuck,
/// it is within a plan's bound.
const WAIT: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(300);
const ROUNDS: RangeInclusive<u64> = 0..=ROUNDS_MAX;

/// Everything that a pipeline is started with.
#[derive(Clone, Debug)]
pub struct PipelineSetup {
    /// Stages, costs, queues, limits and policy.
    pub spec: PipelineSpec,
    /// What a stage that computes does with its thread.
    pub strategy: BlockingStrategy,
    /// Rounds of the compute kernel that a microsecond of CPU time holds.
    pub rounds_per_us: f64,
    /// Image i has `seed + i`.
    pub seed: u64,
    /// Faults to plant.
    pub faults: Vec<PlannedFault>,
}

impl PipelineSetup {
    /// The same, if each value is accepted.
    ///
    /// # Errors
    ///
    /// Names the first value that is not, and what is.
    pub fn checked(self) -> Result<PipelineSetup, OutOfRange> {
        let PipelineSpec { policy, costs, workers, detector, image, .. } = &self.spec;
        within("a limit of images in flight", self.spec.in_flight_max, IMAGES)?;
        within("a queue capacity", self.spec.queue_capacity, IMAGES)?;
        within("the largest batch", policy.batch_max, IMAGES)?;
        within("a number of fetches", workers.fetch, WORKERS)?;
        within("a number of decoders", workers.decode, WORKERS)?;
        within("a number of renderers", workers.post, WORKERS)?;
        within("a number of detectors", detector_places(*detector), WORKERS)?;
        within("the cost of a fetch", costs.fetch, COST)?;
        within("the cost of decoding", costs.decode, COST)?;
        within("the cost of a batch", costs.detect_batch, COST)?;
        within("the cost of detection", costs.detect_image, COST)?;
        within("the cost of rendering", costs.post, COST)?;
        within("the window of a batch", policy.window, COST)?;
        within("the hold of a device", policy.hold, COST)?;
        within("the bytes of an image", image.compressed.max(image.decoded), IMAGE_BYTES)?;
        within("rounds in a microsecond", self.rounds_per_us, ROUNDS_PER_US)?;
        within("a number of faults", self.faults.len(), FAULTS)?;
        let stuck = self.faults.iter().filter_map(|fault| match fault.fault {
            Fault::Stuck { duration } => Some(duration),
            Fault::Panic => None,
        });
        let stuck = stuck.fold(Duration::ZERO, Duration::saturating_add);
        within("the time that stages are stuck, taken together,", stuck, STUCK)?;
        within("the longest wait of an image", self.longest_wait(), WAIT)?;
        within("the most rounds of an image and its batch", self.most_rounds(), ROUNDS)?;
        Ok(self)
    }

    /// What an image may wait by itself.
    fn longest_wait(&self) -> Duration {
        let most = self.spec.costs.of_any_image(self.spec.variation);
        let device = if self.computes(Stage::Detect) { Duration::ZERO } else { self.longest_batch() };
        most.fetch.saturating_add(device)
    }

    /// What an image, with all that are in its batch, may have computed for it.
    fn most_rounds(&self) -> u64 {
        let most = self.spec.costs.of_any_image(self.spec.variation);
        let cores = if self.computes(Stage::Detect) { self.longest_batch() } else { Duration::ZERO };
        let rounds = [most.decode, cores, most.post].map(|cost| self.rounds(cost));
        rounds.into_iter().fold(0, u64::saturating_add)
    }

    fn longest_batch(&self) -> Duration {
        let most = self.spec.costs.of_any_image(self.spec.variation);
        let images = self.spec.policy.batch_max.min(self.spec.in_flight_max);
        self.spec.costs.of_batch(std::iter::repeat_n(most, images))
    }

    /// How many images, or batches, a stage has at one time.
    pub(super) fn places(&self, stage: Stage) -> usize {
        match stage {
            Stage::Fetch => self.spec.workers.fetch,
            Stage::Decode => self.spec.workers.decode,
            Stage::Detect => detector_places(self.spec.detector),
            Stage::Post => self.spec.workers.post,
        }
    }

    /// Whether a stage computes, rather than waits.
    pub(super) fn computes(&self, stage: Stage) -> bool {
        match stage {
            Stage::Fetch => false,
            Stage::Decode | Stage::Post => true,
            Stage::Detect => matches!(self.spec.detector, Detector::Cpu { .. }),
        }
    }

    /// The rounds of so much CPU time.
    #[expect(clippy::cast_possible_truncation, reason = "a float is cut to what an integer holds")]
    pub(super) fn rounds(&self, cpu: Duration) -> u64 {
        (cpu.as_secs_f64() * 1e6 * self.rounds_per_us) as u64
    }

    /// What goes wrong when a stage has these images.
    pub(super) fn fault(&self, stage: Stage, mut numbers: impl Iterator<Item = u64>) -> Option<Fault> {
        if self.faults.is_empty() {
            return None;
        }
        numbers.find_map(|number| {
            let planted = self.faults.iter().find(|fault| fault.stage == stage && fault.image == number);
            planted.map(|fault| fault.fault)
        })
    }
}

fn detector_places(detector: Detector) -> usize {
    match detector {
        Detector::Device { devices } => devices,
        Detector::Cpu { workers } => workers,
    }
}
