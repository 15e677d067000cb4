//! The values of `aa`: a cell measured as two.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use statistics::Level;
use workload::Plan;

use super::bounds;
use super::capacity::Burst;

/// The table `[aa]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Aa {
    #[serde(deserialize_with = "bounds::small_count")]
    pub(crate) pairs: u32,
    #[serde(deserialize_with = "bounds::small_count")]
    pub(crate) repetitions: u32,
    #[serde(deserialize_with = "bounds::level")]
    pub(crate) coverage: Level,
    #[serde(deserialize_with = "bounds::small_count")]
    pub(crate) resamples: u32,
    #[serde(deserialize_with = "bounds::level")]
    pub(crate) floor_share: Level,
    /// By name.
    pub(crate) cells: BTreeMap<String, AaCell>,
}

/// One cell: a cold burst of `capacity.burst` with values of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AaCell {
    pub(crate) plan: Plan,
    #[serde(deserialize_with = "bounds::count")]
    requests: u64,
    #[serde(deserialize_with = "bounds::duration")]
    bound_max: Duration,
    #[serde(deserialize_with = "bounds::duration")]
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
