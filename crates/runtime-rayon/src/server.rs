//! HTTP: a readiness loop that holds the connections and feeds the pool.

use std::io;
use std::sync::Arc;

use execution_model::server::{ListenSpec, ServerState};
use execution_model::{ServerRuntime, catch_unwind};
use readiness_loop::{LoopServer, Task};

use crate::handler::handle;
use crate::runtime::Rayon;

impl ServerRuntime for Rayon {
    type Server = LoopServer;

    fn serve(&self, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<LoopServer> {
        let pool = Arc::clone(&self.pool);
        let hand_over = move |task: Task| {
            // Where the queue is full, the task is dropped, and so answered 503.
            let _taken = pool.execute(move || {
                let (job, service, reply) = task.begin();
                let answer = catch_unwind(|| handle(&job));
                reply.send(service.end(answer));
            });
        };
        LoopServer::start(listen, state, hand_over)
    }
}
