//! `list`: what there is to run, and what cannot be used and why.

use std::fmt::Write;

use cell_protocol::Description;
use serde::Serialize;

use crate::cli::Cli;
use crate::contestant::Field;
use crate::exit::Ending;
use crate::experiment::Experiment;
use crate::format::{count, printable};
use crate::output::Forms;
use crate::place::Place;
use crate::style::Style;
use crate::table::Table;

#[derive(Serialize)]
struct Listed<'a> {
    runtimes: Vec<&'a Description>,
    problems: Vec<String>,
    experiments: Vec<&'static str>,
}

pub(super) fn run(cli: &Cli) -> anyhow::Result<Ending> {
    let field = Field::find(cli.runners.as_deref(), Place::new(None)?)?;
    let problems =
        field.problems.iter().map(|problem| format!("{}: {}", problem.path.display(), problem.reason));
    let listed = Listed {
        runtimes: field.descriptions().collect(),
        problems: problems.collect(),
        experiments: Experiment::ALL.iter().map(|experiment| experiment.name()).collect(),
    };
    Forms {
        text: &|style| text(&listed, style),
        csv: &|| variants(&listed).csv(),
        json: &|| serde_json::to_string_pretty(&listed),
    }
    .print(cli)?;
    Ok(Ending::Done)
}

fn text(listed: &Listed<'_>, style: Style) -> String {
    let mut text = String::new();
    if listed.runtimes.is_empty() {
        text.push_str("No runtime was found. Build them with `cargo build --release`.\n");
    } else {
        text.push_str(&variants(listed).text(style));
    }
    for runtime in &listed.runtimes {
        for refusal in &runtime.refusals {
            let who = refusal
                .variant
                .as_ref()
                .map_or_else(|| runtime.runtime.clone(), |variant| runtime.label(variant));
            let _ = writeln!(text, "{who} refuses {}: {}", refusal.ability, printable(&refusal.reason));
        }
    }
    for problem in &listed.problems {
        let _ = writeln!(text, "left out: {}", printable(problem));
    }
    text.push('\n');
    let mut experiments = Table::new(&["experiment", "question"]);
    for experiment in Experiment::ALL {
        experiments.push(vec![experiment.name().to_owned(), experiment.question().to_owned()]);
    }
    text + &experiments.text(style)
}

fn variants(listed: &Listed<'_>) -> Table {
    let mut table = Table::new(&["variant", "model", "in-flight limit", "library", "what it is"]);
    for runtime in &listed.runtimes {
        for variant in &runtime.variants {
            table.push(vec![
                runtime.label(&variant.name),
                runtime.execution_model.clone(),
                variant.in_flight_limit.map_or_else(|| "-".to_owned(), count),
                format!("{} {}", runtime.library, runtime.library_version),
                variant.summary.clone(),
            ]);
        }
    }
    table
}
