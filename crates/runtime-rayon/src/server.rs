//! HTTP: a readiness loop that holds the connections and feeds the pool.

use std::io;
use std::sync::Arc;

use execution_model::server::{ListenSpec, ServerState, Work};
use execution_model::{ServerRuntime, catch_unwind};
use readiness_loop::{Asker, Executor, LoopServer, Taken, Tick};

use crate::handler::handle;
use crate::pool::Pool;
use crate::runtime::Rayon;

impl ServerRuntime for Rayon {
    type Server = LoopServer;

    fn serve(&self, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<LoopServer> {
        LoopServer::start(listen, state, PoolExecutor { pool: Arc::clone(&self.pool) })
    }
}

struct PoolExecutor {
    pool: Arc<Pool>,
}

impl Executor for PoolExecutor {
    fn execute(&mut self, work: Work, asker: &Asker<'_>) -> Taken {
        let task = asker.task(work);
        // Where the queue is full, the task is dropped, and so answered 503.
        let _taken = self.pool.execute(move || {
            let (job, service, reply) = task.begin();
            let answer = catch_unwind(|| handle(&job));
            reply.send(service.end(answer));
        });
        Taken::Later
    }

    fn tick(&mut self, tick: Tick) {
        self.pool.execute_beside(move || tick.comes());
    }
}
