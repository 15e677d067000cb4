//! The values of the blocking experiments: innocent requests beside blockers, and a burst of blockers.

use std::fmt;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use workload::arrivals::Spacing;
use workload::{BlockingStrategy, Plan};

use super::bounds;

/// The most threads to offload to that a file may ask for.
const OFFLOAD_THREADS_MAX: usize = 30_000;

/// The table `[blocking]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Blocking {
    pub(crate) probe: Probe,
    pub(crate) pinning: Pinning,
}

/// The values of `blocking.probe`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probe {
    pub(crate) probe: Plan,
    #[serde(deserialize_with = "bounds::positive")]
    pub(crate) probes_per_s: f64,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) held_after: Duration,
    pub(crate) arrivals: Spacing,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) keep: Duration,
    #[serde(deserialize_with = "bounds::some")]
    blockers: Vec<Keeps>,
    #[serde(deserialize_with = "bounds::counts")]
    shares_percent: Vec<u64>,
    #[serde(deserialize_with = "bounds::some")]
    strategies: Vec<BlockingStrategy>,
    #[serde(deserialize_with = "bounds::some")]
    offload_threads: Vec<OffloadThreads>,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) warmup: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) duration: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) drain: Duration,
    #[serde(deserialize_with = "bounds::count")]
    pub(crate) probe_connections: u64,
    #[serde(deserialize_with = "bounds::count")]
    pub(crate) blocker_connections: u64,
    #[serde(deserialize_with = "bounds::small_count")]
    pub(crate) repetitions: u32,
}

/// The values of `blocking.pinning`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pinning {
    #[serde(deserialize_with = "bounds::count")]
    pub(crate) requests: u64,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) keep: Duration,
    #[serde(deserialize_with = "bounds::some")]
    blockers: Vec<Keeps>,
    #[serde(deserialize_with = "bounds::some")]
    strategies: Vec<BlockingStrategy>,
    #[serde(deserialize_with = "bounds::some")]
    offload_threads: Vec<OffloadThreads>,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) time_limit: Duration,
    #[serde(deserialize_with = "bounds::small_count")]
    pub(crate) repetitions: u32,
}

/// How a blocker keeps its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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
