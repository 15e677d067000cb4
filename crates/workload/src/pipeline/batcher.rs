//! What makes a batch, and when: the policy as a state machine without a clock.

use std::time::Duration;

use super::expected::{Expected, OnTheWay};
use super::lane::{ByLane, Lane};
use super::policy::{OnInteractive, Order, Policy};
use super::queue::{LaneQueue, QueueFull};

/// The images before the devices that detect, and the decision which of them are the next batch.
///
/// A driver tells of each image when it is admitted (`expect`) and when it arrives (`offer`), or that it never will
/// (`forget`). Whoever has a device that is free asks what is `next`, and asks again after each of those calls and at
/// the instant that it was told.
#[derive(Debug)]
pub struct Batcher<T> {
    policy: Policy,
    queue: LaneQueue<T>,
    on_the_way: OnTheWay,
    /// Since when a device that is free could have worked.
    open_since: Option<Duration>,
}

/// What a device that is free does now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// Detect these.
    Batch(Batch<T>),
    /// There are images, and it is better to wait for more until then.
    WaitUntil(Duration),
    /// There is no image.
    Idle,
}

/// Images that go through a device together, in the order in which they were taken. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<T> {
    /// Each with its lane.
    pub images: Vec<(Lane, T)>,
}

/// There is no room for an image, which comes back with what the batcher knows it by.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the batcher's queue is full")]
pub struct Unoffered<T> {
    /// The image.
    pub image: T,
    /// It is still expected.
    pub expected: Expected,
}

impl<T> Batcher<T> {
    /// Nothing waits yet. The capacity is that of the queue before the devices; one that is smaller than a batch makes
    /// batches of its own size.
    #[must_use]
    pub fn new(policy: Policy, capacity: usize) -> Batcher<T> {
        let queue = LaneQueue::new(policy.order, capacity);
        Batcher { policy, queue, on_the_way: OnTheWay::default(), open_since: None }
    }

    /// An image was admitted, and can be here at `due` at the soonest: now, and what the stages before take by
    /// themselves. It is on its way until it is offered or forgotten.
    pub fn expect(&mut self, lane: Lane, due: Duration) -> Expected {
        self.on_the_way.add(lane, due)
    }

    /// The image will not come: a stage before failed.
    #[expect(clippy::needless_pass_by_value, reason = "what is given back cannot be given again")]
    pub fn forget(&mut self, expected: Expected) {
        self.on_the_way.remove(&expected);
    }

    /// An image has arrived.
    ///
    /// # Errors
    ///
    /// Gives it back where the queue is full: offer it again after the next batch.
    pub fn offer(&mut self, image: T, expected: Expected) -> Result<(), Unoffered<T>> {
        match self.queue.push(expected.lane(), image) {
            Ok(()) => {
                self.on_the_way.remove(&expected);
                Ok(())
            }
            Err(QueueFull(image)) => Err(Unoffered { image, expected }),
        }
    }

    /// Whether room can be kept for an image of the lane.
    #[must_use]
    pub fn has_room(&self, lane: Lane) -> bool {
        self.queue.has_room(lane)
    }

    /// Keeps room for an image of the lane, before it is decoded. False where there is none: ask again after the next
    /// batch.
    #[must_use]
    pub fn reserve(&mut self, lane: Lane) -> bool {
        self.queue.reserve(lane)
    }

    /// An image has arrived for which room was kept.
    ///
    /// # Panics
    ///
    /// Where no room was kept.
    #[expect(clippy::needless_pass_by_value, reason = "what is given back cannot be given again")]
    pub fn offer_reserved(&mut self, image: T, expected: Expected) {
        self.queue.push_reserved(expected.lane(), image);
        self.on_the_way.remove(&expected);
    }

    /// The image for which room was kept will not come.
    ///
    /// # Panics
    ///
    /// Where no room was kept.
    pub fn forget_reserved(&mut self, expected: Expected) {
        self.queue.cancel_reservation(expected.lane());
        self.forget(expected);
    }

    /// What a device that is free does now. `now` never goes back.
    pub fn next(&mut self, now: Duration) -> Next<T> {
        let Some(first) = self.queue.first() else { return Next::Idle };
        let has_gathered = self.open_since.is_some();
        let since = *self.open_since.get_or_insert(now);
        let first_is_urgent = first == Lane::Interactive && self.policy.order == Order::InteractiveFirst;
        let until = match (first_is_urgent, self.policy.on_interactive) {
            (true, OnInteractive::Flush) => now,
            (true, OnInteractive::FlushGathered) if has_gathered => now,
            (true, OnInteractive::FlushGathered) => return Next::Batch(self.take_up_to(1)),
            (true, OnInteractive::Join) => self.fill_until(first, since),
            (false, _) => self.fill_until(first, since).max(self.hold_until(since)),
        };
        if now < until { Next::WaitUntil(until) } else { Next::Batch(self.take(first)) }
    }

    /// The images of each lane that wait here.
    #[must_use]
    pub fn waiting(&self) -> ByLane<usize> {
        self.queue.waiting()
    }

    /// The images of a lane that were admitted and are not here yet.
    #[must_use]
    pub fn on_the_way(&self, lane: Lane) -> usize {
        self.on_the_way.count(lane)
    }

    /// Until when the batch is filled: not at all where it is full, or where nothing can arrive in time.
    fn fill_until(&self, first: Lane, since: Duration) -> Duration {
        let until = since + self.policy.window;
        let can_come = |lane| self.queue.can_grow(lane) && self.on_the_way.can_arrive_by(lane, until);
        let can_grow = self.queue.len() < self.size_max(first) && Lane::ALL.into_iter().any(can_come);
        if can_grow { until } else { since }
    }

    /// Until when the device is held for an interactive image, where one can arrive in time.
    fn hold_until(&self, since: Duration) -> Duration {
        let until = since + self.policy.hold;
        if self.on_the_way.can_arrive_by(Lane::Interactive, until) { until } else { since }
    }

    fn size_max(&self, first: Lane) -> usize {
        self.policy.size_max(first, self.on_the_way.count(Lane::Interactive))
    }

    /// Takes what is next until the batch is full. Where the order is by lanes, interactive images are what is next.
    fn take(&mut self, first: Lane) -> Batch<T> {
        self.take_up_to(self.size_max(first))
    }

    fn take_up_to(&mut self, size_max: usize) -> Batch<T> {
        self.open_since = None;
        let bulk_max = match self.policy.order {
            Order::Arrival => size_max,
            Order::InteractiveFirst => self.policy.bulk_max.min(size_max),
        };
        let mut images = Vec::with_capacity(size_max.min(self.queue.len()));
        let mut bulk = 0;
        while images.len() < size_max && !(self.queue.first() == Some(Lane::Bulk) && bulk == bulk_max) {
            let Some((lane, image)) = self.queue.pop() else { break };
            bulk += usize::from(lane == Lane::Bulk);
            images.push((lane, image));
        }
        Batch { images }
    }
}
