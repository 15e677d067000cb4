//! Loop lag: how late the ticks of a runtime come, as counts by lateness.
//!
//! The counts are kept where a few atomics must do, so the classes are fixed: about 3 % wide from 33 us on, and 1 us
//! wide below.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// From one tick to the next.
pub const LAG_TICK: Duration = Duration::from_millis(10);
/// How many classes of lateness there are.
pub const LAG_CLASSES: usize = 32 * (OCTAVES + 1);

/// A class has 1,024 ns, or a 32nd of its octave.
const UNIT_BITS: u32 = 10;
const CLASSES_BITS: u32 = 5;
/// The last one ends at 69 s; what is later still is counted there.
const OCTAVES: usize = 21;

/// The class of a lateness.
#[must_use]
pub fn lag_class(late: Duration) -> usize {
    let units = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX) >> UNIT_BITS;
    let octave = u64::BITS.saturating_sub(units.leading_zeros() + CLASSES_BITS + 1);
    // Of the octave above 32 units, the leading bit is the octave's own, and 5 more tell the class.
    let class = (u64::from(octave) << CLASSES_BITS) + (units >> octave);
    usize::try_from(class).unwrap_or(usize::MAX).min(LAG_CLASSES - 1)
}

/// The longest lateness of a class, in nanoseconds.
fn longest_ns(class: usize) -> u64 {
    let class = class as u64;
    let octave = (class >> CLASSES_BITS).saturating_sub(1);
    let units = class - (octave << CLASSES_BITS);
    (((units + 1) << octave) << UNIT_BITS) - 1
}

/// How many ticks came how late. As pairs on its way, since keys of JSON are strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct LoopLag {
    /// By the longest lateness of each class, in nanoseconds.
    ticks: BTreeMap<u64, u64>,
}

impl LoopLag {
    /// Adds ticks of a class.
    pub fn add(&mut self, class: usize, ticks: u64) {
        if ticks > 0 {
            *self.ticks.entry(longest_ns(class)).or_default() += ticks;
        }
    }

    /// The ticks from `earlier` to here.
    #[must_use]
    pub fn since(&self, earlier: &LoopLag) -> LoopLag {
        let before = |ns: &u64| earlier.ticks.get(ns).copied().unwrap_or(0);
        let ticks = self.ticks.iter().map(|(ns, count)| (*ns, count.saturating_sub(before(ns))));
        LoopLag { ticks: ticks.filter(|(_, count)| *count > 0).collect() }
    }

    /// Each lateness that there was, in nanoseconds, with its ticks, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ticks.iter().map(|(ns, count)| (*ns, *count))
    }

    /// How many ticks there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ticks.values().sum()
    }

    /// The lateness within which a share `quantile` (0 to 1) of the ticks came, in nanoseconds; none of no tick.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of ticks, rounded up, is a number of ticks"
        )]
        let rank = ((self.count() as f64 * quantile.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut sum = 0;
        self.iter().find_map(|(ns, count)| {
            sum += count;
            (sum >= rank).then_some(ns)
        })
    }

    /// The latest tick, in nanoseconds.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        self.ticks.last_key_value().map(|(ns, _)| *ns)
    }
}

impl From<Vec<(u64, u64)>> for LoopLag {
    fn from(pairs: Vec<(u64, u64)>) -> LoopLag {
        LoopLag { ticks: pairs.into_iter().collect() }
    }
}

impl From<LoopLag> for Vec<(u64, u64)> {
    fn from(lag: LoopLag) -> Vec<(u64, u64)> {
        lag.ticks.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(ms: &[u64]) -> LoopLag {
        let mut lag = LoopLag::default();
        ms.iter().for_each(|ms| lag.add(lag_class(Duration::from_millis(*ms)), 1));
        lag
    }

    proptest! {
        #[test]
        fn a_class_is_narrow_and_holds_its_lateness(ns in 0_u64..68_000_000_000) {
            let longest = longest_ns(lag_class(Duration::from_nanos(ns)));
            prop_assert!(longest >= ns, "{ns} in a class up to {longest}");
            prop_assert!(longest - ns <= (ns / 32).max(1_023), "{ns} in a class up to {longest}");
        }
    }

    #[test]
    fn classes_ascend_without_a_gap() {
        let ends: Vec<u64> = (0..LAG_CLASSES).map(longest_ns).collect();
        assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
        for (class, end) in ends.iter().enumerate().take(LAG_CLASSES - 1) {
            assert_eq!(lag_class(Duration::from_nanos(*end)), class);
            assert_eq!(lag_class(Duration::from_nanos(end + 1)), class + 1);
        }
        assert_eq!(lag_class(Duration::MAX), LAG_CLASSES - 1);
    }

    #[test]
    fn quantiles_are_of_the_ticks_between() {
        let earlier = of(&[1, 1, 500]);
        assert_eq!(LoopLag::default().quantile_ns(0.5), None);
        let mut later = earlier.clone();
        (0..99).for_each(|_| later.add(lag_class(Duration::from_millis(2)), 1));
        later.add(lag_class(Duration::from_millis(40)), 1);
        let between = later.since(&earlier);
        assert_eq!(between.count(), 100);
        let near = |ns: Option<u64>, ms: u64| ns.unwrap().abs_diff(ms * 1_000_000) <= ms * 1_000_000 / 32;
        assert!(near(between.quantile_ns(0.99), 2) && near(between.quantile_ns(0.991), 40));
        assert!(near(between.max_ns(), 40) && near(later.max_ns(), 500));
        assert_eq!(later.since(&later), LoopLag::default());
    }
}
