//! One request, in process: its steps until it waits, and again from there when its deadline has come.

use std::time::Instant;

use execution_model::{
    Answer, HandlerRuntime, Job, Panicked, Progress, Refused, RefusedBecause, Request, Step, Ticket,
    catch_unwind,
};
use readiness_loop::Walk;

use crate::blocking;
use crate::runtime::Floor;

/// The steps of a request, some done and some to do.
#[derive(Debug)]
pub(crate) struct Steps {
    job: Job,
    next_step: usize,
    progress: Progress,
}

/// How far a request has come.
#[derive(Debug)]
pub(crate) enum Come {
    /// To a wait, until this instant.
    ToWait(Instant),
    /// To its end.
    ToEnd(Result<Answer, Panicked>),
}

impl Steps {
    pub(crate) fn new(job: Job) -> Steps {
        Steps { progress: Progress::new(job.seed), next_step: 0, job }
    }

    /// Goes on until a wait, or to the end.
    pub(crate) fn go_on(&mut self) -> Come {
        match catch_unwind(|| self.handle()) {
            Ok(Some(until)) => Come::ToWait(until),
            Ok(None) => Come::ToEnd(Ok(self.progress.answer())),
            Err(panicked) => Come::ToEnd(Err(panicked)),
        }
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

/// A request on the heap, and who is told how it ended.
#[derive(Debug)]
pub(crate) struct Walking<E> {
    pub(crate) steps: Steps,
    pub(crate) end: E,
}

/// Who is told how a request ended.
pub(crate) trait End {
    fn end(self, answer: Result<Answer, Panicked>);
}

impl<E: End> Walk for Walking<E> {
    fn walk(mut self) -> Option<(Instant, Walking<E>)> {
        match self.steps.go_on() {
            Come::ToWait(until) => Some((until, self)),
            Come::ToEnd(answer) => {
                self.end.end(answer);
                None
            }
        }
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
