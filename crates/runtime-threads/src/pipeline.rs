//! The pipeline: a thread for each place of a stage, which sleeps until its condition variable is notified.

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use execution_model::pipeline::{
    BlockingBell, BlockingModel, PipelineRuntime, Stage, Stages, start_blocking,
};
use execution_model::{Answer, Job};

use crate::handler::handle;
use crate::runtime::{Threads, spawn};

impl PipelineRuntime for Threads {
    fn start_pipeline(&self, stages: &Arc<Stages>) -> io::Result<()> {
        if let Threads::Pool(pool) = self {
            // A worker keeps its thread: one without a thread would be a place that stays empty.
            pool.has_threads(stages.places_total())?;
        }
        start_blocking(self, stages)
    }
}

impl BlockingModel for Threads {
    type Bell = Bell;

    fn spawn(&self, stage: Stage, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        match self {
            Threads::PerRequest { alive } => spawn(stage.name(), alive, work),
            Threads::Pool(pool) => pool.execute(work).map_err(|full| io::Error::other(full.to_string())),
        }
    }

    fn handle(job: &Job) -> Answer {
        handle(job)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    notified: Condvar,
}

impl BlockingBell for Bell {
    fn ring(&self) {
        *self.rung.lock().expect("nothing panics under this lock") = true;
        self.notified.notify_one();
    }

    fn wait(&self, until: Option<Instant>) {
        let rung = self.rung.lock().expect("nothing panics under this lock");
        let is_silent = |rung: &mut bool| !*rung;
        let mut rung = match until {
            None => self.notified.wait_while(rung, is_silent).expect("nothing panics under this lock"),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                let waited = self.notified.wait_timeout_while(rung, left, is_silent);
                waited.expect("nothing panics under this lock").0
            }
        };
        *rung = false;
    }
}
