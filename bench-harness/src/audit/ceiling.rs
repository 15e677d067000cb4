//! Ceilings: a place holds one request at a time, so that no more end than there are places and turns at each; and as
//! many were in service at one time as the turns leave no other way.

use std::time::Duration;

use prediction::little;

use super::{at_least, at_most};
use crate::row::Check;

/// Requests that ended in a time, each of which takes a least time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    /// None of them began before it.
    AllWithin { completed: u64, elapsed: Duration, least: Duration },
    /// It is a window of a longer run: some of them began before it.
    InWindow { completed: u64, elapsed: Duration, least: Duration },
}

/// What limits how many can be somewhere at one time, each where there is such a limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    pub(crate) connections: Option<u64>,
    pub(crate) in_flight_limit: Option<u64>,
}

impl Ends {
    fn completed(self) -> u64 {
        match self {
            Ends::AllWithin { completed, .. } | Ends::InWindow { completed, .. } => completed,
        }
    }

    /// How many can have ended at one place; none where a request takes no time.
    fn turns(self) -> Option<u64> {
        match self {
            Ends::AllWithin { elapsed, least, .. } => little::turns(elapsed, least),
            Ends::InWindow { elapsed, least, .. } => little::turns_in_window(elapsed, least),
        }
    }

    /// The checks of what ended, by a client's count, against the places that the harness knows of, and against the
    /// most that were in service at one time, by the server's own count.
    pub(crate) fn checks(self, places: Places, in_flight_peak: u64) -> Vec<Check> {
        let Some(turns) = self.turns() else { return Vec::new() };
        let all = [
            ("completed_within_connections", places.connections),
            ("completed_within_limit", places.in_flight_limit),
        ];
        let within = |(name, places): (&str, Option<u64>)| {
            Some(at_most(name, self.completed(), places?.saturating_mul(turns)))
        };
        let mut checks: Vec<Check> = all.into_iter().filter_map(within).collect();
        let peak_min = little::in_flight_min(self.completed(), turns);
        checks.push(at_least("in_flight_peak_by_littles_law", in_flight_peak, peak_min));
        checks
    }
}

#[cfg(test)]
mod tests {
    use super::super::failing;
    use super::*;

    const LEAST: Duration = Duration::from_millis(100);

    /// 5.5 waits, in which 200 places have 5 turns each.
    fn burst(completed: u64, in_flight_peak: u64) -> Vec<String> {
        let ends = Ends::AllWithin { completed, elapsed: LEAST * 11 / 2, least: LEAST };
        let places = Places { connections: Some(300), in_flight_limit: Some(200) };
        failing(ends.checks(places, in_flight_peak))
    }

    fn window(completed: u64, in_flight_peak: u64) -> Vec<String> {
        let ends = Ends::InWindow { completed, elapsed: LEAST * 5, least: LEAST };
        failing(ends.checks(Places { connections: Some(64), in_flight_limit: None }, in_flight_peak))
    }

    #[test]
    fn a_saturated_row_is_at_its_ceiling_and_not_above() {
        assert!(burst(1_000, 200).is_empty());
        assert_eq!(burst(1_001, 201), ["completed_within_limit"]);
        assert_eq!(burst(1_501, 301), ["completed_within_connections", "completed_within_limit"]);
        // What began before the window ends in it.
        assert!(window(64 * 6, 64).is_empty());
        assert_eq!(window(64 * 6 + 1, 65), ["completed_within_connections"]);
    }

    #[test]
    fn fewer_in_service_than_the_ends_need_are_caught() {
        assert_eq!(burst(1_000, 199), ["in_flight_peak_by_littles_law"]);
        assert_eq!(window(64 * 6, 63), ["in_flight_peak_by_littles_law"]);
        assert!(burst(0, 0).is_empty());
    }

    #[test]
    fn requests_that_take_no_time_have_no_ceiling() {
        let ends = Ends::InWindow { completed: 1_000_000, elapsed: LEAST, least: Duration::ZERO };
        assert!(ends.checks(Places { connections: Some(1), in_flight_limit: Some(1) }, 0).is_empty());
    }
}
