//! The reports of a run: what was found first, then the tables and charts, then the machine and the command.
//!
//! Sentences, tables and charts are values, computed once by each study; `report.md` and `report.html` render them.

use std::fmt::Write;

use crate::benches::Benches;
use crate::contestant::FLOOR;
use crate::environment::Run;
use crate::experiment::Experiment;
use crate::format::{count, metric, ns, printable, whole};
use crate::row::{Row, Status};
use crate::summary::Group;
use crate::table::Table;

mod blocking;
mod bounds;
mod capacity;
pub(crate) mod cells;
mod chart;
mod columns;
mod curves;
mod decision;
mod excerpt;
mod findings;
mod html;
mod literature;
mod machine;
mod memory;
pub(crate) mod page;
mod pipeline;
mod primitives;
mod study;
mod throughput;
mod ties;

pub(crate) use cells::csv;
pub(crate) use decision::Decision;
pub(crate) use excerpt::{BEGIN, END, excerpt, put};
pub(crate) use findings::{findings, warnings};
pub(crate) use html::html;
pub(crate) use ties::ties;

use study::{STUDIES, Study, headlines};

/// The title of the decision table.
const DECISION: &str = "Every variant, side by side";

/// Everything that a report is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    pub(crate) run: &'a Run,
    pub(crate) rows: &'a [Row],
    pub(crate) groups: &'a [Group],
    /// What `cargo bench` measured, where that was brought in.
    pub(crate) benches: Option<&'a Benches>,
}

/// A table with its title.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) table: Table,
}

/// The report of a run, as Markdown.
pub(crate) fn markdown(data: &Data<'_>) -> String {
    let Data { run, groups, .. } = *data;
    let mut text = format!("# {}\n\n", run.experiments.join(", "));
    for warning in &all_warnings(run, groups) {
        let _ = writeln!(text, "> **Warning:** {}\n", sentence(warning));
    }
    text.push_str("## What was found\n\n");
    let findings = [headlines(groups), findings(groups), ties(run, groups)].concat();
    if findings.is_empty() {
        text.push_str("Nothing: no cell has figures.\n");
    }
    for finding in findings {
        let _ = writeln!(text, "* {}", sentence(&finding));
    }
    let decision = Decision::of(run, groups);
    if !decision.lines.is_empty() {
        let _ = write!(text, "\n## {DECISION}\n\n{}", decision.markdown());
    }
    for section in sections(data) {
        let _ = write!(text, "\n## {}\n\n{}", section.title, section.table.markdown());
    }
    text.push('\n');
    text.push_str(HOW_TO_READ);
    STUDIES.iter().for_each(|study| text.push_str(&(study.how_to_read)(data)));
    text.push('\n');
    text.push_str(&machine::markdown(run));
    text
}

/// What a reader must know before any figure: of the run, and of figures that are lower bounds.
fn all_warnings(run: &Run, groups: &[Group]) -> Vec<String> {
    warnings(run, groups).into_iter().chain(bounds::lower_bounds(groups)).collect()
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

/// The tables of a run, in the order of the experiments.
pub(crate) fn sections(data: &Data<'_>) -> Vec<Section> {
    STUDIES.iter().flat_map(|study| of_study(study, data)).collect()
}

/// Those of one study that have rows.
fn of_study(study: &Study, data: &Data<'_>) -> Vec<Section> {
    let mut sections = (study.sections)(data);
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
pub(crate) mod browser;
#[cfg(test)]
pub(crate) mod tests;
