//! A worker of a stage, and what it is given.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use workload::pipeline::{Fault, Stage};
use workload::{Answer, Job, Plan, Step};

use super::image::Image;
use super::setup::PipelineSetup;
use super::stages::Stages;
use super::state::Ended;

/// One who works at a stage, or who asks for those who do.
#[derive(Debug)]
pub struct Worker {
    pub(super) stages: Arc<Stages>,
    pub(super) stage: Stage,
    pub(super) number: usize,
}

/// What a worker does now.
#[derive(Debug)]
pub enum Next {
    /// Carries this out.
    Work(Work),
    /// Waits for its bell, or until this instant where there is one, and asks again.
    Wait(Option<Instant>),
    /// Ends.
    Closed,
}

impl Worker {
    /// What to do now.
    #[must_use]
    pub fn next(&self) -> Next {
        self.stages.ask(self)
    }

    /// The stage.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }
}

/// An image, or a batch of them, that a stage has to do. It goes on when its end is told.
///
/// Work that is dropped without a word counts as lost, but for work dropped by a panic, which counts as panicked.
#[must_use = "images that are dropped are lost"]
pub struct Work {
    stages: Arc<Stages>,
    stage: Stage,
    /// Empty when its end has been told.
    images: Vec<Image>,
    planned: Duration,
    job: Job,
}

impl Work {
    pub(super) fn new(
        stages: &Arc<Stages>,
        setup: &PipelineSetup,
        stage: Stage,
        images: Vec<Image>,
        planned: Duration,
    ) -> Work {
        let fault = setup.fault(stage, images.iter().map(|image| image.number));
        let steps = steps(setup, stage, planned, fault);
        let plan = Plan::new(steps).expect("the steps of a stage are within a plan's limits");
        let job = Job { plan, seed: images[0].checksum, strategy: setup.strategy };
        Work { stages: Arc::clone(stages), stage, images, planned, job }
    }

    /// What is to be done: a wait or a computation, for all images of a batch together.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// It is done.
    pub fn done(mut self, answer: Answer) {
        for (index, image) in self.images.iter_mut().enumerate() {
            if index == 0 {
                image.did(self.job.plan.steps(), answer);
            } else {
                image.was_beside();
            }
        }
        self.end(Ended::Done);
    }

    /// The stage panicked, and whoever caught the panic says so.
    pub fn panicked(mut self) {
        self.end(Ended::Panicked);
    }

    fn end(&mut self, ended: Ended) {
        let images = std::mem::take(&mut self.images);
        self.stages.end(self.stage, images, self.planned, ended);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.images.is_empty() {
            self.end(if std::thread::panicking() { Ended::Panicked } else { Ended::Lost });
        }
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} images at {}: {}", self.images.len(), self.stage, self.job.plan)
    }
}

fn steps(setup: &PipelineSetup, stage: Stage, planned: Duration, fault: Option<Fault>) -> Vec<Step> {
    let stuck = match fault {
        None => Duration::ZERO,
        Some(Fault::Panic) => return vec![Step::Panic],
        Some(Fault::Stuck { duration }) => duration,
    };
    if !setup.computes(stage) {
        return vec![Step::Wait(planned + stuck)];
    }
    let compute = Step::Compute(setup.rounds(planned));
    if stuck.is_zero() { vec![compute] } else { vec![Step::Block(stuck), compute] }
}
