//! The pipeline, with the faults that a handler can have: a thread for each place of a stage, which looks every millisecond.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use execution_model::Panicked;
use execution_model::pipeline::{Next, PipelineRuntime, Stage, Stages, Worker};

use crate::fault::Fault;
use crate::handler::handle;
use crate::runtime::Mutant;

static HAD_AN_IMAGE: AtomicBool = AtomicBool::new(false);

impl PipelineRuntime for Mutant {
    fn start_pipeline(&self, stages: &Arc<Stages>) -> io::Result<()> {
        let fault = self.fault;
        for stage in Stage::ALL {
            for _ in 0..stages.places(stage) {
                let worker = stages.hire(stage, || {});
                let stages = Arc::clone(stages);
                self.spawn(move || work(&stages, &worker, fault))?;
            }
        }
        Ok(())
    }
}

fn work(stages: &Stages, worker: &Worker, fault: Fault) {
    loop {
        if fault == Fault::DoesNotDrain && !stages.admits_until(Instant::now()) {
            return;
        }
        let next = worker.next();
        if matches!(next, Next::Work(_)) {
            HAD_AN_IMAGE.store(true, Ordering::Relaxed);
        }
        match next {
            Next::Work(work) if fault == Fault::LosesRequests && work.job().seed.is_multiple_of(10) => {
                drop(work);
            }
            Next::Work(work) => match handle(work.job(), fault) {
                Ok(answer) => work.done(answer),
                Err(Panicked) => {
                    work.panicked();
                    if fault == Fault::DiesOfAPanic {
                        return;
                    }
                }
            },
            Next::Closed if fault == Fault::WaitsForAnImage && !HAD_AN_IMAGE.load(Ordering::Relaxed) => {
                thread::sleep(Duration::from_millis(1));
            }
            Next::Wait(_) => thread::sleep(Duration::from_millis(1)),
            Next::Closed => return,
        }
    }
}
