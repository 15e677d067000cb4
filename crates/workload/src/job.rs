//! A job: a plan with what carrying it out needs and gives, namely a seed, a strategy for blocking
//! steps, and an answer that proves the steps were done.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::kernel;
use crate::plan::Plan;

/// What a model does with a step that keeps its thread: a block, or a computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BlockingStrategy {
    /// Carry it out where the handler runs.
    #[default]
    Inline,
    /// Carry it out on another pool.
    Offload,
    /// Hand this worker's other tasks away first, then carry it out here.
    InPlace,
}

impl BlockingStrategy {
    /// Every strategy, in the order in which reports show them.
    pub const ALL: [BlockingStrategy; 3] =
        [BlockingStrategy::Inline, BlockingStrategy::Offload, BlockingStrategy::InPlace];

    /// The name in URLs and rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            BlockingStrategy::Inline => "inline",
            BlockingStrategy::Offload => "offload",
            BlockingStrategy::InPlace => "in-place",
        }
    }
}

impl fmt::Display for BlockingStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A strategy's name is none that there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown strategy {name:?}; the strategies are inline, offload and in-place")]
pub struct UnknownStrategy {
    /// The name that was given.
    pub name: String,
}

impl FromStr for BlockingStrategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<BlockingStrategy, UnknownStrategy> {
        BlockingStrategy::ALL
            .into_iter()
            .find(|strategy| strategy.name() == name)
            .ok_or_else(|| UnknownStrategy { name: name.to_owned() })
    }
}

/// One request's work: what a handler is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The steps, in order.
    pub plan: Plan,
    /// Where the checksum starts.
    pub seed: u64,
    /// What to do with a step that keeps its thread.
    pub strategy: BlockingStrategy,
}

/// What a handler hands back: how many steps it did, and the checksum over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Steps that were carried out.
    pub steps: u32,
    /// A function of the seed, the compute rounds and the order of the steps.
    pub checksum: u64,
}

/// A handler's account of the steps that it has done, from which its [`Answer`] follows.
///
/// Each kind of step leaves its own mark, so an answer cannot be right if a step was left out.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    steps: u32,
    state: u64,
}

impl Progress {
    /// Nothing done yet.
    #[must_use]
    pub fn new(seed: u64) -> Progress {
        Progress { steps: 0, state: seed }
    }

    /// A wait is over.
    pub fn waited(&mut self) {
        self.mark(0x57);
    }

    /// A block is over.
    pub fn blocked(&mut self) {
        self.mark(0x42);
    }

    /// Does `rounds` rounds of the kernel, here and now.
    pub fn compute(&mut self, rounds: u64) {
        self.state = kernel::run(self.state, rounds);
        self.mark(0x43);
    }

    /// The answer, now that the steps are done.
    #[must_use]
    pub fn answer(self) -> Answer {
        Answer { steps: self.steps, checksum: self.state }
    }

    fn mark(&mut self, kind: u64) {
        self.steps += 1;
        self.state = kernel::mix(self.state ^ kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_read_back() {
        for strategy in BlockingStrategy::ALL {
            assert_eq!(strategy.name().parse(), Ok(strategy));
        }
        let error = "elsewhere".parse::<BlockingStrategy>().unwrap_err();
        assert!(error.to_string().contains("inline, offload and in-place"));
    }
}
