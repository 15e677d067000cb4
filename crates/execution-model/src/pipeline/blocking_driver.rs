//! The driver for models whose workers block: a thread or a coroutine for each place of a stage.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use workload::pipeline::Stage;
use workload::{Answer, Job};

use super::stages::Stages;
use super::work::{Next, Worker};
use crate::panic::{Panicked, catch_unwind};

/// What a model that blocks brings.
pub trait BlockingModel {
    /// What wakes a worker.
    type Bell: BlockingBell;

    /// Starts a worker of a stage.
    ///
    /// # Errors
    ///
    /// There is nothing for it to run on.
    fn spawn(&self, stage: Stage, work: impl FnOnce() + Send + 'static) -> io::Result<()>;

    /// Carries a job out here, as a handler does.
    fn handle(job: &Job) -> Answer;
}

/// What wakes one worker. A ring while it does not wait is kept, and ends its next wait.
pub trait BlockingBell: Default + Send + Sync + 'static {
    /// Wakes the worker.
    fn ring(&self);

    /// Waits until it is rung, or until this instant where there is one. It may end too soon.
    fn wait(&self, until: Option<Instant>);
}

/// Starts a worker for each place of each stage.
///
/// # Errors
///
/// One could not be started; those before it are told to end.
pub fn start_blocking<M: BlockingModel>(model: &M, stages: &Arc<Stages>) -> io::Result<()> {
    let start = |stage| {
        let bell = Arc::new(M::Bell::default());
        let rings = Arc::clone(&bell);
        let worker = stages.hire(stage, move || rings.ring());
        model.spawn(stage, move || work::<M>(&worker, &*bell))
    };
    let mut all = Stage::ALL.into_iter().flat_map(|stage| std::iter::repeat_n(stage, stages.places(stage)));
    all.try_for_each(start).inspect_err(|_| stages.close())
}

fn work<M: BlockingModel>(worker: &Worker, bell: &M::Bell) {
    loop {
        match worker.next() {
            Next::Work(work) => match catch_unwind(|| M::handle(work.job())) {
                Ok(answer) => work.done(answer),
                Err(Panicked) => work.panicked(),
            },
            Next::Wait(until) => bell.wait(until),
            Next::Closed => return,
        }
    }
}
