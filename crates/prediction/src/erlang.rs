//! How likely one is to find every thread taken, where those who take them come as a Poisson process.
//!
//! A. K. Erlang, "Solution of some Problems in the Theory of Probabilities of Significance in Automatic Telephone
//! Exchanges", Elektroteknikeren 13, 1917. His times of service are exponential; with constant ones the chance is a little
//! smaller, and the same at the ends.

/// The share that finds all `threads` taken where they have one queue, and whoever is free takes from it. The load is in
/// erlangs: arrivals a second x seconds that each takes a thread. One that the threads cannot carry holds everybody up.
#[must_use]
pub fn share_held_by_one_queue(erlangs: f64, threads: u64) -> f64 {
    let Some(busy) = busy_share(erlangs, threads) else { return 1.0 };
    // Erlang's B, by the recursion that does not overflow, and from it his C.
    let blocked = (1..=threads).fold(1.0, |blocked, thread| {
        let offered = erlangs * blocked;
        offered / (thread as f64 + offered)
    });
    blocked / (1.0 - busy * (1.0 - blocked))
}

/// The share that finds its thread taken where each thread has a queue of its own, and nobody helps.
#[must_use]
pub fn share_held_by_a_queue_each(erlangs: f64, threads: u64) -> f64 {
    busy_share(erlangs, threads).unwrap_or(1.0)
}

/// The share of its time for which a thread is taken; none where the load is more than the threads carry.
fn busy_share(erlangs: f64, threads: u64) -> Option<f64> {
    let busy = erlangs / threads as f64;
    (busy < 1.0).then_some(busy.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-9
    }

    #[test]
    fn known_answers() {
        // One thread: both are its busy share. Two at half load: 1/3, the textbook's example.
        assert!(near(share_held_by_one_queue(0.3, 1), 0.3));
        assert!(near(share_held_by_one_queue(1.0, 2), 1.0 / 3.0));
        assert!(near(share_held_by_one_queue(0.5, 2), 0.1));
        assert!(near(share_held_by_one_queue(1.5, 2), 9.0 / 14.0));
        assert!(near(share_held_by_a_queue_each(1.0, 2), 0.5));
        // A tabulated value: 8 erlangs on 10 lines.
        assert!((share_held_by_one_queue(8.0, 10) - 0.409).abs() < 0.001);
    }

    #[test]
    fn nothing_holds_nobody_up_and_too_much_holds_all() {
        for threads in [1, 2, 200, 30_000] {
            assert!(near(share_held_by_one_queue(0.0, threads), 0.0));
            assert!(near(share_held_by_a_queue_each(0.0, threads), 0.0));
            for erlangs in [threads as f64, threads as f64 * 1.5, f64::INFINITY] {
                assert!(near(share_held_by_one_queue(erlangs, threads), 1.0));
                assert!(near(share_held_by_a_queue_each(erlangs, threads), 1.0));
            }
        }
        assert!(near(share_held_by_one_queue(1.0, 0), 1.0));
        assert!(share_held_by_one_queue(100.0, 200) < 1e-9, "half of a large pool is never all of it");
    }

    #[test]
    fn one_queue_is_never_worse() {
        for tenths in 1..80 {
            let erlangs = f64::from(tenths) / 10.0;
            assert!(share_held_by_one_queue(erlangs, 8) <= share_held_by_a_queue_each(erlangs, 8));
        }
    }
}
