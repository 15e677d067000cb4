//! Which images were admitted and are on their way to the batcher, and when each can be there.

use std::collections::BTreeSet;
use std::time::Duration;

use super::lane::{ByLane, Lane};

/// An image that is on its way: whoever carries it gives this back to the batcher, with the image or without.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the batcher waits for an image that is expected until it is offered or forgotten"]
pub struct Expected {
    lane: Lane,
    due: Duration,
    number: u64,
}

impl Expected {
    /// The image's lane.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        self.lane
    }
}

/// All that are on their way.
#[derive(Debug, Default)]
pub(super) struct OnTheWay {
    // The soonest is first.
    due: ByLane<BTreeSet<(Duration, u64)>>,
    next_number: u64,
}

impl OnTheWay {
    pub(super) fn add(&mut self, lane: Lane, due: Duration) -> Expected {
        let number = self.next_number;
        self.next_number += 1;
        self.due[lane].insert((due, number));
        Expected { lane, due, number }
    }

    pub(super) fn remove(&mut self, expected: &Expected) {
        self.due[expected.lane].remove(&(expected.due, expected.number));
    }

    pub(super) fn count(&self, lane: Lane) -> usize {
        self.due[lane].len()
    }

    /// Whether an image of the lane can arrive by then. One that is late can arrive at any time.
    pub(super) fn can_arrive_by(&self, lane: Lane, instant: Duration) -> bool {
        self.due[lane].first().is_some_and(|(due, _)| *due <= instant)
    }
}
