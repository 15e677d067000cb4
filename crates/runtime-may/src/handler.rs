//! One request, in process: a loop over its steps, each wait a sleep of the coroutine.

use std::time::Duration;

use execution_model::{Answer, HandlerRuntime, Job, Progress, Refused, RefusedBecause, Request, Step};
use may::coroutine;

use crate::blocking;
use crate::runtime::{May, spawn};

/// Carries out a job in this coroutine.
pub(crate) fn handle(job: &Job) -> Answer {
    let mut progress = Progress::new(job.seed);
    for step in job.plan.steps() {
        match *step {
            Step::Wait(duration) => {
                sleep(duration);
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

/// may resumes a sleeper on its one timer thread and leaves it there until it next gives way: what
/// follows the wait would run on that thread alone, and all other sleepers would wait for it.
/// Giving way at once moves the coroutine to a worker.
pub(crate) fn sleep(duration: Duration) {
    coroutine::sleep(duration);
    coroutine::yield_now();
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
