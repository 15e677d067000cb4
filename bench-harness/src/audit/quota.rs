//! A quota of CPU time: the kernel has the whole cell in its group, with the quota that was asked for, and the cell used
//! no more than that lets it.

use cell_control::{End, Held};

use super::{check, equal, float, ns};
use crate::row::Check;

/// Beyond its quota a group may use a little on each CPU, which the kernel hands out in slices and takes back late.
const TOLERANCE: f64 = 0.05;

/// The audits of a cell that has a quota; none of another.
pub(super) fn quota(end: &End) -> Vec<Check> {
    let Some(held) = &end.held else { return Vec::new() };
    let asked = held.period.saturating_mul(u32::try_from(held.cpus).unwrap_or(u32::MAX));
    let mut checks = vec![
        equal("processes_in_quota_group", held.processes_inside, held.processes.max(1)),
        equal("quota_of_period_ns", held.quota.map_or(0, ns), ns(asked)),
    ];
    let (used, most) = (float(end.usage.cpu_ns()), most_ns(held));
    checks.extend(check("cpu_within_quota_ns", used <= most, used, most.round()));
    checks
}

/// A group that ends early in a period may have used the whole of its quota in it.
fn most_ns(held: &Held) -> f64 {
    float(held.cpus) * (float(ns(held.wall)) * (1.0 + TOLERANCE) + float(ns(held.period)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cell_protocol::{Stopped, Usage};

    use super::super::failing;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Two processes that computed for a second under a quota of one CPU, on two.
    fn good() -> End {
        let held = Held {
            cpus: 1,
            period: 100 * MS,
            quota: Some(100 * MS),
            processes: 2,
            processes_inside: 2,
            throttled: None,
            wall: 950 * MS,
        };
        let usage = Usage { user_ns: 1_000_000_000, ..Usage::default() };
        End { stopped: Stopped::default(), usage, rss_max_bytes: 1, held: Some(held) }
    }

    fn failing_with(change: impl FnOnce(&mut End, &mut Held)) -> Vec<String> {
        let mut end = good();
        let mut held = end.held.clone().unwrap();
        change(&mut end, &mut held);
        end.held = Some(held);
        failing(quota(&end))
    }

    #[test]
    fn a_cell_that_uses_all_of_its_quota_passes_and_one_without_has_no_check() {
        assert!(failing_with(|_, _| ()).is_empty());
        // On two CPUs a period's quota is used up in half of it.
        let short = failing_with(|end, held| (end.usage.user_ns, held.wall) = (100_000_000, 50 * MS));
        assert!(short.is_empty(), "{short:?}");
        assert!(quota(&End { held: None, ..good() }).is_empty());
    }

    #[test]
    fn each_lie_is_caught_by_its_own_check() {
        assert_eq!(failing_with(|_, held| held.processes_inside = 1), ["processes_in_quota_group"]);
        assert_eq!(failing_with(|_, held| held.quota = Some(200 * MS)), ["quota_of_period_ns"]);
        assert_eq!(failing_with(|_, held| held.quota = None), ["quota_of_period_ns"]);
        assert_eq!(failing_with(|end, _| end.usage.user_ns = 1_098_000_000), ["cpu_within_quota_ns"]);
    }
}
