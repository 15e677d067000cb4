//! The values of the throughput experiments: a closed loop and an open one.

use std::time::Duration;

use serde::Deserialize;
use workload::Plan;
use workload::arrivals::Spacing;

use super::bounds;

/// The table `[throughput]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Throughput {
    pub(crate) closed: Closed,
    pub(crate) open: Open,
}

/// The values of `throughput.closed`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Closed {
    pub(crate) plan: Plan,
    #[serde(deserialize_with = "bounds::counts")]
    pub(crate) connections: Vec<u64>,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) warmup: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) duration: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) timeout: Duration,
    #[serde(deserialize_with = "bounds::small_count")]
    pub(crate) repetitions: u32,
}

/// The values of `throughput.open`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Open {
    pub(crate) plan: Plan,
    #[serde(deserialize_with = "bounds::count")]
    pub(crate) connections: u64,
    /// Of the floor's throughput in a closed loop of as many connections.
    #[serde(deserialize_with = "bounds::positive")]
    pub(crate) floor_share: f64,
    pub(crate) arrivals: Spacing,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) warmup: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) duration: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) timeout: Duration,
    #[serde(deserialize_with = "bounds::small_count")]
    pub(crate) repetitions: u32,
}

impl Open {
    /// The closed loop that finds the floor's ceiling: the same plan, connections and times.
    pub(crate) fn ceiling(&self) -> Closed {
        Closed {
            plan: self.plan.clone(),
            connections: vec![self.connections],
            warmup: self.warmup,
            duration: self.duration,
            timeout: self.timeout,
            repetitions: 1,
        }
    }
}
