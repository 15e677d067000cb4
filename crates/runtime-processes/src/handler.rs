//! One request: dispatched here, carried out in a worker by a loop over its steps.

use std::thread;

use execution_model::{Answer, HandlerRuntime, Job, Progress, Refused, RefusedBecause, Request, Step};

use crate::blocking;
use crate::runtime::Processes;

/// Carries out a job on this thread of a worker. The event loop has its own form of this.
pub(crate) fn handle(job: &Job) -> Answer {
    let mut progress = Progress::new(job.seed);
    for step in job.plan.steps() {
        match *step {
            Step::Wait(duration) => {
                thread::sleep(duration);
                progress.waited();
            }
            Step::Compute(rounds) => progress.compute(rounds),
            Step::Block(duration) => {
                blocking::block(duration);
                progress.blocked();
            }
            Step::Panic => panic!("the plan asks for a panic"),
        }
    }
    progress.answer()
}

impl HandlerRuntime for Processes {
    fn dispatch(&self, request: Request) -> Result<(), Refused> {
        self.next_queue().try_send(request).map_err(|error| {
            error.into_inner().refuse(RefusedBecause::QueueFull, "the queue in front of the workers is full")
        })
    }
}
