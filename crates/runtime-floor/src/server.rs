//! HTTP: the readiness loop, with the heap of deadlines on the loop's own thread.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use execution_model::server::{ListenSpec, ServerState, Service};
use execution_model::{Answer, Panicked, ServerRuntime};
use readiness_loop::{DeadlineHeap, Executor, LoopServer, Reply, Task};

use crate::handler::{End, Walking};
use crate::runtime::Floor;

impl ServerRuntime for Floor {
    type Server = LoopServer;

    fn serve(&self, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<LoopServer> {
        LoopServer::start(listen, state, HeapExecutor { heap: DeadlineHeap::new() })
    }
}

struct HeapExecutor {
    heap: DeadlineHeap<Walking<Answering>>,
}

struct Answering {
    service: Service,
    reply: Reply,
}

impl Executor for HeapExecutor {
    fn execute(&mut self, task: Task) {
        let (job, service, reply) = task.begin();
        self.heap.go_on(Walking::new(job, Answering { service, reply }));
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
