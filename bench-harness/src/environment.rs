//! What a run was made on and with: `run.json`. What is not available is null, never 0.

mod machine;
mod noise;

use std::collections::BTreeMap;
use std::fs;
use std::iter;
use std::process::Command;
use std::time::SystemTime;

use cell_protocol::{Description, REVISION};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::aa::NoiseFloor;
use crate::place::CpusBy;

pub(crate) use machine::Machine;
pub(crate) use noise::Noise;

/// The whole of `run.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Run {
    /// The version of this format.
    pub(crate) format: u32,
    /// As it was typed, without the directory of the executable.
    pub(crate) command: Vec<String>,
    /// In UTC, by RFC 3339.
    pub(crate) started_at: String,
    /// Null until the run has ended.
    pub(crate) ended_at: Option<String>,
    /// Some cells are missing: the run was interrupted, or it failed.
    pub(crate) partial: bool,
    /// Why it failed.
    #[serde(default)]
    pub(crate) error: Option<String>,
    /// Of the order of cells and of the requests.
    pub(crate) seed: u64,
    /// Of each runtime; one number for each of `cpus`.
    pub(crate) workers: Vec<usize>,
    /// The numbers of CPUs on which every cell was repeated; empty for all CPUs of the harness.
    pub(crate) cpus: Vec<usize>,
    /// How cells were kept to these.
    #[serde(default)]
    pub(crate) cpus_by: Vec<CpusBy>,
    /// `quick` or `full`, or `aa`.
    pub(crate) size: String,
    /// What was run, by name.
    pub(crate) experiments: Vec<String>,
    /// What the values of these experiments were, and of the server that all share.
    #[serde(default)]
    pub(crate) definition: BTreeMap<String, Value>,
    /// Each time that the run was interrupted and went on.
    #[serde(default)]
    pub(crate) resumed: Vec<Resumption>,
    pub(crate) build: Build,
    pub(crate) machine: Machine,
    pub(crate) noise_before: Noise,
    /// Null until the run has ended.
    pub(crate) noise_after: Option<Noise>,
    /// What differs by less than this is a tie, where somebody has measured it.
    #[serde(default)]
    pub(crate) noise_floor: Option<NoiseFloor>,
    /// What each runtime says of itself, library versions included.
    pub(crate) runtimes: Vec<Description>,
    /// Executables that are named like runners and could not be used.
    pub(crate) problems: Vec<String>,
    /// What was wrong with the files of this run when they were read.
    #[serde(skip)]
    pub(crate) warnings: Vec<String>,
}

/// A later start of the same run: what it found, and what else went on then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Resumption {
    /// In UTC, by RFC 3339.
    pub(crate) at: String,
    /// Cells that were finished, and were not measured again.
    pub(crate) cells_kept: u64,
    /// All cells of the plan.
    pub(crate) cells: u64,
    /// Rows of cells that were measured again: they are in `replaced.jsonl`.
    pub(crate) rows_replaced: u64,
    /// How many of those cells were finished and invalid, by the first of their checks that had failed.
    pub(crate) invalid_by_check: BTreeMap<String, u64>,
    /// What had gone on when the run ended before; null where it was killed.
    pub(crate) noise_at_end: Option<Noise>,
    /// What went on when it was started again.
    pub(crate) noise: Noise,
}

impl Resumption {
    /// Cells that were finished and invalid, and were measured again.
    pub(crate) fn cells_invalid(&self) -> u64 {
        self.invalid_by_check.values().sum()
    }

    /// Cells that were missing: not begun before, or cut short.
    pub(crate) fn cells_missing(&self) -> u64 {
        self.cells.saturating_sub(self.cells_kept).saturating_sub(self.cells_invalid())
    }
}

/// What the harness was built with and from.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Build {
    /// The git revision.
    pub(crate) revision: String,
    /// Whether the tree had changes, where the run was started in the tree that the harness was built from.
    pub(crate) dirty: Option<bool>,
    /// What `rustc --version` said.
    pub(crate) rustc: Option<String>,
    /// Cargo's profile, `release`.
    pub(crate) profile: Option<String>,
    /// The name that git has for `Cargo.lock`.
    pub(crate) lock_hash: Option<String>,
}

impl Run {
    /// The share of the CPU time that the hypervisor gave to others: the largest, where the run was resumed, of the
    /// parts that have ended.
    pub(crate) fn steal_share(&self) -> Option<f64> {
        let begun = iter::once(&self.noise_before).chain(self.resumed.iter().map(|resumed| &resumed.noise));
        let ended = self.resumed.iter().map(|resumed| resumed.noise_at_end.as_ref());
        let parts = begun.zip(ended.chain(iter::once(self.noise_after.as_ref())));
        parts.filter_map(|(begun, ended)| ended?.steal_share_since(begun)).max_by(f64::total_cmp)
    }
}

impl Build {
    pub(crate) fn read() -> Build {
        let told = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Build {
            revision: REVISION.to_owned(),
            dirty: dirty(),
            rustc: told(env!("BUILD_RUSTC")),
            profile: told(env!("BUILD_PROFILE")),
            lock_hash: told(env!("BUILD_LOCK_HASH")),
        }
    }
}

/// `2025-12-02T09:14:03Z`
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Whether the tree in which the harness was started has changes; not known where that is another tree.
fn dirty() -> Option<bool> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if git(&["rev-parse", "HEAD"])? != REVISION {
        return None;
    }
    git(&["status", "--porcelain"]).map(|changes| !changes.is_empty())
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_run_in_parts_the_largest_share_of_steal_counts_that_is_known() {
        let at = |steal, all| Noise { steal_ticks: Some(steal), cpu_ticks: Some(all), ..Noise::default() };
        let part = |noise_at_end, noise| Resumption { noise_at_end, noise, ..Resumption::default() };
        // 10 % until it was first resumed, unknown until the second time, since it was killed, and 1 % then.
        let mut run = Run { noise_before: at(0, 0), ..Run::default() };
        run.resumed = vec![part(Some(at(10, 100)), at(20, 200)), part(None, at(50, 300))];
        assert_eq!(run.steal_share(), Some(0.1));
        run.noise_after = Some(at(51, 400));
        assert_eq!(run.steal_share(), Some(0.1));
        run.noise_after = Some(at(80, 400));
        assert_eq!(run.steal_share(), Some(0.3));
    }

    #[test]
    fn a_cell_that_is_measured_again_was_missing_or_invalid() {
        let invalid_by_check = BTreeMap::from([("lag".to_owned(), 2), ("lost".to_owned(), 1)]);
        let resumed = Resumption { cells: 24, cells_kept: 20, invalid_by_check, ..Resumption::default() };
        assert_eq!((resumed.cells_invalid(), resumed.cells_missing()), (3, 1));
    }
}
