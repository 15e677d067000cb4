//! Who may enter the pipeline: a limit on images in flight, a part of it that bulk work leaves to interactive work, and
//! a line of those who wait.

use std::collections::VecDeque;

use super::lane::{ByLane, Lane};
use super::policy::Order;

/// The images in flight and those who wait to bring one.
///
/// An interactive image may have any slot that is free. A bulk image may have one only while fewer bulk images are in
/// flight than the limit less the reserved slice, so that the slice is never bulk work's.
#[derive(Debug)]
pub struct Admission {
    order: Order,
    in_flight_max: usize,
    bulk_max: usize,
    in_flight: ByLane<usize>,
    in_flight_peak: usize,
    line: VecDeque<(Lane, u64)>,
    next_number: u64,
}

/// No slot is free for an image of the lane, or somebody has waited longer for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {lane} image is admitted now: {in_flight} of {in_flight_max} are in flight and {waiting} wait")]
pub struct AdmissionFull {
    /// The lane that was asked for.
    pub lane: Lane,
    /// Images in flight, of both lanes.
    pub in_flight: usize,
    /// The most images in flight, of both lanes.
    pub in_flight_max: usize,
    /// Those who wait already.
    pub waiting: usize,
}

/// A place in the line of those who wait to be admitted.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "who waits for a turn and neither takes nor leaves it holds up those behind"]
pub struct Turn {
    lane: Lane,
    number: u64,
}

impl Admission {
    /// Nobody is in flight yet. A slice as large as the limit leaves bulk work nothing.
    #[must_use]
    pub fn new(order: Order, in_flight_max: usize, interactive_reserved: usize) -> Admission {
        Admission {
            order,
            in_flight_max,
            bulk_max: in_flight_max.saturating_sub(interactive_reserved),
            in_flight: ByLane::default(),
            in_flight_peak: 0,
            line: VecDeque::new(),
            next_number: 0,
        }
    }

    /// Takes a slot at once.
    ///
    /// # Errors
    ///
    /// Where no slot is free for the lane, or somebody waits who is before it.
    pub fn try_admit(&mut self, lane: Lane) -> Result<(), AdmissionFull> {
        let is_behind = match self.order {
            Order::Arrival => !self.line.is_empty(),
            Order::InteractiveFirst => self.line.iter().any(|(waiting, _)| *waiting <= lane),
        };
        if is_behind || !self.has_slot(lane) {
            let in_flight = self.in_flight_total();
            let waiting = self.line.len();
            return Err(AdmissionFull { lane, in_flight, in_flight_max: self.in_flight_max, waiting });
        }
        self.take(lane);
        Ok(())
    }

    /// Stands in line for a slot.
    pub fn wait(&mut self, lane: Lane) -> Turn {
        let number = self.next_number;
        self.next_number += 1;
        self.line.push_back((lane, number));
        Turn { lane, number }
    }

    /// Takes a slot where it is this turn's. Otherwise the turn comes back: ask again after a release, and after
    /// somebody took a slot or left the line.
    ///
    /// # Errors
    ///
    /// Gives the turn back where it is not its time yet.
    pub fn take_turn(&mut self, turn: Turn) -> Result<(), Turn> {
        if self.next_in_line() != Some((turn.lane, turn.number)) || !self.has_slot(turn.lane) {
            return Err(turn);
        }
        self.leave_line(turn.number);
        self.take(turn.lane);
        Ok(())
    }

    /// Leaves the line without a slot.
    pub fn withdraw(&mut self, turn: Turn) {
        self.leave_line(turn.number);
    }

    /// Gives the slot of an image that has left the pipeline back.
    ///
    /// # Panics
    ///
    /// Where no image of the lane is in flight.
    pub fn release(&mut self, lane: Lane) {
        self.in_flight[lane] = self.in_flight[lane].checked_sub(1).expect("who leaves was in flight");
    }

    /// The images of each lane in flight.
    #[must_use]
    pub fn in_flight(&self) -> ByLane<usize> {
        self.in_flight
    }

    /// The most images in flight at one time so far.
    #[must_use]
    pub fn in_flight_peak(&self) -> usize {
        self.in_flight_peak
    }

    /// How many wait in line.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.line.len()
    }

    fn in_flight_total(&self) -> usize {
        self.in_flight.interactive + self.in_flight.bulk
    }

    fn has_slot(&self, lane: Lane) -> bool {
        let may_have = lane == Lane::Interactive || self.in_flight.bulk < self.bulk_max;
        may_have && self.in_flight_total() < self.in_flight_max
    }

    fn next_in_line(&self) -> Option<(Lane, u64)> {
        match self.order {
            Order::Arrival => self.line.front().copied(),
            // The smaller lane is the more urgent one, and the smaller number came first.
            Order::InteractiveFirst => self.line.iter().min().copied(),
        }
    }

    fn take(&mut self, lane: Lane) {
        self.in_flight[lane] += 1;
        self.in_flight_peak = self.in_flight_peak.max(self.in_flight_total());
    }

    fn leave_line(&mut self, number: u64) {
        self.line.retain(|(_, waiting)| *waiting != number);
    }
}
