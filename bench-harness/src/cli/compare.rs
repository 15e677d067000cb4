//! The arguments of `compare`.

use std::path::PathBuf;

use clap::Args;

use crate::baseline::Name;

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The run that is held against, and the one that is compared with it: their directories, or files in them
    #[arg(value_names = ["A", "B"], num_args = 1..=2, required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Hold B against the baseline of this name; by default against A
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<Name>,
    /// Where baselines are; by default `baselines` beside the directory of the run
    #[arg(long, value_name = "DIR")]
    pub(crate) baselines: Option<PathBuf>,
    /// The noise floor, an aa.json or its directory; by default what the runs took with them, and 5 % of what has none
    #[arg(long, visible_alias = "noise-floor", value_name = "FILE")]
    pub(crate) noise: Option<PathBuf>,
    /// Write the comparison as a page too, which needs no other file; by default it is only printed
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Exit with 4 where a figure regressed
    #[arg(long, conflicts_with = "anyway")]
    pub(crate) fail_on_regression: bool,
    /// Show figures, marked as such, also of runs that cannot be compared: other machines, builds, limits or experiments
    #[arg(long)]
    pub(crate) anyway: bool,
}
