//! The two lanes, and a value for each.

use std::fmt;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// Whose work an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// Somebody waits for it.
    Interactive,
    /// Nobody does; as much as possible is to be done.
    Bulk,
}

impl Lane {
    /// Both, the more urgent one first.
    pub const ALL: [Lane; 2] = [Lane::Interactive, Lane::Bulk];

    /// The name in metrics and rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Lane::Interactive => "interactive",
            Lane::Bulk => "bulk",
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value for each lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByLane<T> {
    /// Of interactive work.
    pub interactive: T,
    /// Of bulk work.
    pub bulk: T,
}

impl<T> Index<Lane> for ByLane<T> {
    type Output = T;

    fn index(&self, lane: Lane) -> &T {
        match lane {
            Lane::Interactive => &self.interactive,
            Lane::Bulk => &self.bulk,
        }
    }
}

impl<T> IndexMut<Lane> for ByLane<T> {
    fn index_mut(&mut self, lane: Lane) -> &mut T {
        match lane {
            Lane::Interactive => &mut self.interactive,
            Lane::Bulk => &mut self.bulk,
        }
    }
}
