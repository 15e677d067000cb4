//! An image on its way through the stages.

use std::time::Duration;

use workload::pipeline::{Expected, ImageCosts, Lane};
use workload::{Answer, Progress, Step};

use super::awaited::{Through, Told};

/// An image in flight. Instants count from the pipeline's start.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) number: u64,
    pub(super) lane: Lane,
    pub(super) costs: ImageCosts,
    pub(super) intended: Duration,
    pub(super) admitted: Duration,
    /// Since when it waits before the stage that is next.
    pub(super) queued: Duration,
    /// What the batcher knows it by, until it is there.
    pub(super) expected: Option<Expected>,
    pub(super) seed: u64,
    /// What the stages so far have made of the seed, and the steps that they say to have done.
    pub(super) checksum: u64,
    pub(super) steps: Vec<Step>,
    /// Who waits for its end.
    pub(super) told: Option<Told>,
}

impl Image {
    /// It has gone through.
    pub(super) fn tell(&mut self, now: Duration) {
        let through = Through {
            response: now.saturating_sub(self.intended),
            response_admitted: now.saturating_sub(self.admitted),
        };
        // Whoever waited may have gone.
        let _heard = self.told.take().map(|told| told.try_send(through));
    }

    /// A stage has carried these steps out.
    pub(super) fn did(&mut self, steps: &[Step], answer: Answer) {
        self.steps.extend_from_slice(steps);
        self.checksum = answer.checksum;
    }

    /// It was in a batch whose work is in the checksum of another image.
    pub(super) fn was_beside(&mut self) {
        let mut progress = Progress::new(self.checksum);
        progress.waited();
        self.did(&[Step::Wait(Duration::ZERO)], progress.answer());
    }
}
