//! What a run has to do with baselines: one that it is held against when it has ended, and one that it becomes.

use std::path::Path;

use crate::baseline::Baselines;
use crate::cli::{Cli, Run as Arguments};
use crate::cmd::{compare, report};
use crate::compare::{Floors, Side};
use crate::exit::Ending;
use crate::output::{self, Format};

/// What was asked for, found before anything is measured.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    arguments: &'a Arguments,
    baselines: Baselines,
    held_against: Option<Side>,
}

/// How the run ended, for what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    Yes,
    /// It was interrupted, or it failed.
    No,
}

impl<'a> Plan<'a> {
    /// Reads the baseline that the run is to be held against.
    ///
    /// # Errors
    ///
    /// A usage error where there is none of this name.
    pub(super) fn of(arguments: &'a Arguments) -> anyhow::Result<Plan<'a>> {
        // Where no directory is named, the run's will be one under this.
        let out = arguments.out.as_deref().unwrap_or(Path::new("reports/run"));
        let baselines = Baselines::of(arguments.baselines.as_deref(), out)?;
        let found = arguments.baseline.as_ref().map(|name| baselines.find(name)).transpose()?;
        let held_against = found.map(|path| compare::side(&path)).transpose()?;
        Ok(Plan { arguments, baselines, held_against })
    }

    /// Writes the reports of a run that was closed, compares it, and keeps it as a baseline, as was asked for.
    pub(super) fn conclude(&self, cli: &Cli, directory: &Path, whole: Whole) -> anyhow::Result<()> {
        let is_compared = self.held_against.is_some() && whole == Whole::Yes;
        // Standard output has one value: the comparison, where that was asked for. The summary is in its file.
        if is_compared && cli.format != Format::Text {
            report::write(directory)?;
        } else {
            report::write_and_print(cli, directory)?;
        }
        if whole == Whole::No {
            for (asked, what) in
                [(&self.arguments.baseline, "compared with"), (&self.arguments.save_baseline, "saved as")]
            {
                if let Some(name) = asked {
                    output::tell(format_args!(
                        "warning: not {what} the baseline {name}: the run did not end"
                    ));
                }
            }
            return Ok(());
        }
        if let Some(a) = &self.held_against {
            let b = compare::side(directory)?;
            let page = directory.join("comparison.html");
            let asked = compare::Asked {
                html: Some(&page),
                anyway: false,
                fail_on_regression: self.arguments.fail_on_regression,
            };
            // A run that is worse than its baseline does not take the place of one.
            compare::tell(cli, a, &b, &Floors::of(None, [&a.run, &b.run]), asked).inspect_err(|_| {
                if let Some(name) = &self.arguments.save_baseline {
                    output::tell(format_args!("warning: not saved as the baseline {name}"));
                }
            })?;
        }
        if let Some(name) = &self.arguments.save_baseline {
            let (path, replaced) = self.baselines.save(name, directory)?;
            let place = replaced.map(|started_at| format!(", in the place of that of {started_at}"));
            output::tell(format_args!(
                "The baseline {name} is {}{}",
                path.display(),
                place.unwrap_or_default()
            ));
        }
        Ok(())
    }
}

impl Whole {
    pub(super) fn of(outcome: &anyhow::Result<()>, ending: Ending) -> Whole {
        if outcome.is_ok() && ending == Ending::Done { Whole::Yes } else { Whole::No }
    }
}
