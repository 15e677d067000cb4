//! The pipeline without its workers, shared by everybody: the lock around the state, and whom to wake after a change.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use workload::pipeline::{PipelineLevels, Stage};

use super::account::PipelineAccount;
use super::image::Image;
use super::setup::PipelineSetup;
use super::staff::Wake;
use super::state::{Begin, Ended, State};
use super::work::{Next, Work, Worker};

/// The pipeline.
pub struct Stages {
    epoch: Instant,
    pub(super) setup: PipelineSetup,
    state: Mutex<State>,
    /// Notified when an image leaves the line or the pipeline, and when nothing is admitted any more. None who waits
    /// for it is a worker.
    pub(super) left: Condvar,
    /// Notified when nothing is admitted any more.
    pub(super) admits_no_more: Condvar,
}

impl fmt::Debug for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stages").field("setup", &self.setup).finish_non_exhaustive()
    }
}

impl Stages {
    /// What instants in accounts count from.
    #[must_use]
    pub fn epoch(&self) -> Instant {
        self.epoch
    }

    /// A pipeline without workers, which admits.
    #[must_use]
    pub fn new(setup: PipelineSetup) -> Arc<Stages> {
        let state = Mutex::new(State::new(setup.clone()));
        Arc::new(Stages {
            epoch: Instant::now(),
            setup,
            state,
            left: Condvar::new(),
            admits_no_more: Condvar::new(),
        })
    }

    /// How many images, or batches, a stage has at one time: so many workers keep it busy.
    #[must_use]
    pub fn places(&self, stage: Stage) -> usize {
        self.setup.places(stage)
    }

    /// The workers that keep every stage busy.
    #[must_use]
    pub fn places_total(&self) -> usize {
        Stage::ALL.into_iter().map(|stage| self.places(stage)).sum()
    }

    /// Adds a worker, who is woken by `wake`: it must not block, and may be called when the worker does not wait. One who
    /// asks for others keeps as many at work as it is given work.
    pub fn hire(self: &Arc<Self>, stage: Stage, wake: impl Fn() + Send + Sync + 'static) -> Worker {
        let number = self.lock().staff.hire(stage, Arc::new(wake));
        Worker { stages: Arc::clone(self), stage, number }
    }

    /// What happens between these instants is what the window's account holds.
    pub fn measure(&self, from: Instant, until: Instant) {
        let (from, until) = (self.since_epoch(from), self.since_epoch(until));
        self.change(|state, _| {
            state.account.window.from = from;
            state.account.window.until = until;
        });
    }

    /// Has every worker end, as soon as it asks again. What is in flight stays where it is, and no drain waits for it.
    pub fn close(&self) {
        ring(self.lock().close());
        self.left.notify_all();
    }

    /// Where everything is at this instant.
    #[must_use]
    pub fn levels(&self) -> PipelineLevels {
        self.lock().levels()
    }

    /// What is known by now.
    #[must_use]
    pub fn account(&self) -> PipelineAccount {
        self.change(|state, _| state.account_now())
    }

    pub(super) fn since_epoch(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.epoch)
    }

    pub(super) fn ask(self: &Arc<Self>, worker: &Worker) -> Next {
        let begun = self.change(|state, now| {
            state.staff.asks(worker.number);
            let begun = state.begin(worker.stage, now);
            if matches!(begun, Begin::Wait(_)) {
                state.staff.waits(worker.number);
            }
            begun
        });
        match begun {
            Begin::Work { images, planned } => {
                Next::Work(Work::new(self, &self.setup, worker.stage, images, planned))
            }
            Begin::Wait(until) => Next::Wait(until.map(|until| self.epoch + until)),
            Begin::Closed => Next::Closed,
        }
    }

    pub(super) fn end(&self, stage: Stage, images: Vec<Image>, planned: Duration, ended: Ended) {
        self.change(|state, now| state.end(stage, images, planned, ended, now));
    }

    /// Changes something, and wakes those whom it concerns. The clock is read under the lock, so that it never goes back.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State, Duration) -> T) -> T {
        let mut state = self.lock();
        let now = self.epoch.elapsed();
        state.pass(now);
        let value = change(&mut state, now);
        let wakes = state.settle(now);
        let any_left = std::mem::take(&mut state.any_left);
        drop(state);
        ring(wakes);
        if any_left {
            self.left.notify_all();
        }
        value
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics under this lock")
    }
}

/// Not under the lock, which those who are woken ask for at once.
fn ring(wakes: Vec<Wake>) {
    for wake in wakes {
        wake();
    }
}
