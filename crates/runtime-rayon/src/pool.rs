//! rayon's pool with what it lacks: a bound on its queue, and an account of the jobs that have not ended.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use execution_model::{ShutdownTimedOut, wait_until};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool.
#[derive(Debug)]
pub(crate) struct Pool {
    threads: ThreadPool,
    queue_capacity: usize,
    jobs: Arc<Jobs>,
}

#[derive(Debug, Default)]
struct Jobs {
    /// Jobs that wait for a thread. rayon's own queue has no bound.
    queued: AtomicUsize,
    /// Jobs that wait or run.
    open: AtomicUsize,
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
        let threads = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|_| "rayon".into())
            // Without a handler rayon aborts. A job that panics has told its ticket or its connection.
            .panic_handler(|_told| {})
            .build()
            .map_err(io::Error::other)?;
        Ok(Pool { threads, queue_capacity, jobs: Arc::default() })
    }

    /// Queues a job, or drops it where the queue is full.
    pub(crate) fn execute(&self, job: impl FnOnce() + Send + 'static) -> Result<(), QueueFull> {
        let place = Place::take(&self.jobs, self.queue_capacity)?;
        self.threads.spawn(move || {
            let _open = place.begin();
            job();
        });
        Ok(())
    }

    /// Has a job take its turn beside the queue's capacity: for one at a time, which is no request.
    pub(crate) fn execute_beside(&self, job: impl FnOnce() + Send + 'static) {
        let open = Open::new(&self.jobs);
        self.threads.spawn(move || {
            let _open = open;
            job();
        });
    }

    /// Waits until the last job has ended.
    pub(crate) fn shutdown(self, deadline: Instant) -> Result<(), ShutdownTimedOut> {
        let ended = || self.jobs.open.load(Ordering::Acquire) == 0;
        wait_until(deadline, ended).then_some(()).ok_or(ShutdownTimedOut)
    }
}

/// A job's place in the queue.
struct Place {
    jobs: Arc<Jobs>,
}

impl Place {
    fn take(jobs: &Arc<Jobs>, capacity: usize) -> Result<Place, QueueFull> {
        if jobs.queued.fetch_add(1, Ordering::AcqRel) >= capacity {
            jobs.queued.fetch_sub(1, Ordering::AcqRel);
            return Err(QueueFull { capacity });
        }
        jobs.open.fetch_add(1, Ordering::AcqRel);
        Ok(Place { jobs: Arc::clone(jobs) })
    }

    /// The job has a thread: its place is free for another.
    fn begin(self) -> Open {
        self.jobs.queued.fetch_sub(1, Ordering::AcqRel);
        Open { jobs: self.jobs }
    }
}

/// A job that runs, until this is dropped, also by a panic.
struct Open {
    jobs: Arc<Jobs>,
}

impl Open {
    fn new(jobs: &Arc<Jobs>) -> Open {
        jobs.open.fetch_add(1, Ordering::AcqRel);
        Open { jobs: Arc::clone(jobs) }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.jobs.open.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU32;
    use std::thread;
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
                ran.fetch_add(1, Ordering::Relaxed);
            }
        };
        pool.execute(job(true)).unwrap();
        gate.wait();
        pool.execute(job(false)).unwrap();
        pool.execute_beside(job(false));
        pool.execute(job(false)).unwrap();
        assert_eq!(pool.execute(job(false)).unwrap_err().to_string(), "the queue of 2 is full");
        gate.wait();
        pool.shutdown(Instant::now() + Duration::from_secs(10)).unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 4);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a stuck job is what is tested")]
    fn a_panic_does_not_cost_a_thread_and_a_stuck_job_does_not_hold_a_shutdown() {
        let pool = Pool::start(1, 2).unwrap();
        pool.execute(|| panic!("planted")).unwrap();
        pool.execute(|| thread::sleep(Duration::from_secs(60))).unwrap();
        let began = Instant::now();
        assert!(pool.shutdown(began + Duration::from_millis(50)).is_err());
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}
