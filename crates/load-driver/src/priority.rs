//! Whether a thread goes before others. Where a server computes on every CPU, a client that must wait for its turn sends
//! late, which would be laid at the server's door.

use procfs::process::Process;
use rustix::process::setpriority_process;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// The lowest priority of the real-time policies: before every thread that has none. See `sched(7)`.
const REAL_TIME_LEAST: u8 = 1;
/// The niceness that goes before all others.
const NICE_LEAST: i32 = -20;
/// As the kernel numbers `SCHED_RR`.
const ROUND_ROBIN: u32 = 2;

/// What a thread asks of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Its turn, as any thread. A client that is busy all the time must not keep others off its CPU.
    Usual,
    /// To run as soon as it wakes. For threads that are idle nearly always.
    First,
}

/// How a thread goes before others, as the kernel has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Going {
    /// It does not.
    Usual,
    /// It has a larger share, and still waits until a turn is over.
    Nice,
    /// It runs as soon as it wakes.
    RealTime,
}

impl Priority {
    /// Takes it for the calling thread, as far as the kernel allows.
    pub fn take(self) {
        if self == Priority::Usual {
            return;
        }
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
        let least = ThreadPriorityValue::try_from(REAL_TIME_LEAST).map(ThreadPriority::Crossplatform);
        let is_real_time = least
            .is_ok_and(|least| set_thread_priority_and_policy(thread_native_id(), least, policy).is_ok());
        if !is_real_time {
            // Who may not, goes on as usual: what came of it is read from the kernel.
            let _best_effort = setpriority_process(None, NICE_LEAST);
        }
    }
}

impl Going {
    /// As a row says it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Going::Usual => "no",
            Going::Nice => "nice",
            Going::RealTime => "real-time",
        }
    }

    fn of(pid: u32) -> Going {
        let stat = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok()?.stat().ok());
        match stat {
            Some(stat) if stat.policy == Some(ROUND_ROBIN) => Going::RealTime,
            Some(stat) if stat.nice == i64::from(NICE_LEAST) => Going::Nice,
            _ => Going::Usual,
        }
    }
}

/// The least of the main threads of these processes, as the kernel has them.
pub fn of_all(pids: impl IntoIterator<Item = u32>) -> Going {
    pids.into_iter().map(Going::of).min().unwrap_or(Going::Usual)
}

#[cfg(test)]
mod tests {
    use std::process;
    use std::thread;

    use super::*;

    /// As `capabilities(7)` numbers it.
    const CAP_SYS_NICE: u64 = 1 << 23;

    #[test]
    fn what_is_taken_is_what_the_kernel_has() {
        assert_eq!(of_all([process::id()]), Going::Usual);
        assert_eq!(of_all([]), Going::Usual);
        let tid = thread::spawn(|| {
            Priority::First.take();
            Going::of(u32::try_from(rustix::thread::gettid().as_raw_pid()).unwrap())
        });
        let going = tid.join().unwrap();
        let may = Process::myself().and_then(|me| me.status()).unwrap().capeff & CAP_SYS_NICE != 0;
        assert!(!may || going != Going::Usual, "who has the capability gets what it is for");
        assert_eq!(of_all([process::id()]), Going::Usual, "it is the thread's alone");
    }
}
