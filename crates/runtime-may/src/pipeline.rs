//! The pipeline: a coroutine for each place of a stage, which switches away until its semaphore is posted.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use execution_model::pipeline::{
    BlockingBell, BlockingModel, PipelineRuntime, Stage, Stages, start_blocking,
};
use execution_model::{Answer, Job};
use may::coroutine;
use may::sync::Semphore;

use crate::handler::handle;
use crate::runtime::{May, spawn};

impl PipelineRuntime for May {
    fn start_pipeline(&self, stages: &Arc<Stages>) -> io::Result<()> {
        start_blocking(self, stages)
    }
}

impl BlockingModel for May {
    type Bell = Bell;

    fn spawn(&self, _stage: Stage, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        spawn(&self.alive, work).map_err(io::Error::other)
    }

    fn handle(job: &Job) -> Answer {
        handle(job)
    }
}

#[derive(Debug)]
pub(crate) struct Bell {
    rung: Semphore,
}

impl Default for Bell {
    fn default() -> Bell {
        Bell { rung: Semphore::new(0) }
    }
}

impl BlockingBell for Bell {
    fn ring(&self) {
        self.rung.post();
    }

    fn wait(&self, until: Option<Instant>) {
        match until {
            None => self.rung.wait(),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                if !self.rung.wait_timeout(left) {
                    // As after a sleep, off may's timer thread.
                    coroutine::yield_now();
                }
            }
        }
    }
}
