//! The pipeline: a coroutine for each place of a stage, which switches away until its semaphore is posted.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use execution_model::pipeline::{
    BlockingBell, BlockingModel, PipelineRuntime, Stage, Stages, start_blocking,
};
use execution_model::{Answer, Job};
use may::coroutine;
use may::sync::Semphore;

use crate::handler::handle;
use crate::runtime::{May, NoStack, spawn};
use crate::suspend;

impl PipelineRuntime for May {
    fn start_pipeline(&self, stages: &Arc<Stages>) -> io::Result<()> {
        start_blocking(self, stages)
    }
}

impl BlockingModel for May {
    type Bell = Bell;

    fn spawn(&self, _stage: Stage, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        spawn(&self.alive, work).map_err(io::Error::other)
    }

    fn handle(job: &Job) -> Answer {
        handle(job)
    }
}

/// may's `Semphore` has a wait with a time-out, which is not used here: its timer is set before the coroutine can be found
/// by it, and where that takes longer than the time-out, nobody wakes the coroutine. A sleep has no such gap.
#[derive(Debug)]
pub(crate) struct Bell {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    rung: Semphore,
    /// The instant until which a coroutine sleeps that rings then.
    alarm: Mutex<Option<Instant>>,
}

impl Default for Bell {
    fn default() -> Bell {
        Bell { shared: Arc::new(Shared { rung: Semphore::new(0), alarm: Mutex::new(None) }) }
    }
}

impl BlockingBell for Bell {
    fn ring(&self) {
        self.shared.rung.post();
    }

    fn wait(&self, until: Option<Instant>) {
        match until.map(|until| self.shared.set_alarm(until)) {
            None | Some(Ok(())) => suspend::wait(&self.shared.rung),
            // There is no stack for whoever would ring: the worker asks again at once.
            Some(Err(_no_stack)) => coroutine::yield_now(),
        }
    }
}

impl Shared {
    /// Has the bell rung then, or before. One alarm serves every wait until the same instant.
    fn set_alarm(self: &Arc<Self>, until: Instant) -> Result<(), NoStack> {
        let mut alarm = self.alarm();
        if alarm.is_some_and(|set| set <= until) {
            return Ok(());
        }
        let before = alarm.replace(until);
        drop(alarm);
        let shared = Arc::clone(self);
        let sleep = move || {
            suspend::sleep_on_timer(until.saturating_duration_since(Instant::now()));
            shared.alarm().take_if(|set| *set == until);
            shared.rung.post();
        };
        // It is no worker, and nobody waits for its end.
        spawn(&Arc::default(), sleep).inspect_err(|_no_stack| *self.alarm() = before)
    }

    /// Nothing waits while it has this lock.
    fn alarm(&self) -> MutexGuard<'_, Option<Instant>> {
        self.alarm.lock().expect("nothing panics under this lock")
    }
}

#[cfg(test)]
mod tests {
    use std::hint;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Beside threads that take the CPUs from may's: an alarm ends then while the worker that set it is not yet through.
    #[test]
    fn every_wait_until_an_instant_ends_and_leaves_the_heap_whole() {
        let is_over = AtomicBool::new(false);
        let (ended, all_ended) = mpsc::channel();
        let waits = move || {
            let bell = Bell::default();
            for microseconds in 0..2_000 {
                let until = Instant::now() + Duration::from_micros(microseconds % 50);
                while Instant::now() < until {
                    bell.wait(Some(until));
                }
            }
            ended.send(()).expect("somebody waits for it");
        };
        let outcome = thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        hint::spin_loop();
                    }
                });
            }
            spawn(&Arc::default(), waits).expect("there is a stack");
            let outcome = all_ended.recv_timeout(Duration::from_secs(60));
            is_over.store(true, Ordering::Relaxed);
            outcome
        });
        outcome.expect("a wait did not end");
    }
}
