//! The values of the blocking experiments: innocent requests beside blockers, and a burst of blockers.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use workload::arrivals::Spacing;
use workload::{BlockingStrategy, Plan};

use super::bounds;

/// The most threads to offload to that a file may ask for.
const OFFLOAD_THREADS_MAX: usize = 30_000;

/// The table `[blocking]`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Blocking {
    /// `blocking.probe`: innocent requests beside such as keep their thread, over HTTP, in an open loop.
    pub(crate) probe: Probe,
    /// `blocking.pinning`: as many at once as there are, each of which keeps its thread, in process.
    pub(crate) pinning: Pinning,
}

/// The values of `blocking.probe`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probe {
    /// What each innocent request does.
    pub(crate) probe: Plan,
    /// How many innocent requests come a second.
    #[serde(with = "bounds::Positive")]
    pub(crate) probes_per_s: f64,
    /// One that kept its thread for so long held others up by more than this.
    #[serde(with = "bounds::Time")]
    pub(crate) held_after: Duration,
    /// How the requests of each kind follow each other.
    pub(crate) arrivals: Spacing,
    /// For how long a blocker keeps its thread.
    #[serde(with = "bounds::Time")]
    pub(crate) keep: Duration,
    /// How blockers keep their threads.
    #[serde(with = "bounds::AtLeastOne::<Keeps>")]
    blockers: Vec<Keeps>,
    /// What shares of the workers' time blockers take, a cell each; the probes alone are measured too.
    #[serde(with = "bounds::Counts")]
    shares_percent: Vec<u64>,
    /// Where blockers are carried out.
    #[serde(with = "bounds::AtLeastOne::<BlockingStrategy>")]
    strategies: Vec<BlockingStrategy>,
    /// The most threads to offload to, a cell each.
    #[serde(with = "bounds::AtLeastOne::<OffloadThreads>")]
    offload_threads: Vec<OffloadThreads>,
    /// Load before the window.
    #[serde(with = "bounds::Time")]
    pub(crate) warmup: Duration,
    /// The window.
    #[serde(with = "bounds::Time")]
    pub(crate) duration: Duration,
    /// How long to wait for answers after the window.
    #[serde(with = "bounds::Time")]
    pub(crate) drain: Duration,
    /// What waits for a free one waits in the client, which is counted apart.
    #[serde(with = "bounds::Count")]
    pub(crate) probe_connections: u64,
    /// The same for blockers.
    #[serde(with = "bounds::Count")]
    pub(crate) blocker_connections: u64,
    /// How often it is measured where the command line does not say.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) repetitions: u32,
}

/// The values of `blocking.pinning`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pinning {
    /// How many there are.
    #[serde(with = "bounds::Count")]
    pub(crate) requests: u64,
    /// For how long a blocker keeps its thread.
    #[serde(with = "bounds::Time")]
    pub(crate) keep: Duration,
    /// How blockers keep their threads.
    #[serde(with = "bounds::AtLeastOne::<Keeps>")]
    blockers: Vec<Keeps>,
    /// Where blockers are carried out.
    #[serde(with = "bounds::AtLeastOne::<BlockingStrategy>")]
    strategies: Vec<BlockingStrategy>,
    /// The most threads to offload to, a cell each.
    #[serde(with = "bounds::AtLeastOne::<OffloadThreads>")]
    offload_threads: Vec<OffloadThreads>,
    /// Requests that have not finished this long after the burst are given up.
    #[serde(with = "bounds::Time")]
    pub(crate) time_limit: Duration,
    /// How often it is measured where the command line does not say.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) repetitions: u32,
}

/// How a blocker keeps its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Keeps {
    /// It sleeps.
    Block,
    /// It computes.
    Compute,
}

/// One kind of blocker, and where it is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocker {
    pub(crate) keeps: Keeps,
    pub(crate) strategy: BlockingStrategy,
    /// None is the library's own number, and where nothing is offloaded.
    pub(crate) offload_threads: Option<usize>,
}

/// Blockers beside the probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beside {
    pub(crate) blocker: Blocker,
    /// Of the workers' time.
    pub(crate) share_percent: u64,
}

/// `"4"`, or `"default"` for the library's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OffloadThreads(Option<usize>);

impl Probe {
    /// What the probes are measured beside: nothing, and then each share of each blocker.
    pub(crate) fn beside(&self) -> Vec<Option<Beside>> {
        let mut all = vec![None];
        for blocker in blockers(&self.blockers, &self.strategies, &self.offload_threads) {
            let shares = self.shares_percent.iter();
            all.extend(shares.map(|share| Some(Beside { blocker, share_percent: *share })));
        }
        all
    }
}

impl Pinning {
    pub(crate) fn blockers(&self) -> Vec<Blocker> {
        blockers(&self.blockers, &self.strategies, &self.offload_threads)
    }
}

impl Keeps {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Keeps::Block => "block",
            Keeps::Compute => "compute",
        }
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.keeps.name(), self.strategy)?;
        match self.offload_threads {
            Some(threads) => write!(f, " to {threads}"),
            None => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for OffloadThreads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OffloadThreads, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "default" {
            return Ok(OffloadThreads(None));
        }
        match text.parse() {
            Ok(threads @ 1..=OFFLOAD_THREADS_MAX) => Ok(OffloadThreads(Some(threads))),
            _ => Err(D::Error::custom(format!(
                "{text:?} is neither \"default\" nor a number of threads from 1 to {OFFLOAD_THREADS_MAX}"
            ))),
        }
    }
}

impl JsonSchema for OffloadThreads {
    fn schema_name() -> Cow<'static, str> {
        "OffloadThreads".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^(default|\+?0*[1-9][0-9]*)$",
            "description": format!("\"default\", or a number of threads from 1 to {OFFLOAD_THREADS_MAX}."),
        })
    }
}

/// Pools matter to what is offloaded alone.
fn blockers(keeps: &[Keeps], strategies: &[BlockingStrategy], pools: &[OffloadThreads]) -> Vec<Blocker> {
    let mut all = Vec::new();
    for keeps in keeps.iter().copied() {
        for strategy in strategies.iter().copied() {
            let pools: &[OffloadThreads] = match strategy {
                BlockingStrategy::Offload => pools,
                BlockingStrategy::Inline | BlockingStrategy::InPlace => &[OffloadThreads(None)],
            };
            all.extend(pools.iter().map(|pool| Blocker { keeps, strategy, offload_threads: pool.0 }));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::{Size, Values};
    use super::*;

    #[test]
    fn each_blocker_is_asked_for_once() {
        let full = Values::built_in(Size::Full).unwrap().blocking;
        let beside = full.probe.beside();
        // Alone, and 2 shares of 2 kinds, each inline, offloaded to 2 pools and in place.
        assert_eq!(beside.len(), 1 + 2 * 2 * 4);
        let mut names: Vec<String> = full.pinning.blockers().iter().map(Blocker::to_string).collect();
        assert_eq!(names.len(), 8);
        assert!(names.contains(&"compute offload to 4".to_owned()), "{names:?}");
        names.dedup();
        assert_eq!(names.len(), 8);
    }

    #[test]
    fn the_quick_size_is_small() {
        let quick = Values::built_in(Size::Quick).unwrap().blocking;
        assert_eq!(quick.probe.beside().len(), 5);
        assert_eq!(quick.pinning.blockers().len(), 2);
        // p99 takes 1,000 probes. Of a Poisson process that expects 1,100, one in a thousand has fewer.
        assert!(quick.probe.probes_per_s * quick.probe.duration.as_secs_f64() >= 1_100.0);
    }
}
