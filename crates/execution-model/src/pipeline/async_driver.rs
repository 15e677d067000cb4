//! The driver for models whose workers await: a task for each place of a stage.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use workload::pipeline::Stage;
use workload::{Answer, Job};

use super::stages::Stages;
use super::work::{Next, Worker};
use crate::panic::{CatchUnwind, Panicked};

/// What a model that awaits brings.
pub trait AsyncModel: 'static {
    /// What wakes a worker.
    type Bell: AsyncBell;

    /// Starts a worker.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static);

    /// Carries a job out in this task, as a handler does.
    fn handle(job: &Job) -> impl Future<Output = Answer> + Send;
}

/// What wakes one worker. A ring while it does not wait is kept, and ends its next wait.
pub trait AsyncBell: Default + Send + Sync + 'static {
    /// Wakes the worker.
    fn ring(&self);

    /// Waits until it is rung, or until this instant where there is one. It may end too soon.
    fn wait(&self, until: Option<Instant>) -> impl Future<Output = ()> + Send;
}

/// Starts a worker for each place of each stage.
pub fn start_async<M: AsyncModel>(model: &M, stages: &Arc<Stages>) {
    for stage in Stage::ALL {
        for _ in 0..stages.places(stage) {
            let bell = Arc::new(M::Bell::default());
            let rings = Arc::clone(&bell);
            let worker = stages.hire(stage, move || rings.ring());
            model.spawn(async move { work::<M>(&worker, &*bell).await });
        }
    }
}

async fn work<M: AsyncModel>(worker: &Worker, bell: &M::Bell) {
    loop {
        match worker.next() {
            Next::Work(work) => match CatchUnwind::new(M::handle(work.job())).await {
                Ok(answer) => work.done(answer),
                Err(Panicked) => work.panicked(),
            },
            Next::Wait(until) => bell.wait(until).await,
            Next::Closed => return,
        }
    }
}
