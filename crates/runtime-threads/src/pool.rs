//! A fixed number of threads that take jobs from one bounded queue.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};
use execution_model::{ShutdownTimedOut, catch_unwind, wait_until};

type Job = Box<dyn FnOnce() + Send>;

/// The pool.
#[derive(Debug)]
pub(crate) struct Pool {
    queue: Sender<Job>,
    /// Jobs that may be queued. The queue has one more place, for what is no request.
    capacity: usize,
    /// Whether that is queued.
    beside: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// The queue had no room.
#[derive(Debug)]
pub(crate) struct QueueFull {
    capacity: usize,
}

impl std::fmt::Display for QueueFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the queue of {} is full", self.capacity)
    }
}

impl Pool {
    pub(crate) fn start(threads: usize, queue_capacity: usize) -> io::Result<Pool> {
        let (queue, jobs) = bounded(queue_capacity + 1);
        let start = |_| {
            let jobs = jobs.clone();
            thread::Builder::new().name("pool".into()).spawn(move || work(&jobs))
        };
        let threads = (0..threads).map(start).collect::<io::Result<_>>()?;
        Ok(Pool { queue, capacity: queue_capacity, beside: Arc::default(), threads })
    }

    /// Refuses jobs that do not end, where there are more of them than threads.
    pub(crate) fn has_threads(&self, jobs: usize) -> io::Result<()> {
        match self.threads.len() {
            threads if threads < jobs => Err(io::Error::other(format!(
                "{jobs} jobs that do not end need as many threads, and the pool has {threads}"
            ))),
            _ => Ok(()),
        }
    }

    /// Queues a job, or drops it where the queue is full.
    pub(crate) fn execute(&self, job: impl FnOnce() + Send + 'static) -> Result<(), QueueFull> {
        let capacity = self.capacity;
        if self.queue.len() >= capacity + usize::from(self.beside.load(Relaxed)) {
            return Err(QueueFull { capacity });
        }
        self.queue.try_send(Box::new(job)).map_err(|_| QueueFull { capacity })
    }

    /// Queues a job in the place beside the capacity, or drops it where one is there.
    pub(crate) fn execute_beside(&self, job: impl FnOnce() + Send + 'static) {
        if self.beside.swap(true, Relaxed) {
            return;
        }
        let beside = Arc::clone(&self.beside);
        let taken = self.queue.try_send(Box::new(move || {
            beside.store(false, Relaxed);
            job();
        }));
        if taken.is_err() {
            self.beside.store(false, Relaxed);
        }
    }

    /// Closes the queue and waits until the threads have emptied it.
    pub(crate) fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut> {
        drop(self.queue);
        let ended = || self.threads.iter().all(JoinHandle::is_finished);
        wait_until(deadline, ended).then_some(()).ok_or(ShutdownTimedOut)
    }
}

fn work(jobs: &Receiver<Job>) {
    for job in jobs {
        // A job that panics has told its ticket or its connection; the thread lives on.
        let _told = catch_unwind(job);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_full_queue_refuses_and_a_shutdown_empties_it() {
        let pool = Pool::start(1, 2).unwrap();
        let (gate, ran) = (Arc::new(Barrier::new(2)), Arc::new(AtomicU32::new(0)));
        let job = |waits: bool| {
            let (gate, ran) = (Arc::clone(&gate), Arc::clone(&ran));
            move || {
                if waits {
                    gate.wait();
                    gate.wait();
                }
                ran.fetch_add(1, Relaxed);
            }
        };
        pool.execute(job(true)).unwrap();
        gate.wait();
        pool.execute(job(false)).unwrap();
        pool.execute_beside(job(false));
        pool.execute_beside(job(false));
        pool.execute(job(false)).unwrap();
        assert_eq!(pool.execute(job(false)).unwrap_err().to_string(), "the queue of 2 is full");
        gate.wait();
        pool.shutdown(Instant::now() + Duration::from_secs(10)).unwrap();
        assert_eq!(ran.load(Relaxed), 4, "three that were queued, and one of two beside them");
    }

    #[test]
    fn a_panic_does_not_cost_a_thread_and_a_stuck_job_does_not_hold_a_shutdown() {
        let pool = Pool::start(1, 2).unwrap();
        pool.execute(|| panic!("planted")).unwrap();
        pool.execute(|| thread::sleep(Duration::from_secs(60))).unwrap();
        let began = Instant::now();
        assert!(pool.shutdown(began + Duration::from_millis(50)).is_err());
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}
