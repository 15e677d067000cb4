//! One request, in process: its steps until it waits, and again from there when its deadline has come.

use std::time::Instant;

use execution_model::{
    Answer, HandlerRuntime, Job, Panicked, Progress, Refused, RefusedBecause, Request, Step, Ticket,
    catch_unwind,
};
use readiness_loop::Walk;

use crate::blocking;
use crate::runtime::Floor;

/// A request between two of its steps.
#[derive(Debug)]
pub(crate) struct Walking<E> {
    job: Job,
    next_step: usize,
    progress: Progress,
    end: E,
}

/// Who is told how a request ended.
pub(crate) trait End {
    fn end(self, answer: Result<Answer, Panicked>);
}

impl<E: End> Walk for Walking<E> {
    fn walk(mut self) -> Option<(Instant, Walking<E>)> {
        match catch_unwind(|| self.handle()) {
            Ok(Some(until)) => return Some((until, self)),
            Ok(None) => self.end.end(Ok(self.progress.answer())),
            Err(panicked) => self.end.end(Err(panicked)),
        }
        None
    }
}

impl<E: End> Walking<E> {
    pub(crate) fn new(job: Job, end: E) -> Walking<E> {
        Walking { progress: Progress::new(job.seed), next_step: 0, job, end }
    }

    fn handle(&mut self) -> Option<Instant> {
        while let Some(step) = self.job.plan.steps().get(self.next_step) {
            self.next_step += 1;
            match *step {
                Step::Wait(duration) => {
                    // Marked now, counted as over when the heap hands it back.
                    self.progress.waited();
                    return Some(Instant::now() + duration);
                }
                Step::Compute(rounds) => self.progress.compute(rounds),
                Step::Block(duration) => {
                    blocking::block(duration);
                    self.progress.blocked();
                }
                Step::Panic => panic!("the plan asks for a panic"),
            }
        }
        None
    }
}

impl End for Ticket {
    fn end(self, answer: Result<Answer, Panicked>) {
        match answer {
            Ok(answer) => self.complete(answer),
            Err(Panicked) => self.fail_panicked(),
        }
    }
}

impl HandlerRuntime for Floor {
    fn dispatch(&self, request: Request) -> Result<(), Refused> {
        self.queue.try_send(request).map_err(|error| {
            error
                .into_inner()
                .refuse(RefusedBecause::QueueFull, "the floor's queue is full, or its thread has ended")
        })
    }
}
