//! Amdahl's law: what cannot be shared out bounds the speed-up, however many share the rest.
//!
//! G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS
//! Spring Joint Computer Conference, 1967. The bound is that of an ideal scheduler: it leaves out what putting threads to
//! sleep and waking them costs.

use std::time::Duration;

/// The share of an operation's time that is spent under the one lock, up to 1. An operation that takes no time has none.
#[must_use]
pub fn serial_fraction(operation: Duration, locked: Duration) -> f64 {
    if operation.is_zero() {
        return 0.0;
    }
    (locked.as_secs_f64() / operation.as_secs_f64()).min(1.0)
}

/// How many times one thread's rate `threads` threads reach at most: `1 / (f + (1 - f) / N)`.
#[must_use]
pub fn speedup_bound(serial_fraction: f64, threads: u64) -> f64 {
    1.0 / (serial_fraction + (1.0 - serial_fraction) / threads.max(1) as f64)
}

/// How many times one thread's rate any number of threads reach at most: `1 / f`. Infinite where nothing is serial.
#[must_use]
pub fn speedup_limit(serial_fraction: f64) -> f64 {
    1.0 / serial_fraction
}

/// The serial fraction where the lock is split into independent stripes, and keys spread evenly over them.
#[must_use]
pub fn striped(serial_fraction: f64, stripes: u64) -> f64 {
    serial_fraction / stripes.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example_holds() {
        let fraction = serial_fraction(Duration::from_nanos(1_000), Duration::from_nanos(300));
        assert_eq!(format!("{fraction:.2} {:.1}", speedup_limit(fraction)), "0.30 3.3");
        let of = |stripes| {
            let fraction = striped(fraction, stripes);
            format!("{fraction:.4} {:.1}", speedup_bound(fraction, 8))
        };
        assert_eq!([1, 4, 16, 64].map(of), ["0.3000 2.6", "0.0750 5.2", "0.0187 7.1", "0.0047 7.7"]);
    }

    #[test]
    fn the_ends_are_no_speedup_and_all_of_it() {
        for threads in [1, 2, 8, 1_000] {
            assert!((speedup_bound(1.0, threads) - 1.0).abs() < 1e-12);
            assert!((speedup_bound(0.0, threads) - threads as f64).abs() < 1e-9);
            assert!(speedup_bound(0.3, threads) <= speedup_limit(0.3));
        }
        assert!((speedup_bound(0.3, 0) - 1.0).abs() < 1e-12);
        assert!((serial_fraction(Duration::ZERO, Duration::from_secs(1))).abs() < 1e-12);
        assert!((serial_fraction(Duration::from_secs(1), Duration::from_secs(2)) - 1.0).abs() < 1e-12);
    }
}
