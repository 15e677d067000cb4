//! Starting and ending the floor's one thread.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use execution_model::{
    Request, Runtime, RuntimeConfig, RuntimeInfo, STD_VERSION, ShutdownTimedOut, Ticket, VariantInfo,
    wait_until,
};
use readiness_loop::DeadlineHeap;

use crate::blocking::ONE_THREAD;
use crate::handler::{Steps, Walking};

/// Why there is no pipeline.
pub(crate) const NO_CORES_TO_SHARE: &str = "the floor of a pipeline is its arithmetic: one thread has neither cores to share nor stages to run side by side";

/// The floor, for requests in process.
#[derive(Debug)]
pub(crate) struct Floor {
    pub(crate) queue: Sender<Request>,
    thread: JoinHandle<()>,
}

/// The only way to have no model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant;

impl Runtime for Floor {
    const INFO: RuntimeInfo = RuntimeInfo {
        id: "floor",
        library: "std",
        library_version: STD_VERSION,
        execution_model: "none: one thread and a heap of deadlines",
        suspends_by: "the request is put on the heap",
    };

    type Variant = Variant;

    fn variants() -> Vec<Variant> {
        vec![Variant]
    }

    fn parse_variant(name: &str) -> Result<Variant, String> {
        match name {
            "deadline-heap" => Ok(Variant),
            _ => Err(format!("unknown variant {name:?}; there is deadline-heap")),
        }
    }

    fn describe(_variant: &Variant, _workers: usize) -> VariantInfo {
        VariantInfo {
            name: "deadline-heap".into(),
            summary: "one thread that keeps waiting requests in a heap, and serves HTTP with epoll".into(),
            in_flight_limit: None,
            thread_per_request: false,
            refuses_offload: Some(ONE_THREAD),
            refuses_in_place: Some(ONE_THREAD),
        }
    }

    fn handler_threads(_variant: &Variant, _workers: usize) -> Option<usize> {
        Some(1)
    }

    fn start(_variant: Variant, config: &RuntimeConfig) -> io::Result<Floor> {
        let (queue, requests) = bounded(config.queue_capacity);
        let thread = thread::Builder::new().name("floor".into()).spawn(move || run(&requests))?;
        Ok(Floor { queue, thread })
    }

    fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut> {
        drop(self.queue);
        wait_until(deadline, || self.thread.is_finished()).then_some(()).ok_or(ShutdownTimedOut)
    }
}

fn run(requests: &Receiver<Request>) {
    let mut heap = DeadlineHeap::<Walking<Ticket>>::new();
    loop {
        heap.wake(Instant::now());
        let received = match heap.next_wake() {
            Some(due) => requests.recv_deadline(due),
            None => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match received {
            Ok(request) => {
                let (job, ticket) = request.begin();
                heap.go_on(Walking { steps: Steps::new(job), end: ticket });
            }
            Err(RecvTimeoutError::Timeout) => {}
            // No more will come: finish what waits.
            Err(RecvTimeoutError::Disconnected) => match heap.next_wake() {
                Some(due) => thread::sleep(due.saturating_duration_since(Instant::now())),
                None => return,
            },
        }
    }
}
