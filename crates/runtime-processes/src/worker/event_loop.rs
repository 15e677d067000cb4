//! A worker with one thread: requests that wait are on a heap, whether the parent sent them or a client.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use execution_model::server::{Service, Work};
use execution_model::{Answer, Job, Panicked, Progress, Step, catch_unwind};
use readiness_loop::{Asker, DeadlineHeap, Executor, Reply, Taken, Walk};

use super::Parent;
use crate::blocking;

/// The requests that the parent sent.
pub(crate) struct EventLoop {
    heap: DeadlineHeap<Walking<Numbered>>,
    parent: Arc<Parent>,
}

impl EventLoop {
    pub(crate) fn new(parent: Arc<Parent>) -> EventLoop {
        EventLoop { heap: DeadlineHeap::new(), parent }
    }

    pub(crate) fn execute(&mut self, number: u32, job: Job) {
        let end = Numbered { number, parent: Arc::clone(&self.parent) };
        self.heap.go_on(Walking { steps: Steps::new(job), end });
    }

    /// Goes on with what is due, and says when it must be called again.
    pub(crate) fn wake(&mut self) -> Option<Instant> {
        self.heap.wake(Instant::now());
        self.heap.next_wake()
    }

    /// Goes on until nothing waits.
    pub(crate) fn finish(&mut self) {
        while let Some(due) = self.wake() {
            // An answer that cannot be sent now is sent at the end, or there is nobody to take it.
            let _sent = self.parent.flush();
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
    }
}

/// What carries out the requests of clients, on the thread of the loop that serves them.
pub(crate) fn executor() -> impl Executor {
    HeapExecutor { heap: DeadlineHeap::new() }
}

/// The steps of a request, some done and some to do.
struct Steps {
    job: Job,
    next_step: usize,
    progress: Progress,
}

/// How far a request has come.
enum Come {
    /// To a wait, until this instant.
    ToWait(Instant),
    /// To its end.
    ToEnd(Result<Answer, Panicked>),
}

impl Steps {
    fn new(job: Job) -> Steps {
        Steps { progress: Progress::new(job.seed), next_step: 0, job }
    }

    /// Goes on until a wait, or to the end.
    fn go_on(&mut self) -> Come {
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
struct Walking<E> {
    steps: Steps,
    end: E,
}

/// Who is told how a request ended.
trait End {
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

/// A request of the parent, which knows it by its number.
struct Numbered {
    number: u32,
    parent: Arc<Parent>,
}

impl End for Numbered {
    fn end(self, answer: Result<Answer, Panicked>) {
        self.parent.keep(self.number, answer);
    }
}

struct HeapExecutor {
    heap: DeadlineHeap<Walking<Answering>>,
}

/// A request of a client.
struct Answering {
    service: Service,
    reply: Reply,
}

impl Executor for HeapExecutor {
    /// A request that never waits is answered here and now; for one that waits, a reply is kept.
    fn execute(&mut self, work: Work, asker: &Asker<'_>) -> Taken {
        let (job, service) = work.begin();
        let mut steps = Steps::new(job);
        match steps.go_on() {
            Come::ToWait(until) => {
                let end = Answering { service, reply: asker.reply() };
                self.heap.keep(until, Walking { steps, end });
                Taken::Later
            }
            Come::ToEnd(answer) => Taken::Answered(service.end(answer)),
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        self.heap.next_wake()
    }

    fn wake(&mut self, now: Instant) {
        self.heap.wake(now);
    }
}

impl End for Answering {
    fn end(self, answer: Result<Answer, Panicked>) {
        self.reply.send(self.service.end(answer));
    }
}
