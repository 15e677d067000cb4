//! `report.md`: what was found first, then the tables, then the machine and the command.

use std::fmt::Write;

use crate::benches::Benches;
use crate::contestant::FLOOR;
use crate::environment::Run;
use crate::experiment::Experiment;
use crate::format::{count, metric, ns, printable, whole};
use crate::row::Status;
use crate::summary::Group;
use crate::table::Table;

mod blocking;
mod capacity;
mod columns;
mod findings;
mod literature;
mod machine;
mod memory;
mod primitives;
mod throughput;
mod ties;

pub(crate) use findings::{findings, warnings};
pub(crate) use ties::ties;

/// A table with its title.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) table: Table,
}

/// The report of a run, as Markdown, with the figures of the primitives where the run has any.
pub(crate) fn markdown(run: &Run, groups: &[Group], benches: Option<&Benches>) -> String {
    let mut text = format!("# {}\n\n", run.experiments.join(", "));
    let warnings = warnings(run, groups);
    for warning in &warnings {
        let _ = writeln!(text, "> **Warning:** {}\n", sentence(warning));
    }
    text.push_str("## What was found\n\n");
    let findings = [findings(groups), ties(run, groups)].concat();
    if findings.is_empty() {
        text.push_str("Nothing: no cell has figures.\n");
    }
    for finding in findings {
        let _ = writeln!(text, "* {}", sentence(&finding));
    }
    for section in sections(groups, benches) {
        let _ = write!(text, "\n## {}\n\n{}", section.title, section.table.markdown());
    }
    text.push('\n');
    text.push_str(HOW_TO_READ);
    text.push_str(memory::how_to_read(groups));
    text.push_str(blocking::how_to_read(groups));
    text.push_str(&primitives::how_to_read(benches));
    text.push('\n');
    text.push_str(&machine::markdown(run));
    text
}

/// A sentence in Markdown, in which a runner's words may stand: on one line, and with no tag.
fn sentence(text: &str) -> String {
    printable(text).replace('<', "\\<")
}

const HOW_TO_READ: &str = "\
`floor` is the same work with no model around it. `bound` is what arithmetic allows (Little's law: N x wait / limit, \
and one wait where nothing limits); efficiency is bound / elapsed. Response times count from the intended start of \
each request. A step of a ramp is met when its p99 is within its objective: its own wait and a slack, half of the \
experiment's wait where its file says nothing else, which does not stretch where a step's wait has to. Capacity is \
the peak of the largest step that was met, and the percentiles, wait and objective beside it are of that step. `>=` \
marks a figure that the machine, and not the model, kept from being larger, and a median of such figures and others. A percentile is shown where at least ten \
samples lie beyond it: p99 takes 1,000. n counts repetitions, each in its own \
process. An interval is that of the median over them, by order statistics: the narrowest pair of repetitions that has \
the true median between it with the probability beside it, of 90 % or more; of fewer than five it is the smallest and \
the largest, which have less. n = 1 says nothing of the spread.
";

/// The tables of a run, in the order of the experiments, and those of the primitives.
pub(crate) fn sections(groups: &[Group], benches: Option<&Benches>) -> Vec<Section> {
    let mut sections = capacity::sections(groups);
    sections.extend(memory::sections(groups));
    sections.extend(blocking::sections(groups));
    sections.extend(throughput::sections(groups));
    sections.extend(primitives::sections(benches));
    sections.retain(|section| !section.table.is_empty());
    sections
}

fn of(groups: &[Group], experiment: Experiment) -> impl Iterator<Item = &Group> {
    groups.iter().filter(move |group| group.cell.experiment == experiment.name())
}

impl Section {
    fn new(title: &str, table: Table) -> Section {
        Section { title: title.to_owned(), table }
    }
}

#[cfg(test)]
mod tests;
