//! Little's law: requests in flight = arrival rate x time in the system.
//!
//! John D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9(3), 1961.

use std::time::Duration;

/// The requests in flight that a rate needs when each spends `time` in the system.
#[must_use]
pub fn in_flight(rate_per_s: f64, time: Duration) -> f64 {
    rate_per_s * time.as_secs_f64()
}

/// The highest rate, per second, of requests that each take `time` when at most `limit` are in flight.
/// Infinite where requests take no time.
#[must_use]
pub fn rate_ceiling_per_s(limit: f64, time: Duration) -> f64 {
    limit / time.as_secs_f64()
}

/// The least time in which `requests` that each take `time` can finish when at most `limit` are in
/// flight: `requests x time / limit`, and never less than `time`. Where nothing limits, it is `time`.
#[must_use]
pub fn burst_bound(requests: u64, time: Duration, limit: Option<u64>) -> Duration {
    if requests == 0 {
        return Duration::ZERO;
    }
    let Some(limit) = limit else { return time };
    // Only whole requests run, so the last round takes as long as a full one.
    let rounds = requests.div_ceil(limit.max(1));
    Duration::from_nanos(
        u64::try_from(time.as_nanos().saturating_mul(u128::from(rounds))).unwrap_or(u64::MAX),
    )
}

/// How often one place can be used, one after the other, by requests that each take at least `time`, of which none
/// begins before or ends after `elapsed`. None where requests take no time.
#[must_use]
pub fn turns(elapsed: Duration, time: Duration) -> Option<u64> {
    let turns = elapsed.as_nanos().checked_div(time.as_nanos())?;
    Some(u64::try_from(turns).unwrap_or(u64::MAX))
}

/// How many requests can end at one place in a window that is cut from a longer run: one may have begun before it.
#[must_use]
pub fn turns_in_window(elapsed: Duration, time: Duration) -> Option<u64> {
    turns(elapsed, time).map(|turns| turns.saturating_add(1))
}

/// The least number of places at which so many requests can end, where each has so many turns: more than that were in
/// flight at one time.
#[must_use]
pub fn in_flight_min(completed: u64, turns: u64) -> u64 {
    completed
        .checked_div(turns)
        .map_or(completed, |whole| whole + u64::from(!completed.is_multiple_of(turns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(100);

    #[test]
    fn the_worked_examples_hold() {
        // 10,000 requests a second that wait 100 ms need 1,000 in flight; 200 threads cap that at 2,000 a second.
        assert!((in_flight(10_000.0, WAIT) - 1_000.0).abs() < 1e-9);
        assert!((rate_ceiling_per_s(200.0, WAIT) - 2_000.0).abs() < 1e-9);
        assert_eq!(burst_bound(10_000, WAIT, Some(200)), Duration::from_secs(5));
    }

    #[test]
    fn a_place_has_whole_turns_and_a_window_one_more() {
        assert_eq!(turns(WAIT * 5, WAIT), Some(5));
        assert_eq!(turns(WAIT * 6 - Duration::from_nanos(1), WAIT), Some(5));
        assert_eq!(turns_in_window(WAIT * 5, WAIT), Some(6));
        assert_eq!((turns(WAIT, Duration::ZERO), turns(Duration::ZERO, WAIT)), (None, Some(0)));
        assert_eq!(turns_in_window(Duration::MAX, Duration::from_nanos(1)), Some(u64::MAX));
    }

    #[test]
    fn many_ends_in_few_turns_were_in_flight_together() {
        assert_eq!(in_flight_min(1_000, 5), 200);
        assert_eq!(in_flight_min(1_001, 5), 201);
        assert_eq!((in_flight_min(0, 5), in_flight_min(7, 0)), (0, 7));
    }

    #[test]
    fn a_burst_takes_whole_rounds_and_at_least_one_wait() {
        assert_eq!(burst_bound(10_000, WAIT, None), WAIT);
        assert_eq!(burst_bound(1, WAIT, Some(200)), WAIT);
        assert_eq!(burst_bound(201, WAIT, Some(200)), WAIT * 2);
        assert_eq!(burst_bound(0, WAIT, Some(200)), Duration::ZERO);
        assert_eq!(burst_bound(5, WAIT, Some(0)), WAIT * 5);
    }
}
