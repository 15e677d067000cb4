//! One request: the loop of any handler, with the faults that a handler can have.

use std::sync::Mutex;
use std::thread;

use execution_model::{
    Answer, HandlerRuntime, Job, Panicked, Progress, Refused, RefusedBecause, Request, Step, catch_unwind,
};

use crate::fault::Fault;
use crate::runtime::Mutant;

static ONE_WAITS: Mutex<()> = Mutex::new(());

/// Carries out a job on this thread, faults included.
pub(crate) fn handle(job: &Job, fault: Fault) -> Result<Answer, Panicked> {
    match catch_unwind(|| steps(job, fault)) {
        Err(Panicked) if fault == Fault::SwallowsPanic => {
            let steps = u32::try_from(job.plan.steps().len()).expect("a plan is short");
            Ok(Answer { steps, checksum: job.plan.checksum(job.seed) })
        }
        answer => answer,
    }
}

fn steps(job: &Job, fault: Fault) -> Answer {
    let mut progress = Progress::new(job.seed);
    for step in job.plan.steps() {
        match *step {
            Step::Wait(duration) => {
                let _others_wait = (fault == Fault::WaitsOneByOne).then(|| ONE_WAITS.lock());
                if fault != Fault::SkipsWait {
                    thread::sleep(duration);
                }
                progress.waited();
            }
            Step::Compute(rounds) => {
                progress.compute(if fault == Fault::SkipsCompute { 1 } else { rounds });
            }
            Step::Block(duration) => {
                thread::sleep(duration);
                progress.blocked();
            }
            Step::Panic => panic!("the plan asks for a panic"),
        }
    }
    let mut answer = progress.answer();
    if fault == Fault::LiesAboutChecksum {
        answer.checksum ^= 1;
    }
    answer
}

impl HandlerRuntime for Mutant {
    fn dispatch(&self, request: Request) -> Result<(), Refused> {
        let stub = request.stub();
        let fault = self.fault;
        let started = self.spawn(move || {
            let (job, ticket) = request.begin();
            if fault == Fault::LosesRequests && job.seed % 10 == 0 {
                drop(ticket);
                return;
            }
            match handle(&job, fault) {
                Ok(answer) => ticket.complete(answer),
                Err(Panicked) => ticket.fail_panicked(),
            }
        });
        started.map_err(|error| stub.refuse(RefusedBecause::ThreadLimit, error.to_string()))
    }
}
