//! `report`: summary and report of a run, from its rows.

use std::fmt::Write;
use std::path::Path;

use crate::cli::Cli;
use crate::environment::Run;
use crate::exit::Ending;
use crate::format::printable;
use crate::output::{self, Format};
use crate::report;
use crate::store;
use crate::summary::{self, Entry, Group};

pub(super) fn run(cli: &Cli, directory: &Path) -> anyhow::Result<Ending> {
    write_and_print(cli, directory)?;
    Ok(Ending::Done)
}

/// Writes `summary.json` and `report.md`, and hands back what they were made from.
pub(super) fn write(directory: &Path) -> anyhow::Result<(Run, Vec<Group>)> {
    let (run, rows) = store::read(directory)?;
    let groups = summary::groups(&run, &rows);
    store::write_json(directory, "summary.json", &summary::entries(&groups))?;
    store::write(directory, "report.md", &report::markdown(&run, &groups))?;
    Ok((run, groups))
}

/// Writes them, and prints the comparison in the format that was asked for.
pub(super) fn write_and_print(cli: &Cli, directory: &Path) -> anyhow::Result<()> {
    let (run, groups) = write(directory)?;
    let entries = summary::entries(&groups);
    for warning in report::warnings(&run, &groups) {
        output::tell(format_args!("warning: {warning}"));
    }
    match cli.format {
        Format::Text => output::print(&text(directory, &run, &groups, cli.color.on_stdout()))?,
        Format::Json => output::print_json(&entries)?,
        Format::Csv => output::print(&Entry::table(&entries).csv())?,
    }
    Ok(())
}

fn text(directory: &Path, run: &Run, groups: &[Group], bold: bool) -> String {
    let mut text = String::new();
    for section in report::sections(groups) {
        let _ = writeln!(text, "{}\n\n{}", section.title, section.table.text(bold));
    }
    for finding in [report::findings(groups), report::ties(run, groups)].concat() {
        let _ = writeln!(text, "* {}", printable(&finding));
    }
    let _ = writeln!(text, "\nThe report is {}", directory.join("report.md").display());
    text
}
