//! Starting and ending: the workers, and the queues in front of them.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded};
use execution_model::{
    Request, Runtime, RuntimeConfig, RuntimeInfo, STD_VERSION, ShutdownTimedOut, VariantInfo, wait_until,
};

use crate::blocking::{NOBODY_TO_PROTECT, ONE_THREAD};
use crate::link::{Launch, Link};
use crate::variant::{Carrier, Variant};

/// Why there is no pipeline.
pub(crate) const IMAGES_STAY: &str = "an image would be copied from process to process between its stages, and the \
     queues and the batcher would be those of the parent alone: that is another pipeline, and not another model of this one";

/// How long killed workers may take to be gone.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// The workers of this process, which starts one runtime.
static WORKERS: OnceLock<Vec<Arc<Link>>> = OnceLock::new();

/// Worker processes, each with two threads here: one hands requests over, one takes answers.
#[derive(Debug)]
pub(crate) struct Processes {
    pub(crate) variant: Variant,
    /// One for each event loop, dealt to in turn, since each takes all that it is given; one for all
    /// pools, of which each takes only what it has a thread for.
    queues: Vec<Sender<Request>>,
    turn: AtomicUsize,
    pub(crate) links: Vec<Arc<Link>>,
    threads: Vec<JoinHandle<()>>,
}

impl Runtime for Processes {
    const INFO: RuntimeInfo = RuntimeInfo {
        id: "processes",
        library: "std",
        library_version: STD_VERSION,
        execution_model: "processes",
        suspends_by: "the worker's event loop puts the request on its heap, or the kernel parks its thread",
    };

    type Variant = Variant;

    fn variants() -> Vec<Variant> {
        Variant::all()
    }

    fn parse_variant(name: &str) -> Result<Variant, String> {
        Variant::parse(name)
    }

    fn describe(variant: &Variant, workers: usize) -> VariantInfo {
        let refusal = match variant.carrier {
            Carrier::EventLoop => ONE_THREAD,
            Carrier::Threads(_) => NOBODY_TO_PROTECT,
        };
        VariantInfo {
            name: variant.to_string(),
            summary: variant.summary(workers),
            in_flight_limit: variant.places().map(|places| (places * workers) as u64),
            thread_per_request: false,
            refuses_offload: Some(refusal),
            refuses_in_place: Some(refusal),
        }
    }

    fn handler_threads(variant: &Variant, workers: usize) -> Option<usize> {
        Some(workers * variant.places().unwrap_or(1))
    }

    fn start(variant: Variant, config: &RuntimeConfig) -> io::Result<Processes> {
        let places = variant.places();
        let queues = if places.is_some() { 1 } else { config.workers };
        let capacity = config.queue_capacity.div_ceil(queues);
        let (queues, requests): (Vec<_>, Vec<_>) = (0..queues).map(|_| bounded(capacity)).unzip();
        let launch = Arc::new(Launch { variant, config: config.clone() });
        let (up, is_up) = mpsc::channel();
        let turn = AtomicUsize::new(0);
        let mut processes = Processes { variant, queues, turn, links: Vec::new(), threads: Vec::new() };
        for part in 0..config.workers {
            let link = Arc::new(Link::new(part, places.unwrap_or(usize::MAX)));
            let (managed, launch, up) = (Arc::clone(&link), Arc::clone(&launch), up.clone());
            let (fed, requests) = (Arc::clone(&link), requests[part % requests.len()].clone());
            processes.spawn("worker", move || managed.manage(&launch, up))?;
            processes.spawn("feeder", move || fed.feed(&requests))?;
            processes.links.push(link);
        }
        for _ in 0..config.workers {
            // Each sends one message, within the limit of its start.
            is_up.recv().unwrap_or_else(|_| Err(io::Error::other("a worker ended as it began")))?;
        }
        WORKERS.get_or_init(|| processes.links.clone());
        Ok(processes)
    }

    fn worker_processes(&self) -> Vec<u32> {
        self.links.iter().filter_map(|link| link.process()).collect()
    }

    /// The kernel would kill the workers too, but only after the runner is gone.
    fn end_workers() {
        let Some(links) = WORKERS.get() else { return };
        links.iter().for_each(|link| link.stop());
        links.iter().for_each(|link| link.kill());
        wait_until(Instant::now() + KILL_GRACE, || links.iter().all(|link| link.is_over()));
    }

    fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut> {
        let Processes { queues, links, threads, .. } = self;
        links.iter().for_each(|link| link.stop());
        // The feeders hand over what is queued, and then the end.
        drop(queues);
        let finished = || threads.iter().all(JoinHandle::is_finished);
        if wait_until(deadline, finished) {
            return Ok(());
        }
        links.iter().for_each(|link| link.kill());
        wait_until(Instant::now() + KILL_GRACE, finished);
        Err(ShutdownTimedOut)
    }
}

impl Processes {
    /// The queue whose turn it is.
    pub(crate) fn next_queue(&self) -> &Sender<Request> {
        &self.queues[self.turn.fetch_add(1, Ordering::Relaxed) % self.queues.len()]
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(thread::Builder::new().name(name.into()).spawn(run)?);
        Ok(())
    }
}
