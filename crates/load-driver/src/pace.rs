//! Absolute-time pacing: when to sleep for the next intended start, when to spin, and when it is due.
//!
//! A schedule is kept by aiming every start at an instant of the monotonic clock, never at "one interval
//! after the last one": lateness of one start must not shift the following ones. The kernel wakes a
//! sleeper some microseconds late, so the last [`SPIN_NS_MAX`] before a start are spent awake.

use std::num::NonZeroU64;

use rustix::event::epoll;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io;
use rustix::thread::{clock_nanosleep_absolute, current_timer_slack, set_current_timer_slack};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

/// The longest time before a start that is spent spinning rather than sleeping, in nanoseconds.
pub const SPIN_NS_MAX: u64 = 50_000;

const NS_PER_S: u64 = 1_000_000_000;

/// Now on `CLOCK_MONOTONIC`, in nanoseconds. The clock is the same in all processes of a machine, so its
/// instants can be handed from one process to another.
#[must_use]
#[inline]
pub fn monotonic_ns() -> u64 {
    timespec_ns(clock_gettime(ClockId::Monotonic))
}

/// CPU time that the calling thread has used, user and system, in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    timespec_ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// What a paced loop does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The start is due: do it now.
    Due,
    /// The start is so near that sleeping would miss it: poll without sleeping.
    Spin,
    /// Sleep until this instant, then ask again.
    Sleep {
        /// Instant to wake at, in nanoseconds of the monotonic clock.
        until_ns: u64,
    },
}

/// Decides how to wait at `now_ns` for a start intended at `intended_ns`. It never says [`Step::Due`]
/// before the intended instant, so a paced start can be late but not early.
#[must_use]
pub fn step(now_ns: u64, intended_ns: u64) -> Step {
    match intended_ns.checked_sub(now_ns) {
        None | Some(0) => Step::Due,
        Some(left) if left <= SPIN_NS_MAX => Step::Spin,
        Some(_) => Step::Sleep { until_ns: intended_ns - SPIN_NS_MAX },
    }
}

/// Blocks the calling thread until `until_ns` on the monotonic clock: sleeps, then spins for the last
/// [`SPIN_NS_MAX`]. Returns the clock's reading at its end, which is never before `until_ns`.
pub fn sleep_until(until_ns: u64) -> u64 {
    loop {
        let now_ns = monotonic_ns();
        match step(now_ns, until_ns) {
            Step::Due => return now_ns,
            Step::Spin => std::hint::spin_loop(),
            Step::Sleep { until_ns } => sleep_without_slack(until_ns),
        }
    }
}

/// Sleeps until `until_ns`, or until a signal comes.
///
/// The kernel may let an ordinary sleep end 50 us late, to wake several sleepers at once. That slack belongs to the
/// thread, and threads that it starts inherit it: it is put back at once, or else the threads of a runtime that is
/// driven from here would sleep in another way than those of a server.
fn sleep_without_slack(until_ns: u64) {
    let slack = current_timer_slack().ok().and_then(NonZeroU64::new);
    // Where the slack cannot be set, the sleep is a little less exact, which the send lag shows.
    let _set = set_current_timer_slack(NonZeroU64::new(1));
    let _interrupted = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(until_ns));
    let _set = set_current_timer_slack(slack);
}

/// A timer that wakes an epoll loop at an absolute instant. epoll's own time-out counts milliseconds;
/// this one has the resolution of the kernel's high-resolution timers, and no timer slack.
#[derive(Debug)]
pub struct Pacer {
    timer: OwnedFd,
    armed_for_ns: Option<u64>,
}

impl Pacer {
    /// Makes a timer and registers it with `epoll`, edge-triggered, under the event data `token`.
    ///
    /// # Errors
    /// The descriptor limit, or anything else that `timerfd_create(2)` or `epoll_ctl(2)` reports.
    pub fn new(epoll: impl AsFd, token: u64) -> io::Result<Self> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        // Edge-triggered: arming again resets the expiry count, so nobody has to read the timer.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(epoll, &timer, epoll::EventData::new_u64(token), flags)?;
        Ok(Self { timer, armed_for_ns: None })
    }

    /// Arms the timer for an instant of the monotonic clock; one that has passed fires at once. Asking
    /// again for the same instant costs nothing.
    ///
    /// # Errors
    /// Whatever `timerfd_settime(2)` reports.
    pub fn arm(&mut self, at_ns: u64) -> io::Result<()> {
        if self.armed_for_ns == Some(at_ns) {
            return Ok(());
        }
        // A value of zero would disarm the timer.
        let value = Itimerspec { it_interval: timespec(0), it_value: timespec(at_ns.max(1)) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &value)?;
        self.armed_for_ns = Some(at_ns);
        Ok(())
    }
}

pub(crate) fn timespec(ns: u64) -> Timespec {
    // Both parts fit: u64::MAX nanoseconds are 1.8e10 seconds, and the remainder is below 1e9.
    Timespec { tv_sec: (ns / NS_PER_S).cast_signed(), tv_nsec: (ns % NS_PER_S).cast_signed() }
}

fn timespec_ns(at: Timespec) -> u64 {
    // Monotonic and CPU clocks start at zero, so neither part is negative.
    at.tv_sec.cast_unsigned() * NS_PER_S + at.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_never_due_early() {
        assert_eq!(step(99, 100), Step::Spin);
        assert_eq!(step(100, 100), Step::Due);
        assert_eq!(step(101, 100), Step::Due);
        let far = 10 * SPIN_NS_MAX;
        assert_eq!(step(0, far), Step::Sleep { until_ns: far - SPIN_NS_MAX });
        assert_eq!(step(0, SPIN_NS_MAX), Step::Spin);
    }

    #[test]
    fn sleeping_ends_at_or_after_the_instant() {
        for ahead_ns in [0, 10_000, 60_000, 2_000_000] {
            let until_ns = monotonic_ns() + ahead_ns;
            assert!(sleep_until(until_ns) >= until_ns);
        }
        let inherited = std::thread::spawn(current_timer_slack).join().expect("no panic");
        assert!(inherited.is_ok_and(|slack_ns| slack_ns > 1), "nothing of it is left to other threads");
    }

    #[test]
    fn the_timer_wakes_an_epoll_loop_each_time_it_is_armed() {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("an epoll instance");
        let mut pacer = Pacer::new(&epoll, 7).expect("a timer");
        let mut events = Vec::with_capacity(4);
        for _ in 0..3 {
            let at_ns = monotonic_ns() + 1_000_000;
            pacer.arm(at_ns).expect("armed");
            events.clear();
            epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), Some(&timespec(5 * NS_PER_S)))
                .expect("a wake-up");
            assert!(monotonic_ns() >= at_ns);
            assert_eq!(events.iter().map(|event| event.data.u64()).collect::<Vec<_>>(), [7]);
        }
    }
}
