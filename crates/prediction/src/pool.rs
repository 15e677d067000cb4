//! How large a bounded pool and its queue are to be.
//!
//! B. Goetz and others, "Java Concurrency in Practice", section 8.2, 2006, for the workers; Little's law for the queue.

use std::time::Duration;

/// The workers that keep `cores` cores busy with jobs that each compute for a time and wait for another:
/// `cores x (1 + wait / compute)`. Infinite where jobs wait and do not compute.
#[must_use]
pub fn workers(cores: u64, wait: Duration, compute: Duration) -> f64 {
    if wait.is_zero() {
        return cores as f64;
    }
    cores as f64 * (1.0 + wait.as_secs_f64() / compute.as_secs_f64())
}

/// The most jobs a second that so many workers carry out on so many cores: by Little's law what the workers hold, and
/// never more than the cores compute. Infinite where jobs take no time.
#[must_use]
pub fn service_rate_per_s(cores: u64, workers: f64, wait: Duration, compute: Duration) -> f64 {
    let held = workers / (wait + compute).as_secs_f64();
    let computed = cores as f64 / compute.as_secs_f64();
    held.min(computed)
}

/// The jobs that may wait in the queue so that the last of them waits no longer than allowed: `wait x rate`.
#[must_use]
pub fn queue_capacity(wait_allowed: Duration, service_rate_per_s: f64) -> f64 {
    wait_allowed.as_secs_f64() * service_rate_per_s
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-9
    }

    #[test]
    fn the_worked_examples_hold() {
        // 0.2 s at 200 jobs/s is a queue of 40; jobs that compute only want a worker for each core.
        assert!(near(queue_capacity(ms(200), 200.0), 40.0));
        assert!(near(workers(4, Duration::ZERO, ms(10)), 4.0));
        assert!(near(workers(4, ms(90), ms(10)), 40.0));
    }

    #[test]
    fn the_advised_workers_reach_what_the_cores_compute() {
        assert!(near(service_rate_per_s(4, workers(4, ms(90), ms(10)), ms(90), ms(10)), 400.0));
        assert!(near(service_rate_per_s(4, 20.0, ms(90), ms(10)), 200.0));
        assert!(near(service_rate_per_s(4, 400.0, ms(90), ms(10)), 400.0), "the cores are the limit");
        assert!(service_rate_per_s(4, 1.0, Duration::ZERO, Duration::ZERO).is_infinite());
        assert!(workers(4, ms(1), Duration::ZERO).is_infinite());
    }
}
