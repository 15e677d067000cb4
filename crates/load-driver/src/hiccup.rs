//! The hiccup meter: how long the machine keeps a thread from running that should run.
//!
//! A thread sleeps to absolute instants, a millisecond apart, and records how late it wakes. What it waited for a CPU
//! because other threads of this machine had it is load, not a stall; the kernel counts that wait for each thread, and
//! it is taken off. What is left is the hypervisor, interrupts, and the timer itself. Send lag and tails are judged
//! against it: what the machine does to a thread that does nothing, it does to the others too.
//!
//! A tick that is missed because the thread still sleeps is recorded with its own lateness, like a request of an open
//! loop: a stall of 10 ms is ten samples, from 10 ms down.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};

use crate::pace::{monotonic_ns, timespec};
use crate::pinned::Pinned;
use crate::priority::Priority;
use crate::recorder::Histogram;

/// From one tick to the next.
const TICK_NS: u64 = 1_000_000;

/// Time on CPU, time on a run queue, and number of runs of the calling thread; see `proc_pid_schedstat(5)`.
const FILE: &str = "/proc/thread-self/schedstat";

/// A meter at work. One that is dropped stops.
#[derive(Debug)]
pub struct HiccupMeter {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Hiccups>>,
}

/// What a meter has seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hiccups {
    /// The machine's stalls: lateness of each tick, less the thread's own wait on a run queue, in nanoseconds. None
    /// where the kernel does not tell that wait.
    pub stalls: Option<Histogram>,
    /// Lateness of each tick, whatever the cause, in nanoseconds.
    pub lateness: Histogram,
}

impl Hiccups {
    /// The machine's stall at p99, in nanoseconds; none where it is not known.
    #[must_use]
    pub fn stall_p99_ns(&self) -> Option<u64> {
        self.stalls.as_ref()?.quantile_ns(0.99)
    }
}

impl HiccupMeter {
    /// Starts a meter on the CPUs of the thread that it is to stand beside: a hypervisor keeps one CPU from running and
    /// not another, and first of all a busy one. None of them are those of the calling thread. Beside a client that goes
    /// first it goes first too: on a CPU that others keep busy, a stall comes while it waits for its turn, and so would be
    /// taken off.
    ///
    /// # Errors
    /// The thread cannot be started, or the CPUs cannot be had.
    pub fn start(cpus: &[usize], priority: Priority) -> io::Result<Self> {
        // A thread that is started inherits where it may run.
        let _pinned = Pinned::to(cpus)?;
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = thread::Builder::new().name("hiccup".into()).spawn(move || {
            priority.take();
            measure(&seen)
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Stops the meter, within a tick, and returns what it has seen.
    #[must_use]
    pub fn stop(mut self) -> Hiccups {
        self.stop.store(true, Ordering::Relaxed);
        // The thread cannot panic; had it, nothing would be known of the machine.
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for HiccupMeter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn measure(stop: &AtomicBool) -> Hiccups {
    // The kernel may let an ordinary sleep end 50 us late, to wake several sleepers at once.
    let _as_it_was = set_current_timer_slack(NonZeroU64::new(1));
    let run_queue = File::open(FILE).ok().filter(|file| run_queue_ns(file).is_some());
    let mut ticks = Ticks::new(monotonic_ns(), run_queue.as_ref().and_then(run_queue_ns));
    while !stop.load(Ordering::Relaxed) {
        // A signal ends the sleep early, which the ticks do not mind.
        let _interrupted = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(ticks.next_ns));
        let now_ns = monotonic_ns();
        ticks.woke(now_ns, run_queue.as_ref().and_then(run_queue_ns));
    }
    ticks.seen
}

/// How long the calling thread has waited on run queues since it began.
fn run_queue_ns(file: &File) -> Option<u64> {
    let mut bytes = [0; 128];
    let length = file.read_at(&mut bytes, 0).ok()?;
    str::from_utf8(&bytes[..length]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The ticks that are to come, and the lateness of those that were.
#[derive(Debug)]
struct Ticks {
    next_ns: u64,
    /// The wait on run queues at the last waking.
    waited_ns: Option<u64>,
    seen: Hiccups,
}

impl Ticks {
    fn new(now_ns: u64, waited_ns: Option<u64>) -> Self {
        let stalls = waited_ns.map(|_| Histogram::new());
        Self { next_ns: now_ns + TICK_NS, waited_ns, seen: Hiccups { stalls, lateness: Histogram::new() } }
    }

    /// The thread is awake at `now_ns`, and has waited on run queues for `waited_ns` in all.
    fn woke(&mut self, now_ns: u64, waited_ns: Option<u64>) {
        let own_ns = match (waited_ns, self.waited_ns) {
            (Some(now), Some(before)) => now.saturating_sub(before),
            _ => 0,
        };
        self.waited_ns = waited_ns.or(self.waited_ns);
        while self.next_ns <= now_ns {
            let late_ns = now_ns - self.next_ns;
            self.seen.lateness.record(late_ns);
            if let Some(stalls) = &mut self.seen.stalls {
                // Of a tick in the middle of a long sleep it is not known which part of the wait came after it. Taking
                // off all of it may make a stall too small, and never lays this machine's load at its own door.
                stalls.record(late_ns.saturating_sub(own_ns));
            }
            self.next_ns += TICK_NS;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_long_stall_is_as_many_samples_as_ticks_it_kept() {
        let mut ticks = Ticks::new(0, Some(0));
        ticks.woke(TICK_NS - 1, Some(0)); // a signal
        assert_eq!(ticks.seen.lateness.count(), 0);
        ticks.woke(TICK_NS, Some(0));
        ticks.woke(12 * TICK_NS, Some(0)); // ticks 2 to 12
        let stalls = ticks.seen.stalls.expect("known");
        assert_eq!((stalls.count(), ticks.seen.lateness.count()), (12, 12));
        assert!(stalls.max_ns().expect("samples").abs_diff(10 * TICK_NS) <= 10 * TICK_NS / 1_000);
        assert_eq!(ticks.next_ns, 13 * TICK_NS);
    }

    #[test]
    fn waiting_for_a_cpu_that_others_have_is_no_stall() {
        let mut ticks = Ticks::new(0, Some(500));
        ticks.woke(6 * TICK_NS, Some(500 + 5 * TICK_NS));
        assert_eq!(ticks.seen.stalls.as_ref().and_then(Histogram::max_ns), Some(0));
        assert_eq!(ticks.seen.lateness.count(), 6);
        // The wait of one sleep is not taken off the next.
        ticks.woke(8 * TICK_NS, Some(500 + 5 * TICK_NS));
        assert!(ticks.seen.stall_p99_ns().expect("known") >= TICK_NS);
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_not_known() {
        let mut ticks = Ticks::new(0, None);
        ticks.woke(3 * TICK_NS, None);
        assert_eq!((ticks.seen.stall_p99_ns(), ticks.seen.lateness.count()), (None, 3));
        assert_eq!(Hiccups::default().stall_p99_ns(), None);
    }

    #[test]
    fn a_meter_ticks_until_it_is_stopped() {
        let began_ns = monotonic_ns();
        let meter = HiccupMeter::start(&[], Priority::Usual).expect("a thread");
        thread::sleep(Duration::from_millis(100));
        let seen = meter.stop();
        let ticks_max = (monotonic_ns() - began_ns) / TICK_NS;
        let count = seen.lateness.count();
        // However late the thread was, each tick that passed while it ran is one sample.
        assert!((80..=ticks_max).contains(&count), "{count} ticks of {ticks_max}");
        if let Some(stalls) = &seen.stalls {
            assert_eq!(stalls.count(), count);
            assert!(stalls.max_ns() <= seen.lateness.max_ns());
        }
        drop(HiccupMeter::start(&[], Priority::Usual).expect("a thread"));
    }
}
