//! The side of those who bring images and see the pipeline to its end. They are no workers: they may block.

use std::sync::{Condvar, MutexGuard};
use std::time::{Duration, Instant};

use workload::pipeline::{AdmissionFull, Lane};

use super::awaited::{Awaited, Told};
use super::stages::Stages;
use super::state::State;

/// The most images that wait in line.
const LINE_MAX: usize = 10_000;

/// An image was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// It would have to wait.
    #[error(transparent)]
    Full(#[from] AdmissionFull),
    /// Too many wait.
    #[error("{LINE_MAX} images wait to be admitted, and no more may")]
    LineFull,
    /// It has waited for as long as it would.
    #[error("no slot was free in time")]
    TimedOut,
    /// The pipeline is being drained.
    #[error("the pipeline admits nothing any more")]
    Closed,
}

impl Stages {
    /// Brings an image that will not wait.
    ///
    /// # Errors
    ///
    /// No slot is free for it now, or none ever will be.
    pub fn try_admit(&self, lane: Lane, intended: Instant) -> Result<(), NotAdmitted> {
        self.try_admit_told(lane, intended, None)
    }

    /// Brings an interactive image: it waits in line where the policy keeps no slots for its like, and is refused where
    /// those are taken. Whoever brings it does not wait.
    ///
    /// # Errors
    ///
    /// No slot is free for it, or too many wait.
    pub fn offer_interactive(&self, intended: Instant) -> Result<(), NotAdmitted> {
        self.offer_interactive_told(intended, None)
    }

    /// As [`offer_interactive`](Stages::offer_interactive), for whoever waits for the image's end.
    ///
    /// # Errors
    ///
    /// No slot is free for it, or too many wait.
    pub fn await_interactive(&self, intended: Instant) -> Result<Awaited, NotAdmitted> {
        let (told, awaited) = Awaited::new();
        self.offer_interactive_told(intended, Some(told)).map(|()| awaited)
    }

    fn offer_interactive_told(&self, intended: Instant, told: Option<Told>) -> Result<(), NotAdmitted> {
        let lane = Lane::Interactive;
        if self.setup.spec.policy.interactive_reserved > 0 {
            return self.try_admit_told(lane, intended, told);
        }
        self.bring(lane, |state, _| {
            may_wait(state)?;
            state.stand_in_line(lane, self.since_epoch(intended), false, told);
            Ok(())
        })
    }

    fn try_admit_told(&self, lane: Lane, intended: Instant, told: Option<Told>) -> Result<(), NotAdmitted> {
        self.bring(lane, |state, now| {
            if !state.admits {
                return Err(NotAdmitted::Closed);
            }
            Ok(state.try_admit(lane, self.since_epoch(intended), now, told)?)
        })
    }

    /// Brings an image and blocks until it is admitted. The pipeline slows down who brings images in this way.
    ///
    /// # Errors
    ///
    /// The image was not admitted by the deadline, or the pipeline admits nothing any more.
    pub fn admit(&self, lane: Lane, intended: Instant, deadline: Instant) -> Result<(), NotAdmitted> {
        self.admit_told(lane, intended, deadline, None)
    }

    /// As [`admit`](Stages::admit), for whoever waits for the image's end too.
    ///
    /// # Errors
    ///
    /// The image was not admitted by the deadline, or the pipeline admits nothing any more.
    pub fn await_admitted(
        &self,
        lane: Lane,
        intended: Instant,
        deadline: Instant,
    ) -> Result<Awaited, NotAdmitted> {
        let (told, awaited) = Awaited::new();
        self.admit_told(lane, intended, deadline, Some(told)).map(|()| awaited)
    }

    fn admit_told(
        &self,
        lane: Lane,
        intended: Instant,
        deadline: Instant,
        told: Option<Told>,
    ) -> Result<(), NotAdmitted> {
        let number = self.bring(lane, |state, _| {
            if !state.admits {
                return Err(NotAdmitted::Closed);
            }
            Ok(state.stand_in_line(lane, self.since_epoch(intended), true, told))
        })?;
        let waits = |state: &State| state.line.iter().any(|waiting| waiting.number == number);
        let state = self.wait_while(&self.left, deadline, |state| waits(state) && state.admits);
        let (is_admitted, admits) = (!waits(&state), state.admits);
        drop(state);
        if is_admitted {
            return Ok(());
        }
        self.change(|state, _| state.withdraw(|waiting| waiting.number == number));
        Err(if admits { NotAdmitted::TimedOut } else { NotAdmitted::Closed })
    }

    /// Admits nothing more, and whoever waits for a slot is told so.
    pub fn stop_admitting(&self) {
        self.change(|state, _| {
            state.admits = false;
            state.withdraw(|waiting| !waiting.is_awaited);
        });
        self.left.notify_all();
        self.admits_no_more.notify_all();
    }

    /// Blocks until that instant. False, and at once, where nothing is admitted any more.
    #[must_use]
    pub fn admits_until(&self, instant: Instant) -> bool {
        self.wait_while(&self.admits_no_more, instant, |state| state.admits).admits
    }

    /// Admits nothing more, finishes what is in flight, and closes the stages. Returns how many images were still in
    /// flight at the deadline, or when somebody else closed the stages before.
    pub fn drain(&self, deadline: Instant) -> usize {
        self.stop_admitting();
        let waits = |state: &State| state.in_flight() > 0 && !state.is_closed;
        let in_flight = self.wait_while(&self.left, deadline, waits).in_flight();
        self.close();
        in_flight
    }

    fn bring<T>(
        &self,
        lane: Lane,
        bring: impl FnOnce(&mut State, Duration) -> Result<T, NotAdmitted>,
    ) -> Result<T, NotAdmitted> {
        self.change(|state, now| {
            state.account.counts[lane].offered += 1;
            bring(state, now).inspect_err(|refused| {
                state.account.counts[lane].refused += 1;
                state.account.refusal_example.get_or_insert_with(|| refused.to_string());
            })
        })
    }

    fn wait_while(
        &self,
        changed: &Condvar,
        deadline: Instant,
        is_so: impl Fn(&State) -> bool,
    ) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !is_so(&state) {
                return state;
            }
            state = changed.wait_timeout(state, left).expect("nothing panics under this lock").0;
        }
    }
}

fn may_wait(state: &State) -> Result<(), NotAdmitted> {
    match state.line.len() {
        _ if !state.admits => Err(NotAdmitted::Closed),
        LINE_MAX.. => Err(NotAdmitted::LineFull),
        _ => Ok(()),
    }
}
