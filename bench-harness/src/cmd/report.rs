//! `report`: summary and report of a run, from its rows.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::benches::Benches;
use crate::cli::Cli;
use crate::environment::Run;
use crate::exit::{Ending, usage};
use crate::format::printable;
use crate::interrupt::Interrupt;
use crate::output::{self, Forms};
use crate::report::{self, Data};
use crate::row::Row;
use crate::store;
use crate::style::Style;
use crate::summary::{self, Entry, Group};

pub(super) fn run(
    cli: &Cli,
    directory: &Path,
    benches: Option<&Path>,
    into: Option<&Path>,
    interrupt: &Interrupt,
) -> anyhow::Result<Ending> {
    if let Some(criterion) = benches {
        let benches = Benches::collect(criterion)?;
        // Only a run's directory gains a file.
        store::read(directory)?;
        store::write_benches(directory, &benches)?;
    }
    let parts = Parts::read(directory)?;
    // The files are written all together, or left as they are.
    if interrupt.is_raised() {
        return Ok(Ending::Interrupted);
    }
    if let Some(document) = into {
        put(&parts, directory, document)?;
    }
    parts.write_and_print(cli, directory)?;
    Ok(Ending::Done)
}

/// Puts what was found into another document.
fn put(parts: &Parts, directory: &Path, document: &Path) -> anyhow::Result<()> {
    let shown = document.display();
    let read = fs::read_to_string(document);
    let text = read.map_err(|error| usage(format!("--into {shown}: cannot read it: {error}")))?;
    let Some(name) = document.file_name().and_then(OsStr::to_str) else {
        return Err(usage(format!("--into {shown}: that is no file")));
    };
    let whole = report::put(&text, &report::excerpt(&parts.data(), directory)).ok_or_else(|| {
        usage(format!(
            "--into {shown}: it must have the line {} and, further on, {}",
            report::BEGIN,
            report::END
        ))
    })?;
    store::write(document.parent().unwrap_or(Path::new("")), name, &whole)
}

/// What a report is made from.
pub(super) struct Parts {
    run: Run,
    rows: Vec<Row>,
    groups: Vec<Group>,
    benches: Option<Benches>,
}

impl Parts {
    fn read(directory: &Path) -> anyhow::Result<Parts> {
        let (run, rows) = store::read(directory)?;
        let groups = summary::groups(&run, &rows);
        Ok(Parts { run, rows, groups, benches: store::read_benches(directory)? })
    }

    fn data(&self) -> Data<'_> {
        Data { run: &self.run, rows: &self.rows, groups: &self.groups, benches: self.benches.as_ref() }
    }

    /// Writes `summary.json`, `cells.csv`, `report.md` and `report.html`.
    fn write(&self, directory: &Path) -> anyhow::Result<()> {
        store::write_json(directory, "summary.json", &summary::entries(&self.groups))?;
        store::write(directory, "cells.csv", &report::csv(&self.rows, &self.groups))?;
        store::write(directory, "report.md", &report::markdown(&self.data()))?;
        store::write(directory, "report.html", &report::html(&self.data()))
    }

    fn write_and_print(&self, cli: &Cli, directory: &Path) -> anyhow::Result<()> {
        self.write(directory)?;
        let entries = summary::entries(&self.groups);
        for warning in report::warnings(&self.run, &self.groups) {
            output::tell(format_args!("warning: {warning}"));
        }
        Forms {
            text: &|style| text(directory, &self.data(), style),
            csv: &|| Entry::table(&entries).csv(),
            json: &|| serde_json::to_string_pretty(&entries),
        }
        .print(cli)
    }
}

/// Writes the reports of a run that has ended.
pub(super) fn write(directory: &Path) -> anyhow::Result<()> {
    Parts::read(directory)?.write(directory)
}

/// Writes them, and prints the tables in the format that was asked for.
pub(super) fn write_and_print(cli: &Cli, directory: &Path) -> anyhow::Result<()> {
    Parts::read(directory)?.write_and_print(cli, directory)
}

fn text(directory: &Path, data: &Data<'_>, style: Style) -> String {
    let mut text = String::new();
    for section in report::sections(data) {
        let _ = writeln!(text, "{}\n\n{}", section.title, section.table.text(style));
    }
    for finding in [report::findings(data.groups), report::ties(data.run, data.groups)].concat() {
        let _ = writeln!(text, "* {}", printable(&finding));
    }
    let _ = writeln!(text, "\nThe report is {}", directory.join("report.html").display());
    text
}
