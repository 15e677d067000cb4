//! One request, in process: a loop over its steps, each wait a timer that the task yields to.

use async_std::task;
use execution_model::{Answer, HandlerRuntime, Job, Progress, Refused, Request, Step};

use crate::blocking;
use crate::runtime::AsyncStd;

/// Carries out a job in this task.
pub(crate) async fn handle(job: &Job) -> Answer {
    let mut progress = Progress::new(job.seed);
    for step in job.plan.steps() {
        match *step {
            Step::Wait(duration) => {
                task::sleep(duration).await;
                progress.waited();
            }
            Step::Compute(rounds) => {
                progress = blocking::compute(progress, rounds, job.strategy).await;
            }
            Step::Block(duration) => {
                blocking::block(duration, job.strategy).await;
                progress.blocked();
            }
            Step::Panic => panic!("the plan asks for a panic"),
        }
    }
    progress.answer()
}

impl HandlerRuntime for AsyncStd {
    fn dispatch(&self, request: Request) -> Result<(), Refused> {
        let alive = self.share();
        task::spawn(async move {
            let (job, ticket) = request.begin();
            ticket.complete(handle(&job).await);
            drop(alive);
        });
        Ok(())
    }
}
