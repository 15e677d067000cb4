//! How much CPU time the compute kernel takes here, so that planned work can be held against used CPU.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use workload::kernel;

const SAMPLES: usize = 25;
const ROUNDS: u64 = 100_000;

/// Rounds of the compute kernel that a microsecond of CPU time holds here, on this thread and now: the most of several
/// samples, since what disturbs one only makes it slower.
#[must_use]
pub fn rounds_per_us() -> f64 {
    Calibration::measure().rounds_per_us()
}

/// The CPU time of [`ROUNDS`] rounds of the kernel.
///
/// The fastest of all samples counts: what disturbs a sample only makes it slower, and a rate that is
/// too low would ask a runner for CPU that the work does not need.
#[derive(Debug)]
pub(crate) struct Calibration {
    fastest_ns: AtomicU64,
}

impl Calibration {
    /// Measures on this thread's CPU clock.
    pub(crate) fn measure() -> Calibration {
        let calibration = Calibration { fastest_ns: AtomicU64::new(u64::MAX) };
        calibration.refine();
        calibration
    }

    /// Measures some more: the processor may have become faster.
    pub(crate) fn refine(&self) {
        for _ in 0..SAMPLES {
            let begin = thread_cpu_ns();
            black_box(kernel::run(black_box(1), ROUNDS));
            let took = thread_cpu_ns().saturating_sub(begin).max(1);
            self.fastest_ns.fetch_min(took, Relaxed);
        }
    }

    fn rounds_per_us(&self) -> f64 {
        ROUNDS as f64 * 1e3 / self.fastest_ns.load(Relaxed) as f64
    }

    /// The rounds that take this much CPU time, at the least.
    pub(crate) fn rounds(&self, cpu: Duration) -> u64 {
        let rounds = cpu.as_nanos() * u128::from(ROUNDS) / u128::from(self.fastest_ns.load(Relaxed));
        u64::try_from(rounds).unwrap_or(u64::MAX)
    }

    /// The CPU time that these rounds take, at the least.
    pub(crate) fn cpu(&self, rounds: u64) -> Duration {
        let ns = u128::from(rounds) * u128::from(self.fastest_ns.load(Relaxed)) / u128::from(ROUNDS);
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let part = |value: i64| u64::try_from(value).unwrap_or_default();
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_and_times_go_together() {
        let calibration = Calibration::measure();
        let rounds = calibration.rounds(Duration::from_millis(20));
        let back = calibration.cpu(rounds);
        assert!(back <= Duration::from_millis(20) && back > Duration::from_millis(19), "{back:?}");
        let begin = thread_cpu_ns();
        black_box(kernel::run(black_box(1), rounds));
        let took = Duration::from_nanos(thread_cpu_ns() - begin);
        // A processor of a shared machine may become much faster or slower meanwhile.
        assert!(took > Duration::from_millis(4) && took < Duration::from_millis(500), "{took:?}");
        // Of one calibration: two of them differ by as much as the processor does.
        let per_us = calibration.rounds_per_us();
        assert!((per_us * 20_000.0 / rounds as f64 - 1.0).abs() < 0.001, "{per_us}");
    }

    #[test]
    fn more_samples_only_lower_the_time() {
        let calibration = Calibration::measure();
        let before = calibration.cpu(ROUNDS);
        calibration.refine();
        assert!(calibration.cpu(ROUNDS) <= before);
    }
}
