//! The batching pipeline as a task, and what came of it.

use std::collections::BTreeMap;

use latency_histogram::Histogram;
use serde::{Deserialize, Serialize};
use workload::BlockingStrategy;
use workload::arrivals::Spacing;
use workload::pipeline::{ByLane, ByStage, LaneCounts, PipelineSpec, PlannedFault};

use crate::event::Usage;

/// A pipeline and its load, in process.
///
/// From `go`, images are offered for the warm-up and the window that follows. Then nothing more is admitted, and what is
/// in flight is finished. `stop` ends the load at once, and there is a result all the same: of a window that is shorter, or
/// empty, and of no image where there was no `go`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineTask {
    /// Stages, costs, queues, limits and policy.
    pub pipeline: PipelineSpec,
    /// What a stage that computes does with its thread.
    pub strategy: BlockingStrategy,
    /// Rounds of the compute kernel that a microsecond of CPU time holds: what the costs of stages are computed with.
    pub rounds_per_us: f64,
    /// Image i has `seed + i`.
    pub seed: u64,
    /// What is offered.
    pub load: PipelineLoad,
    /// Faults to plant.
    #[serde(default)]
    pub faults: Vec<PlannedFault>,
    /// How long what is in flight at the end of the window may take to finish, in nanoseconds.
    pub drain_limit_ns: u64,
}

/// The images that are offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineLoad {
    /// Interactive images a second, by schedule, however the pipeline fares; 0 for none. Where the policy keeps no
    /// slots for them, those that find no slot wait in line; otherwise they are refused.
    pub interactive_per_s: f64,
    /// How they are spaced.
    pub interactive_spacing: Spacing,
    /// The seed of their schedule.
    pub interactive_seed: u64,
    /// Bulk images, of which one is always ready and waits for a slot; none for as many as are admitted.
    pub bulk_images_max: Option<u64>,
    /// How long the load runs before it is measured, in nanoseconds.
    pub warm_up_ns: u64,
    /// How long it is measured, in nanoseconds.
    pub window_ns: u64,
}

/// What came of the images.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineResult {
    /// Where the images of the whole run ended, from the first one to the end of the drain.
    pub counts: ByLane<LaneCounts>,
    /// Images that completed after one of their lane that was admitted later. Where a stage has several at work, one may
    /// be quicker than another.
    #[serde(default)]
    pub overtaken: ByLane<u64>,
    /// An example of what an image was told that was refused.
    pub refusal_example: Option<String>,
    /// From `go` to the end of the drain, in nanoseconds.
    pub elapsed_ns: u64,
    /// From the end of the load until the last image had ended or the drain's limit had come, in nanoseconds.
    pub drain_elapsed_ns: u64,
    /// From `go` until for the first time as many images were in flight as bulk work may have, in nanoseconds; none
    /// where that never was.
    pub filled_ns: Option<u64>,
    /// The most images in flight at one time, over the whole run.
    pub in_flight_peak: u64,
    /// The most bytes of images in flight at one time, in both forms.
    pub bytes_peak: u64,
    /// The most decoded bytes at one time.
    pub decoded_bytes_peak: u64,
    /// Images whose checksum was computed again, and of these, those that had another one.
    pub checksums_checked: u64,
    /// More than 0: a stage did not do its work.
    pub checksums_wrong: u64,
    /// The measured part.
    pub window: PipelineWindow,
}

/// What happened between the end of the warm-up and the end of the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineWindow {
    /// Its length, in nanoseconds.
    pub elapsed_ns: u64,
    /// Images that went through. They leave in batches: at each edge, the count is out by as much as a batch.
    pub completed: ByLane<u64>,
    /// Batches that began, by their size: pairs of both, since a key of a JSON object is text, and an event with a tag does
    /// not take it for a number.
    #[serde(with = "pairs")]
    pub batch_sizes: BTreeMap<usize, u64>,
    /// The integral of images in flight over the window, in nanoseconds.
    pub in_flight_integral_ns: u64,
    /// The integral of images in the queue before each stage, in nanoseconds.
    pub queued_integral_ns: ByStage<ByLane<u64>>,
    /// The most images at one time in the queue before each stage.
    pub queued_peak: ByStage<ByLane<u64>>,
    /// For how long workers of each stage were at work, taken together, in nanoseconds of wall time. A device that
    /// was busy all the time has the window's length.
    pub busy_ns: ByStage<u64>,
    /// For how long workers of each stage could not hand on what they had done, in nanoseconds.
    pub blocked_ns: ByStage<u64>,
    /// What the work of each stage that ended in the window was planned to take, in nanoseconds. Of the stages on the
    /// cores, this is CPU time to hold against `usage`.
    pub planned_ns: ByStage<u64>,
    /// Usage during the window, the load's own among it.
    pub usage: Usage,
    /// Intended start to end, of images that completed in the window. A bulk image is intended to start when it is
    /// ready, and waits for its slot from then.
    pub response: ByLane<Histogram>,
    /// Admission to end, of the same images.
    pub response_admitted: ByLane<Histogram>,
    /// Intended start to admission, of images that were admitted in the window.
    pub admission_wait: ByLane<Histogram>,
    /// The wait in the queue before each stage, of images that were taken from it in the window.
    pub queue_wait: ByStage<ByLane<Histogram>>,
    /// Intended start of an interactive image until it was offered: how late the generator was.
    pub send_lag: Histogram,
}

mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<usize, u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<usize, u64>, D::Error> {
        Ok(Vec::deserialize(from)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    #[test]
    fn a_result_survives_its_event() {
        let window =
            PipelineWindow { batch_sizes: BTreeMap::from([(1, 3), (16, 40)]), ..PipelineWindow::default() };
        let result = PipelineResult { filled_ns: Some(7), window, ..PipelineResult::default() };
        let text = serde_json::to_string(&Event::Pipeline(Box::new(result.clone()))).unwrap();
        let Event::Pipeline(back) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        assert_eq!(*back, result);
    }
}
