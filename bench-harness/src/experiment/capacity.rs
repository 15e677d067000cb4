//! The values of the capacity experiments: a burst, and two ramps.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use workload::Plan;

use super::bounds;

/// The table `[capacity]`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Capacity {
    /// `capacity.burst`: how fast do N waiting requests finish, in process?
    pub(crate) burst: Burst,
    /// `capacity.hold-tasks`: how many requests can wait at once, in process?
    pub(crate) hold_tasks: Hold,
    /// `capacity.hold`: the same over HTTP, one connection a request.
    pub(crate) hold: Hold,
}

/// The values of `capacity.burst`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Burst {
    /// What each request does.
    pub(crate) plan: Plan,
    /// How many there are.
    #[serde(with = "bounds::Count")]
    pub(crate) requests: u64,
    /// Where the model limits, requests shrink until the bound is at most this.
    #[serde(with = "bounds::Time")]
    pub(crate) bound_max: Duration,
    /// Whether a burst is the first of its process (false) or the second, a cell each.
    #[serde(with = "bounds::AtLeastOne::<bool>")]
    pub(crate) warm: Vec<bool>,
    /// How often it is measured where the command line does not say.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) repetitions: u32,
    /// Requests that have not finished this long after the burst are given up.
    #[serde(with = "bounds::Time")]
    pub(crate) time_limit: Duration,
}

/// The values of `capacity.hold` and `capacity.hold-tasks`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hold {
    /// How long each request waits.
    #[serde(with = "bounds::Time")]
    pub(crate) wait: Duration,
    /// Arrivals are spread over this share of the wait.
    #[serde(with = "bounds::Positive")]
    pub(crate) spread_share: f64,
    /// Where a step would need more, its wait and its spread stretch in proportion.
    #[serde(with = "bounds::Positive")]
    pub(crate) arrivals_per_s_max: f64,
    /// How many requests, step by step.
    #[serde(with = "bounds::Counts")]
    pub(crate) steps: Vec<u64>,
    /// A step that every variant runs, wherever its ramp ends.
    #[serde(with = "bounds::Count")]
    pub(crate) common_step: u64,
    /// A step is met when its p99 response time is at most this many waits.
    #[serde(with = "bounds::Positive")]
    pub(crate) objective_waits: f64,
    /// Between the last step that was met and the first that was not, the ramp bisects until they are this near. Without it,
    /// the ramp does not bisect.
    #[serde(default, deserialize_with = "bounds::Positive::some", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bounds::Positive")]
    pub(crate) tolerance: Option<f64>,
    /// How often it is measured where the command line does not say.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) repetitions: u32,
}

/// One step of a ramp: how many requests, and how they arrive and wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    /// How many there are.
    pub(crate) requests: u64,
    /// How long each request waits.
    pub(crate) wait: Duration,
    pub(crate) spread: Duration,
}

impl Burst {
    /// How many requests a model with this limit is offered: as many whole rounds as fit the bound.
    pub(crate) fn requests(&self, limit: Option<u64>) -> u64 {
        let wait_ns = self.plan.least_duration().as_nanos().max(1);
        let Some(limit) = limit else { return self.requests };
        let rounds = u64::try_from(self.bound_max.as_nanos() / wait_ns).unwrap_or(u64::MAX).max(1);
        self.requests.min(rounds.saturating_mul(limit.max(1)))
    }
}

impl Hold {
    /// The largest step of the ramp.
    pub(crate) fn last_step(&self) -> u64 {
        self.steps.iter().copied().max().unwrap_or(0)
    }

    /// The step of `requests`. Its wait and spread stretch where they would need too high an arrival rate.
    pub(crate) fn step(&self, requests: u64) -> Step {
        #[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
        let least_spread = Duration::from_secs_f64(requests as f64 / self.arrivals_per_s_max);
        let spread = self.wait.mul_f64(self.spread_share);
        if least_spread <= spread {
            return Step { requests, wait: self.wait, spread };
        }
        Step { requests, wait: least_spread.div_f64(self.spread_share), spread: least_spread }
    }

    /// The longest p99 response time with which a step is met: its own wait, and the slack of a step whose wait is not
    /// stretched. A slack that stretched with the wait would ask less of the larger steps.
    pub(crate) fn objective(&self, step: Step) -> Duration {
        step.wait.saturating_sub(self.wait) + self.wait.mul_f64(self.objective_waits)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Size, Values};
    use super::*;

    fn capacity(size: Size) -> Capacity {
        Values::built_in(size).unwrap().capacity
    }

    #[test]
    fn a_burst_shrinks_until_its_bound_fits() {
        let (quick, full) = (capacity(Size::Quick).burst, capacity(Size::Full).burst);
        assert_eq!(quick.requests(None), 10_000);
        assert_eq!(quick.requests(Some(200)), 2_000);
        assert_eq!(quick.requests(Some(2)), 20);
        assert_eq!(full.requests(Some(200)), 3_000);
        assert_eq!(full.requests(Some(1_000)), 10_000);
        assert_eq!(full.requests(Some(100_000)), 10_000);
    }

    #[test]
    fn a_large_step_stretches_its_wait_and_spread() {
        let hold = capacity(Size::Full).hold_tasks;
        let wait = Duration::from_secs(1);
        let spread = Duration::from_millis(800);
        assert_eq!(hold.step(200_000), Step { requests: 200_000, wait, spread });
        let million = hold.step(1_000_000);
        assert_eq!((million.wait, million.spread), (Duration::from_secs(5), Duration::from_secs(4)));
        // Half of the wait that was not stretched, and no more.
        assert_eq!(hold.objective(million), Duration::from_millis(5_500));
        assert_eq!(hold.objective(hold.step(200_000)), Duration::from_millis(1_500));
    }
}
