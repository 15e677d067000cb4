//! `cell`: the cells of one experiment on one variant, by themselves, their rows on standard output.

use std::fmt::Write;

use crate::cli::{Cell as Arguments, Cli};
use crate::cmd::workers;
use crate::contestant::Field;
use crate::environment::Machine;
use crate::exit::{Ending, usage};
use crate::experiment::{Experiment, Size, Values};
use crate::format::metric;
use crate::interrupt::Interrupt;
use crate::matrix::{Cell, Point};
use crate::measure::Bench;
use crate::output::{self, Format};
use crate::row::{Row, Status};

pub(super) fn run(cli: &Cli, arguments: &Arguments) -> anyhow::Result<Ending> {
    let [experiment] = Experiment::select(std::slice::from_ref(&arguments.experiment))?[..] else {
        let of = |experiment: Experiment| experiment.name();
        let known = Experiment::ALL.map(of).join(", ");
        return Err(usage(format!(
            "{:?} is more than one experiment; there are {known}",
            arguments.experiment
        )));
    };
    let values = Values::with_given(
        arguments.values.experiments_file.as_deref(),
        Size::of(arguments.quick),
        experiment,
        &arguments.values_given,
    )?;
    let workers = workers(arguments.values.workers)?;
    let field = Field::find(cli.runners.as_deref(), workers)?;
    let contestant = field.one(&arguments.runtime)?;
    let bench = Bench {
        values,
        workers,
        seed: arguments.seed,
        machine: Machine::read().limits(),
        interrupt: Interrupt::install()?,
    };
    let (mut order, mut has_failed) = (0, false);
    for point in Point::of(experiment, &bench.values) {
        let cell = Cell { point, contestant: &contestant, repetition: 1 };
        bench.measure(&cell, &mut |mut row| {
            order += 1;
            row.order = order;
            has_failed |= matches!(row.status, Status::Failed | Status::Invalid);
            match cli.format {
                Format::Text => output::print(&text(&row, &contestant.label)),
                Format::Json | Format::Csv => output::print(&(serde_json::to_string(&row)? + "\n")),
            }
        })?;
        if bench.interrupt.is_raised() {
            return Ok(Ending::Interrupted);
        }
    }
    // One cell by itself is a question whose answer may be no.
    Ok(if has_failed { Ending::Code(1) } else { Ending::Done })
}

fn text(row: &Row, label: &str) -> String {
    let params = row.params.iter().map(|(name, value)| {
        format!(" {name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    });
    let mut text = format!("{} {label}{}: {}", row.experiment, params.collect::<String>(), row.status.name());
    let _ = match &row.reason {
        Some(reason) => writeln!(text, ": {reason}"),
        None => writeln!(text),
    };
    for (name, figure) in &row.metrics {
        let _ = writeln!(text, "  {name:24} {}", metric(name, figure.get()));
    }
    if let Some(limit) = &row.limited_by {
        let _ = writeln!(text, "  {:24} {limit}", "limited by");
    }
    for (name, value) in &row.evidence {
        let _ = writeln!(text, "  {name:24} {value}");
    }
    for check in row.checks.iter().filter(|check| !check.ok) {
        let _ = writeln!(text, "  check {} failed: {} against {}", check.name, check.value, check.limit);
    }
    text
}
