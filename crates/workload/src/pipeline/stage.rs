//! The four stages, a value for each, and faults planted in one.

use std::fmt;
use std::ops::{Index, IndexMut};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::arrivals::nanoseconds;

/// What an image goes through, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// It is waited for.
    Fetch,
    /// The cores make pixels of it.
    Decode,
    /// A device, or a core, looks at a batch of them.
    Detect,
    /// The cores annotate and render it.
    Post,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Stage; 4] = [Stage::Fetch, Stage::Decode, Stage::Detect, Stage::Post];

    /// The name in metrics and rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Fetch => "fetch",
            Stage::Decode => "decode",
            Stage::Detect => "detect",
            Stage::Post => "post",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value for each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByStage<T> {
    /// Of the fetches.
    pub fetch: T,
    /// Of decoding.
    pub decode: T,
    /// Of detection.
    pub detect: T,
    /// Of annotating and rendering.
    pub post: T,
}

impl<T> Index<Stage> for ByStage<T> {
    type Output = T;

    fn index(&self, stage: Stage) -> &T {
        match stage {
            Stage::Fetch => &self.fetch,
            Stage::Decode => &self.decode,
            Stage::Detect => &self.detect,
            Stage::Post => &self.post,
        }
    }
}

impl<T> IndexMut<Stage> for ByStage<T> {
    fn index_mut(&mut self, stage: Stage) -> &mut T {
        match stage {
            Stage::Fetch => &mut self.fetch,
            Stage::Decode => &mut self.decode,
            Stage::Detect => &mut self.detect,
            Stage::Post => &mut self.post,
        }
    }
}

/// A fault planted in a stage on purpose, to show that the rest of the pipeline survives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedFault {
    /// Where.
    pub stage: Stage,
    /// When that stage has this image, or a batch that it is in. Images are numbered from 0 as they are admitted.
    pub image: u64,
    /// What happens.
    pub fault: Fault,
}

/// What can go wrong in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// It panics, and the image fails; in a batch, every image of it.
    Panic,
    /// It is stuck before it does its work: where it waits, it waits for longer, and where it computes, its thread is
    /// blocked.
    Stuck {
        /// For how long.
        #[serde(rename = "duration_ns", with = "nanoseconds")]
        duration: Duration,
    },
}
