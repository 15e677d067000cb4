//! Who is admitted: at once, or from the line of those who wait.

use std::time::Duration;

use workload::pipeline::{AdmissionFull, Lane, Turn};

use super::State;
use crate::pipeline::awaited::Told;
use crate::pipeline::image::Image;

/// An image that waits for a slot.
#[derive(Debug)]
pub(in crate::pipeline) struct Waiting {
    pub(in crate::pipeline) number: u64,
    pub(in crate::pipeline) lane: Lane,
    intended: Duration,
    told: Option<Told>,
    /// None while it is asked whether it is its turn.
    turn: Option<Turn>,
    /// Whether a thread waits for it, which takes it out of the line itself.
    pub(in crate::pipeline) is_awaited: bool,
}

impl State {
    /// Takes a slot at once.
    pub(in crate::pipeline) fn try_admit(
        &mut self,
        lane: Lane,
        intended: Duration,
        now: Duration,
        told: Option<Told>,
    ) -> Result<(), AdmissionFull> {
        let admitted = if self.fetch_queue.has_room(lane) {
            self.admission.try_admit(lane)
        } else {
            let in_flight = self.in_flight();
            let in_flight_max = self.setup.spec.in_flight_max;
            Err(AdmissionFull { lane, in_flight, in_flight_max, waiting: self.line.len() })
        };
        admitted.inspect(|()| self.enter(lane, intended, now, told))
    }

    /// Stands in line. `settle` admits it. Returns its number in the line.
    pub(in crate::pipeline) fn stand_in_line(
        &mut self,
        lane: Lane,
        intended: Duration,
        is_awaited: bool,
        told: Option<Told>,
    ) -> u64 {
        let number = self.next_in_line;
        self.next_in_line += 1;
        let turn = Some(self.admission.wait(lane));
        self.line.push_back(Waiting { number, lane, intended, told, turn, is_awaited });
        number
    }

    /// Takes the images out of the line for which `leaves` says so.
    pub(in crate::pipeline) fn withdraw(&mut self, leaves: impl Fn(&Waiting) -> bool) {
        let (leaving, staying) = std::mem::take(&mut self.line).into_iter().partition(leaves);
        self.line = staying;
        for waiting in Vec::from_iter::<std::collections::VecDeque<_>>(leaving) {
            self.account.counts[waiting.lane].withdrawn += 1;
            self.admission.withdraw(waiting.turn.expect("nobody asks for it now"));
        }
    }

    /// Admits the one whose turn it is, where there is a slot for it and room before the first stage.
    pub(super) fn admit_from_line(&mut self, now: Duration) -> bool {
        if !self.admits {
            return false;
        }
        Lane::ALL.into_iter().any(|lane| {
            let Some(index) = self.line.iter().position(|waiting| waiting.lane == lane) else { return false };
            if !self.fetch_queue.has_room(lane) {
                return false;
            }
            let turn = self.line[index].turn.take().expect("nobody else asks for it");
            match self.admission.take_turn(turn) {
                Ok(()) => {
                    let waiting = self.line.remove(index).expect("it was found there");
                    self.any_left = true;
                    self.enter(lane, waiting.intended, now, waiting.told);
                    true
                }
                Err(turn) => {
                    self.line[index].turn = Some(turn);
                    false
                }
            }
        })
    }

    fn enter(&mut self, lane: Lane, intended: Duration, now: Duration, told: Option<Told>) {
        let spec = &self.setup.spec;
        let number = self.next_number;
        self.next_number += 1;
        let costs = spec.costs.of_image(number, spec.variation);
        let expected = Some(self.batcher.expect(lane, now + spec.costs.to_batcher()));
        self.batcher_changed = true;
        let seed = self.setup.seed.wrapping_add(number);
        let (admitted, queued, checksum, steps) = (now, now, seed, Vec::new());
        let image =
            Image { number, lane, costs, intended, admitted, queued, expected, seed, checksum, steps, told };
        assert!(self.fetch_queue.push(lane, image).is_ok(), "room was looked for");
        self.account.admitted(lane, intended, now);
        let bulk_max = spec.in_flight_max.saturating_sub(spec.policy.interactive_reserved);
        if self.account.filled.is_none() && self.in_flight() >= bulk_max {
            self.account.filled = Some(now);
        }
    }
}
