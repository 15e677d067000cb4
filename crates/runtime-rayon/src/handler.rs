//! One request, in process: a loop over its steps, each wait a sleep of the pool's thread.

use std::thread;

use execution_model::{Answer, HandlerRuntime, Job, Progress, Refused, RefusedBecause, Request, Step};

use crate::blocking;
use crate::runtime::Rayon;

/// Carries out a job on this thread of the pool.
#[expect(clippy::disallowed_methods, reason = "rayon has no wait of its own")]
pub(crate) fn handle(job: &Job) -> Answer {
    let mut progress = Progress::new(job.seed);
    for step in job.plan.steps() {
        match *step {
            Step::Wait(duration) => {
                // rayon has no timer and no wait: its threads are for work that never stops.
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

impl HandlerRuntime for Rayon {
    fn dispatch(&self, request: Request) -> Result<(), Refused> {
        let stub = request.stub();
        let serve = move || {
            let (job, ticket) = request.begin();
            ticket.complete(handle(&job));
        };
        self.pool.execute(serve).map_err(|full| stub.refuse(RefusedBecause::QueueFull, full.to_string()))
    }
}
