//! A worker with a few threads: each carries out one request at a time.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};
use execution_model::server::{ServerState, Work};
use execution_model::{Job, catch_unwind};
use readiness_loop::{Asker, Executor, Taken, Tick};

use super::Parent;
use crate::handler::handle;

type Run = Box<dyn FnOnce() + Send>;

/// The threads.
pub(crate) struct Pool {
    /// Bounded by whoever fills it: the parent sends no more than there are threads, and the loop that
    /// serves clients looks at how many are queued in all workers.
    queue: Sender<Run>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    pub(crate) fn start(threads: usize) -> io::Result<Pool> {
        let (queue, work) = unbounded();
        let start = |_| {
            let work: Receiver<Run> = work.clone();
            let run = move || {
                for work in work {
                    // Work that panics has told its parent or its connection; the thread lives on.
                    let _told = catch_unwind(work);
                }
            };
            thread::Builder::new().name("pool".into()).spawn(run)
        };
        Ok(Pool { queue, threads: (0..threads).map(start).collect::<io::Result<_>>()? })
    }

    /// Carries out a request of the parent.
    pub(crate) fn answer(&self, number: u32, job: Job, parent: &Arc<Parent>) {
        let parent = Arc::clone(parent);
        self.execute(move || {
            let answer = catch_unwind(|| handle(&job));
            parent.keep(number, answer);
            // Where the parent is gone, nobody waits for the answer.
            let _sent = parent.flush();
        });
    }

    /// Waits until the threads have emptied the queue.
    pub(crate) fn finish(self: Arc<Self>) {
        if let Some(Pool { queue, threads }) = Arc::into_inner(self) {
            drop(queue);
            for thread in threads {
                // A thread has no result, and no panic that was not caught.
                let _ended = thread.join();
            }
        }
    }

    fn execute(&self, work: impl FnOnce() + Send + 'static) {
        self.queue.send(Box::new(work)).expect("the threads hold the other end");
    }
}

/// What carries out the requests of clients, of which so many may wait in all workers together.
pub(crate) fn executor(
    pool: &Arc<Pool>,
    state: &Arc<ServerState>,
    queue_capacity: u64,
) -> impl Executor + use<> {
    PoolExecutor { pool: Arc::clone(pool), state: Arc::clone(state), queue_capacity }
}

struct PoolExecutor {
    pool: Arc<Pool>,
    state: Arc<ServerState>,
    queue_capacity: u64,
}

impl Executor for PoolExecutor {
    fn execute(&mut self, work: Work, asker: &Asker<'_>) -> Taken {
        let task = asker.task(work);
        // Where the queue is full, the task is dropped, and so answered 503. It counts as queued itself.
        if self.state.queued() <= self.queue_capacity {
            self.pool.execute(move || {
                let (job, service, reply) = task.begin();
                let answer = catch_unwind(|| handle(&job));
                reply.send(service.end(answer));
            });
        }
        Taken::Later
    }

    fn tick(&mut self, tick: Tick) {
        self.pool.execute(move || tick.comes());
    }
}
