//! The values of the throughput experiments: a closed loop and an open one.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use workload::Plan;
use workload::arrivals::Spacing;

use super::bounds;

/// The table `[throughput]`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Throughput {
    /// `throughput.closed`: every connection sends its next request when the answer to the last one has come.
    pub(crate) closed: Closed,
    /// `throughput.open`: requests by a schedule, at a share of what the floor can do on the same CPUs.
    pub(crate) open: Open,
}

/// The values of `throughput.closed`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Closed {
    /// What each request does.
    pub(crate) plan: Plan,
    /// How many there are, a cell each.
    #[serde(with = "bounds::Counts")]
    pub(crate) connections: Vec<u64>,
    /// Load before the window.
    #[serde(with = "bounds::Time")]
    pub(crate) warmup: Duration,
    /// The window.
    #[serde(with = "bounds::Time")]
    pub(crate) duration: Duration,
    /// A request that has no answer after this has timed out.
    #[serde(with = "bounds::Time")]
    pub(crate) timeout: Duration,
    /// How often it is measured where the command line does not say.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) repetitions: u32,
}

/// The values of `throughput.open`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Open {
    /// What each request does.
    pub(crate) plan: Plan,
    /// How many there are.
    #[serde(with = "bounds::Count")]
    pub(crate) connections: u64,
    /// Of the floor's throughput in a closed loop of as many connections.
    #[serde(with = "bounds::Positive")]
    pub(crate) floor_share: f64,
    /// How they follow each other.
    pub(crate) arrivals: Spacing,
    /// Load before the window.
    #[serde(with = "bounds::Time")]
    pub(crate) warmup: Duration,
    /// The window.
    #[serde(with = "bounds::Time")]
    pub(crate) duration: Duration,
    /// A request that has no answer after this has timed out.
    #[serde(with = "bounds::Time")]
    pub(crate) timeout: Duration,
    /// How often it is measured where the command line does not say.
    #[serde(with = "bounds::SmallCount")]
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
