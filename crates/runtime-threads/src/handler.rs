//! One request, in process: a loop over its steps, each wait a sleep of the OS thread.

use std::thread;

use execution_model::{Answer, HandlerRuntime, Job, Progress, Refused, RefusedBecause, Request, Step};

use crate::blocking;
use crate::runtime::{Threads, spawn};

/// Carries out a job on this thread.
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

impl HandlerRuntime for Threads {
    fn dispatch(&self, request: Request) -> Result<(), Refused> {
        let stub = request.stub();
        let serve = move || {
            let (job, ticket) = request.begin();
            ticket.complete(handle(&job));
        };
        match self {
            Threads::PerRequest { alive } => spawn("request", alive, serve)
                .map_err(|error| stub.refuse(RefusedBecause::ThreadLimit, error.to_string())),
            Threads::Pool(pool) => {
                pool.execute(serve).map_err(|full| stub.refuse(RefusedBecause::QueueFull, full.to_string()))
            }
        }
    }
}
