//! How an image goes from stage to stage, and how it leaves.

use std::time::Duration;

use workload::pipeline::{Form, Stage};

use super::{Ended, State};
use crate::pipeline::image::Image;

impl State {
    /// A fetch that cannot hand its image on keeps its place.
    pub(super) fn hand_on_fetched(&mut self, now: Duration) -> bool {
        let queue = &self.decode_queue;
        let Some(index) = self.fetched.iter().position(|image| queue.has_room(image.lane)) else {
            return false;
        };
        let mut image = self.fetched.remove(index).expect("it was found there");
        image.queued = now;
        assert!(self.decode_queue.push(image.lane, image).is_ok(), "there is room");
        true
    }

    /// A device is free when the next stage has taken its whole batch.
    pub(super) fn hand_on_detected(&mut self, now: Duration) -> bool {
        let mut any = false;
        for images in &mut self.detected {
            while let Some(mut image) = images.pop_front() {
                if !self.post_queue.has_room(image.lane) {
                    images.push_front(image);
                    break;
                }
                image.queued = now;
                assert!(self.post_queue.push(image.lane, image).is_ok(), "there is room");
                any = true;
            }
        }
        let before = self.detected.len();
        self.detected.retain(|images| !images.is_empty());
        self.batcher_changed |= self.detected.len() < before;
        any
    }

    pub(super) fn decoded(&mut self, mut image: Image, now: Duration) {
        self.bytes.give_back(Form::Compressed, self.setup.spec.image.compressed);
        image.queued = now;
        let expected = image.expected.take().expect("it is offered once");
        self.batcher.offer_reserved(image, expected);
        self.batcher_changed = true;
    }

    pub(super) fn complete(&mut self, mut image: Image, now: Duration) {
        image.tell(now);
        self.bytes.give_back(Form::Decoded, self.setup.spec.image.decoded);
        self.admission.release(image.lane);
        self.any_left = true;
        self.account.completed(image, now, !self.admits);
    }

    /// An image ends where it is.
    pub(super) fn fail(&mut self, stage: Stage, image: Image, ended: Ended) {
        let bytes = self.setup.spec.image;
        if matches!(stage, Stage::Fetch | Stage::Decode) {
            self.bytes.give_back(Form::Compressed, bytes.compressed);
        }
        if stage != Stage::Fetch {
            self.bytes.give_back(Form::Decoded, bytes.decoded);
        }
        if let Some(expected) = image.expected {
            match stage {
                Stage::Decode => self.batcher.forget_reserved(expected),
                _ => self.batcher.forget(expected),
            }
        }
        self.batcher_changed = true;
        self.admission.release(image.lane);
        self.any_left = true;
        let counts = &mut self.account.counts[image.lane];
        match ended {
            Ended::Panicked => counts.panicked += 1,
            Ended::Done | Ended::Lost => counts.lost += 1,
        }
    }
}
