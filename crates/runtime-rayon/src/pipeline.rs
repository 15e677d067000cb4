//! The pipeline: a job in the pool for each image that is decoded or rendered, and one thread beside the pool that waits
//! for whatever is fetched or on a device, since a job that waits would keep its thread of the pool.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use execution_model::pipeline::{Next, PipelineRuntime, Stage, Stages, Work};
use execution_model::{Panicked, Progress, Step, catch_unwind};
use readiness_loop::{DeadlineHeap, Walk};

use crate::handler::handle;
use crate::pool::Pool;
use crate::runtime::Rayon;

impl PipelineRuntime for Rayon {
    fn start_pipeline(&self, stages: &Arc<Stages>) -> io::Result<()> {
        let (stages, pool) = (Arc::clone(stages), Arc::clone(&self.pool));
        thread::Builder::new().name("waits".into()).spawn(move || run(&stages, &pool)).map(drop)
    }
}

/// Asks for every stage, until they are closed: keeps what waits, and makes a job of what computes.
fn run(stages: &Arc<Stages>, pool: &Pool) {
    let this = thread::current();
    let hire = |stage| {
        let this = this.clone();
        stages.hire(stage, move || this.unpark())
    };
    let workers = Stage::ALL.map(hire);
    let mut waiting = DeadlineHeap::<Waiting>::new();
    loop {
        waiting.wake(Instant::now());
        let mut until = None;
        for worker in &workers {
            let asks_again = loop {
                match worker.next() {
                    Next::Work(work) => begin(work, pool, &mut waiting),
                    Next::Wait(asks_again) => break asks_again,
                    Next::Closed => return,
                }
            };
            until = until.into_iter().chain(asks_again).min();
        }
        // A ring while it is awake is kept, and ends the next park.
        match until.into_iter().chain(waiting.next_wake()).min() {
            None => thread::park(),
            Some(until) => thread::park_timeout(until.saturating_duration_since(Instant::now())),
        }
    }
}

fn begin(work: Work, pool: &Pool, waiting: &mut DeadlineHeap<Waiting>) {
    if let [Step::Wait(duration)] = *work.job().plan.steps() {
        waiting.keep(Instant::now() + duration, Waiting { work });
        return;
    }
    let job = move || match catch_unwind(|| handle(work.job())) {
        Ok(answer) => work.done(answer),
        Err(Panicked) => work.panicked(),
    };
    // The queue has room for every image that may be in flight; work that is dropped would be counted as lost.
    let _taken = pool.execute(job);
}

/// Work that is done when its instant has come.
struct Waiting {
    work: Work,
}

impl Walk for Waiting {
    fn walk(self) -> Option<(Instant, Waiting)> {
        let mut progress = Progress::new(self.work.job().seed);
        progress.waited();
        self.work.done(progress.answer());
        None
    }
}
