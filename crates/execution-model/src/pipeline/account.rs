//! What the pipeline is known to have done: counts, times and levels.

use std::collections::BTreeMap;
use std::time::Duration;

use latency_histogram::Histogram;
use workload::pipeline::{ByLane, ByStage, Lane, LaneCounts, Stage};
use workload::{Plan, Step};

use super::image::Image;

/// One image of so many has its checksum kept, to be computed again when all is over.
const IMAGES_PER_SAMPLE: u64 = 16;
const SAMPLES_MAX: usize = 24;

/// What came of the images so far.
#[derive(Clone, Debug, Default)]
pub struct PipelineAccount {
    /// Where the images are, by lane.
    pub counts: ByLane<LaneCounts>,
    /// Images that completed after one of their lane that was admitted later.
    pub overtaken: ByLane<u64>,
    /// The latest image of each lane to have completed, of those that did.
    pub(super) latest: ByLane<u64>,
    /// What an image was told that was refused.
    pub refusal_example: Option<String>,
    /// When for the first time as many images were in flight as bulk work may have, from the pipeline's start.
    pub filled: Option<Duration>,
    /// The most images in flight at one time.
    pub in_flight_peak: u64,
    /// The most bytes in flight, in both forms.
    pub bytes_peak: u64,
    /// The most decoded bytes in flight.
    pub decoded_bytes_peak: u64,
    /// Some of the images that completed.
    pub samples: Vec<Sample>,
    /// What happened in the window.
    pub window: WindowAccount,
}

/// An image that completed, and what its stages say to have done.
#[derive(Clone, Debug)]
pub struct Sample {
    seed: u64,
    steps: Vec<Step>,
    checksum: u64,
}

impl Sample {
    /// Whether the checksum is that of the steps. It does them again.
    #[must_use]
    pub fn is_right(&self) -> bool {
        Plan::new(&self.steps).is_ok_and(|plan| plan.checksum(self.seed) == self.checksum)
    }
}

/// What happened between two instants. Times are integrals over it, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct WindowAccount {
    /// Its bounds, from the pipeline's start. An empty one holds nothing.
    pub(super) from: Duration,
    pub(super) until: Duration,
    /// Images that completed.
    pub completed: ByLane<u64>,
    /// Batches that began, by size.
    pub batch_sizes: BTreeMap<usize, u64>,
    /// Of images in flight.
    pub in_flight_integral_ns: u64,
    /// Of images before each stage.
    pub queued_integral_ns: ByStage<ByLane<u64>>,
    /// The most images before each stage.
    pub queued_peak: ByStage<ByLane<u64>>,
    /// Of workers at work.
    pub busy_ns: ByStage<u64>,
    /// Of workers that could not hand on what they had.
    pub blocked_ns: ByStage<u64>,
    /// What the work that ended was planned to take.
    pub planned_ns: ByStage<u64>,
    /// Intended start to end, of images that completed.
    pub response: ByLane<Histogram>,
    /// Admission to end, of the same.
    pub response_admitted: ByLane<Histogram>,
    /// Intended start to admission, of images that were admitted.
    pub admission_wait: ByLane<Histogram>,
    /// The wait before each stage, of images that were taken from there.
    pub queue_wait: ByStage<ByLane<Histogram>>,
}

/// What is where, from one change to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Levels {
    pub(super) in_flight: u64,
    pub(super) queued: ByStage<ByLane<u64>>,
    pub(super) at_work: ByStage<u64>,
    pub(super) blocked: ByStage<u64>,
}

impl WindowAccount {
    pub(super) fn holds(&self, now: Duration) -> bool {
        self.from <= now && now < self.until
    }

    /// These were the levels from one instant to another.
    pub(super) fn pass(&mut self, from: Duration, to: Duration, levels: &Levels) {
        let ns = nanoseconds(to.min(self.until).saturating_sub(from.max(self.from)));
        if ns == 0 {
            return;
        }
        self.in_flight_integral_ns += levels.in_flight * ns;
        for stage in Stage::ALL {
            self.busy_ns[stage] += levels.at_work[stage] * ns;
            self.blocked_ns[stage] += levels.blocked[stage] * ns;
            for lane in Lane::ALL {
                let queued = levels.queued[stage][lane];
                self.queued_integral_ns[stage][lane] += queued * ns;
                let peak = &mut self.queued_peak[stage][lane];
                *peak = (*peak).max(queued);
            }
        }
    }

    /// An image was taken from the queue before a stage.
    pub(super) fn taken(&mut self, stage: Stage, image: &Image, now: Duration) {
        if self.holds(now) {
            self.queue_wait[stage][image.lane].record(nanoseconds(now.saturating_sub(image.queued)));
        }
    }

    /// A stage has done what was planned to take this long.
    pub(super) fn did(&mut self, stage: Stage, planned: Duration, now: Duration) {
        if self.holds(now) {
            self.planned_ns[stage] += nanoseconds(planned);
        }
    }
}

impl PipelineAccount {
    pub(super) fn admitted(&mut self, lane: Lane, intended: Duration, now: Duration) {
        self.counts[lane].admitted += 1;
        if self.window.holds(now) {
            self.window.admission_wait[lane].record(nanoseconds(now.saturating_sub(intended)));
        }
    }

    pub(super) fn completed(&mut self, image: Image, now: Duration, is_drained: bool) {
        let counts = &mut self.counts[image.lane];
        counts.completed += 1;
        counts.drained += u64::from(is_drained);
        let latest = &mut self.latest[image.lane];
        self.overtaken[image.lane] += u64::from(image.number < *latest);
        *latest = image.number.max(*latest);
        if self.window.holds(now) {
            self.window.completed[image.lane] += 1;
            let from = |instant| nanoseconds(now.saturating_sub(instant));
            self.window.response[image.lane].record(from(image.intended));
            self.window.response_admitted[image.lane].record(from(image.admitted));
        }
        if image.number.is_multiple_of(IMAGES_PER_SAMPLE) && self.samples.len() < SAMPLES_MAX {
            let Image { seed, steps, checksum, .. } = image;
            self.samples.push(Sample { seed, steps, checksum });
        }
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
