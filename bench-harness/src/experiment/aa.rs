//! The values of `aa`: a cell measured as two.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use statistics::Level;
use workload::Plan;

use super::bounds;
use super::capacity::Burst;

/// The table `[aa]`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Aa {
    /// One pair is one comparison, as two variants of a full run are compared.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) pairs: u32,
    /// Runs of each side of a pair, each in a process of its own.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) repetitions: u32,
    /// What the interval of each ratio is to cover.
    #[serde(with = "bounds::Probability")]
    pub(crate) coverage: Level,
    /// How often an interval's runs are drawn again.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) resamples: u32,
    /// The noise floor is above this share of the ratios between equals.
    #[serde(with = "bounds::Probability")]
    pub(crate) floor_share: Level,
    /// What is measured, by name.
    pub(crate) cells: BTreeMap<String, AaCell>,
}

/// One cell: a cold burst of `capacity.burst` with values of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AaCell {
    /// What each request does.
    pub(crate) plan: Plan,
    /// How many there are.
    #[serde(with = "bounds::Count")]
    requests: u64,
    /// Where the model limits, requests shrink until the bound is at most this.
    #[serde(with = "bounds::Time")]
    bound_max: Duration,
    /// Requests that have not finished this long after the burst are given up.
    #[serde(with = "bounds::Time")]
    time_limit: Duration,
}

impl AaCell {
    /// The burst, with this plan in the place of the cell's own.
    pub(crate) fn burst(&self, plan: Plan) -> Burst {
        Burst {
            plan,
            requests: self.requests,
            bound_max: self.bound_max,
            warm: vec![false],
            repetitions: 1,
            time_limit: self.time_limit,
        }
    }
}
