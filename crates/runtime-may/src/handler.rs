//! One request, in process: a loop over its steps, each wait a sleep of the coroutine.

use execution_model::{Answer, HandlerRuntime, Job, Progress, Refused, RefusedBecause, Request, Step};

use crate::blocking;
use crate::runtime::{May, spawn};
use crate::suspend;

/// Carries out a job in this coroutine.
pub(crate) fn handle(job: &Job) -> Answer {
    let mut progress = Progress::new(job.seed);
    for step in job.plan.steps() {
        match *step {
            Step::Wait(duration) => {
                suspend::sleep(duration);
                progress.waited();
            }
            Step::Compute(rounds) => progress = blocking::compute(progress, rounds, job.strategy),
            Step::Block(duration) => {
                blocking::block(duration, job.strategy);
                progress.blocked();
            }
            Step::Panic => panic!("the plan asks for a panic"),
        }
    }
    progress.answer()
}

impl HandlerRuntime for May {
    fn dispatch(&self, request: Request) -> Result<(), Refused> {
        let stub = request.stub();
        let serve = move || {
            let (job, ticket) = request.begin();
            ticket.complete(handle(&job));
        };
        spawn(&self.alive, serve)
            .map_err(|no_stack| stub.refuse(RefusedBecause::Memory, no_stack.to_string()))
    }
}
