//! `cell`: the cells of one experiment on one variant, by themselves, their rows on standard output.

use std::fmt::Write;
use std::rc::Rc;

use crate::cli::{Cell as Arguments, Cli};
use crate::contestant::Field;
use crate::environment::Machine;
use crate::exit::{Ending, usage};
use crate::experiment::{Experiment, Size, Values};
use crate::format::{metric, printable};
use crate::interrupt::Interrupt;
use crate::matrix;
use crate::measure::{Bench, Ceiling};
use crate::output::{self, Format, Forms};
use crate::place::Place;
use crate::quota;
use crate::report::cells;
use crate::row::{Row, Status};

pub(super) fn run(cli: &Cli, arguments: &Arguments, interrupt: &Interrupt) -> anyhow::Result<Ending> {
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
    let (mut contestants, mut floor) = (Vec::new(), None);
    let places = Place::each(&arguments.values.cpus, &arguments.values.cpus_by, arguments.values.workers)?;
    let groups = quota::prepare(&places)?.map(Rc::new);
    for place in places {
        let field = Field::find(cli.runners.as_deref(), place)?;
        contestants.push(field.one(&arguments.runtime)?);
        floor = floor.or_else(|| field.floor());
    }
    let machine = Machine::read();
    let bench = Bench {
        values,
        floor,
        ceiling: Ceiling::new(),
        seed: arguments.seed,
        machine: machine.limits(),
        rounds_per_us: machine.rounds_per_us,
        groups,
        interrupt: interrupt.clone(),
    };
    if cli.format == Format::Csv {
        output::print(&cells::header())?;
    }
    let (mut order, mut has_failed) = (0, false);
    for cell in matrix::cells(&bench.values, &[experiment], &contestants, Some(1), arguments.seed) {
        let outcome = bench.measure(&cell, &mut |mut row| {
            order += 1;
            row.order = order;
            has_failed |= matches!(row.status, Status::Failed | Status::Invalid);
            let label = &cell.contestant.label;
            let forms = Forms {
                text: &|_| text(&row, label),
                csv: &|| cells::lines(&row, label),
                json: &|| serde_json::to_string(&row),
            };
            output::print_to_reader(&forms.written(cli)?)
        });
        match outcome {
            Err(error) if error.is::<output::Unread>() => break,
            other => other?,
        }
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
        let _ = writeln!(text, "  {name:24} {}", printable(&value.to_string()));
    }
    for check in row.checks.iter().filter(|check| !check.ok) {
        let _ = writeln!(text, "  check {} failed: {} against {}", check.name, check.value, check.limit);
    }
    text
}
