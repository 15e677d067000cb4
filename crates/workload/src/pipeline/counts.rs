//! What is counted while images go through the pipeline, in the words that snapshots and results share.

use serde::{Deserialize, Serialize};

use super::lane::ByLane;
use super::stage::ByStage;

/// Where the images of a lane are. Each that was offered is in exactly one of the others, but `admitted` and `drained`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneCounts {
    /// Images brought to the pipeline.
    pub offered: u64,
    /// Images that got a slot.
    pub admitted: u64,
    /// Images that were turned away: no slot was free and they would not wait, or the line was full.
    pub refused: u64,
    /// Images that waited for a slot when the pipeline stopped to admit.
    pub withdrawn: u64,
    /// Gauge: images that wait for a slot.
    pub waiting: u64,
    /// Gauge: images in flight. At the end, those that the drain's deadline found in the pipeline.
    pub in_flight: u64,
    /// Images that went through every stage.
    pub completed: u64,
    /// Of these, the ones that were in flight when the pipeline stopped to admit.
    pub drained: u64,
    /// Images that a stage panicked with.
    pub panicked: u64,
    /// Images that a stage dropped without a word. More than 0 is a bug of the runtime.
    pub lost: u64,
}

impl LaneCounts {
    /// Whether every image that was offered is accounted for once.
    #[must_use]
    pub const fn add_up(&self) -> bool {
        let ended = self.completed + self.panicked + self.lost;
        self.admitted == ended + self.in_flight
            && self.offered == self.admitted + self.refused + self.withdrawn + self.waiting
    }
}

/// The pipeline at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineLevels {
    /// Where the images are.
    pub counts: ByLane<LaneCounts>,
    /// Images that wait before each stage.
    pub queued: ByStage<ByLane<u64>>,
    /// Workers of each stage that have an image or a batch: at work, or unable to hand it on.
    pub busy: ByStage<u64>,
    /// The compressed bytes of the images in flight.
    pub compressed_bytes: u64,
    /// Their decoded bytes.
    pub decoded_bytes: u64,
    /// The most images in flight at one time so far.
    pub in_flight_peak: u64,
}
