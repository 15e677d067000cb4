//! `compare`: what changed from one run to another, by more than noise.

use std::path::{Path, PathBuf};

use crate::aa::NoiseFloor;
use crate::baseline::Baselines;
use crate::cli::{Cli, Compare as Arguments};
use crate::compare::{self, Comparison, Floors, Side};
use crate::exit::{Ending, Incomparable, Regression, usage};
use crate::interrupt::Interrupt;
use crate::output::Forms;
use crate::store;

pub(super) fn run(cli: &Cli, arguments: &Arguments, interrupt: &Interrupt) -> anyhow::Result<Ending> {
    let (a, b) = match (&arguments.baseline, &arguments.runs[..]) {
        (None, [a, b]) => (side(a)?, side(b)?),
        (Some(name), [b]) => {
            let b_read = side(b)?;
            (side(&Baselines::of(arguments.baselines.as_deref(), &directory(b)?)?.find(name)?)?, b_read)
        }
        (None, _) => return Err(usage("name two runs, A and B, or one and a --baseline")),
        (Some(_), _) => return Err(usage("with a --baseline, name the one run that is held against it")),
    };
    let given = arguments.noise.as_deref().map(NoiseFloor::read).transpose()?;
    let floors = Floors::of(given, [&a.run, &b.run]);
    if interrupt.is_raised() {
        return Ok(Ending::Interrupted);
    }
    let asked = Asked {
        html: arguments.html.as_deref(),
        anyway: arguments.anyway,
        fail_on_regression: arguments.fail_on_regression,
    };
    tell(cli, &a, &b, &floors, asked)?;
    Ok(Ending::Done)
}

/// What is asked of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked<'a> {
    pub(super) html: Option<&'a Path>,
    pub(super) anyway: bool,
    pub(super) fail_on_regression: bool,
}

/// Reads one side: the directory of a run, or a file in it.
///
/// # Errors
///
/// A usage error where there is no run.
pub(super) fn side(path: &Path) -> anyhow::Result<Side> {
    let (run, rows) = store::read(&directory(path)?)?;
    Ok(Side::new(path.display().to_string(), run, rows))
}

/// The directory of a run, where that or a file in it is named.
fn directory(path: &Path) -> anyhow::Result<PathBuf> {
    const FILES: [&str; 4] = ["run.json", "cells.jsonl", "summary.json", "cells.csv"];
    if path.is_dir() {
        return Ok(path.to_owned());
    }
    if !path.exists() {
        return Err(usage(format!("there is no {}; name the directory of a run", path.display())));
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !FILES.contains(&name) {
        let files = FILES.join(", ");
        return Err(usage(format!(
            "{} is no run; name the directory of one, or its {files}",
            path.display()
        )));
    }
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    Ok(parent.unwrap_or(Path::new(".")).to_owned())
}

/// Compares, prints what came of it in the format that was asked for, and writes the page.
///
/// # Errors
///
/// [`Incomparable`] where the runs as wholes cannot be compared, or have no cell in common; [`Regression`] where one was
/// found and is to fail.
pub(super) fn tell(cli: &Cli, a: &Side, b: &Side, floors: &Floors, asked: Asked<'_>) -> anyhow::Result<()> {
    let comparison = match Comparison::refused(a, b) {
        Some(refused) if !asked.anyway => refused,
        _ => Comparison::of(a, b, floors),
    };
    if let Some(page) = asked.html {
        write_page(page, &comparison)?;
    }
    let page = asked.html.map(|page| format!("\nThe page is {}\n", page.display())).unwrap_or_default();
    Forms {
        text: &|style| compare::text(&comparison, style) + &page,
        csv: &|| compare::csv(&comparison),
        json: &|| serde_json::to_string_pretty(&comparison),
    }
    .print(cli)?;
    if !comparison.differences.is_empty() && !asked.anyway {
        let named: Vec<String> = comparison.differences.iter().map(ToString::to_string).collect();
        let what = format!(
            "A and B cannot be compared: {}; --anyway shows the figures all the same",
            named.join("; ")
        );
        return Err(Incomparable(what).into());
    }
    if comparison.counts.cells == 0 {
        return Err(Incomparable("A and B cannot be compared: no cell is in both".to_owned()).into());
    }
    let regressed = comparison.counts.regressed;
    if asked.fail_on_regression && regressed > 0 {
        let of = comparison.figures.len();
        return Err(Regression(format!("{regressed} of {of} figures regressed")).into());
    }
    Ok(())
}

fn write_page(page: &Path, comparison: &Comparison) -> anyhow::Result<()> {
    let directory = page.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let Some(name) = page.file_name().and_then(|name| name.to_str()).filter(|_| !page.is_dir()) else {
        return Err(usage(format!("{} is no file; name one with --html", page.display())));
    };
    store::write(directory, name, &compare::html(comparison))
}
