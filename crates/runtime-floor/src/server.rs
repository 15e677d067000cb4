//! HTTP: the readiness loop, with the heap of deadlines on the loop's own thread.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use execution_model::server::{ListenSpec, ServerState, Service, Work};
use execution_model::{Answer, Panicked, ServerRuntime};
use readiness_loop::{Asker, DeadlineHeap, Executor, LoopServer, Reply, Taken};

use crate::handler::{Come, End, Steps, Walking};
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
