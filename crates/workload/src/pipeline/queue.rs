//! A bounded queue of images before a stage, by arrival or by lanes.

use std::collections::VecDeque;

use super::lane::{ByLane, Lane};
use super::policy::Order;

/// A bounded queue. Where interactive work is first, each lane has the capacity to itself, so that neither waits for
/// room that the other takes; where arrival decides, both share it.
///
/// Room can be reserved before there is an image to put in it: a stage whose result is large can wait to begin until
/// the next stage can take it.
#[derive(Debug)]
pub struct LaneQueue<T> {
    order: Order,
    capacity: usize,
    // By arrival, everything is in the bulk one.
    images: ByLane<VecDeque<(Lane, T)>>,
    reserved: ByLane<usize>,
    waiting: ByLane<usize>,
}

/// There is no room; the image comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue is full")]
pub struct QueueFull<T>(pub T);

impl<T> LaneQueue<T> {
    /// An empty queue of that capacity, in images, of each lane or of both together.
    #[must_use]
    pub fn new(order: Order, capacity: usize) -> LaneQueue<T> {
        LaneQueue {
            order,
            capacity,
            images: ByLane { interactive: VecDeque::new(), bulk: VecDeque::new() },
            reserved: ByLane::default(),
            waiting: ByLane::default(),
        }
    }

    /// Puts an image at the end.
    ///
    /// # Errors
    ///
    /// Gives the image back where there is no room.
    pub fn push(&mut self, lane: Lane, image: T) -> Result<(), QueueFull<T>> {
        if !self.has_room(lane) {
            return Err(QueueFull(image));
        }
        self.put(lane, image);
        Ok(())
    }

    /// Takes the image that is next.
    pub fn pop(&mut self) -> Option<(Lane, T)> {
        let next = self.images.interactive.pop_front().or_else(|| self.images.bulk.pop_front());
        next.inspect(|(lane, _)| self.waiting[*lane] -= 1)
    }

    /// The lane of the image that is next.
    #[must_use]
    pub fn first(&self) -> Option<Lane> {
        self.images.interactive.front().or_else(|| self.images.bulk.front()).map(|(lane, _)| *lane)
    }

    /// Whether an image of the lane, or a reservation for one, has room.
    #[must_use]
    pub fn has_room(&self, lane: Lane) -> bool {
        let line = self.line(lane);
        self.images[line].len() + self.reserved[line] < self.capacity
    }

    /// Whether an image of the lane can still come, reserved room being for such a one.
    pub(super) fn can_grow(&self, lane: Lane) -> bool {
        self.images[self.line(lane)].len() < self.capacity
    }

    /// Keeps room for an image of the lane. False where there is none.
    #[must_use]
    pub fn reserve(&mut self, lane: Lane) -> bool {
        let has_room = self.has_room(lane);
        if has_room {
            let line = self.line(lane);
            self.reserved[line] += 1;
        }
        has_room
    }

    /// Puts an image where room was kept for it.
    ///
    /// # Panics
    ///
    /// Where no room was kept.
    pub fn push_reserved(&mut self, lane: Lane, image: T) {
        self.cancel_reservation(lane);
        self.put(lane, image);
    }

    /// Gives room up that was kept for an image which does not come.
    ///
    /// # Panics
    ///
    /// Where no room was kept.
    pub fn cancel_reservation(&mut self, lane: Lane) {
        let line = self.line(lane);
        self.reserved[line] = self.reserved[line].checked_sub(1).expect("room was kept");
    }

    /// How many images of each lane wait.
    #[must_use]
    pub fn waiting(&self) -> ByLane<usize> {
        self.waiting
    }

    /// How many images wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.interactive + self.waiting.bulk
    }

    /// Whether no image waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn put(&mut self, lane: Lane, image: T) {
        let line = self.line(lane);
        self.images[line].push_back((lane, image));
        self.waiting[lane] += 1;
    }

    /// The queue in which an image of the lane waits.
    fn line(&self, lane: Lane) -> Lane {
        match self.order {
            Order::Arrival => Lane::Bulk,
            Order::InteractiveFirst => lane,
        }
    }
}
