//! `run`: from experiments and runtimes to rows, and from rows to a report.

use std::rc::Rc;
use std::time::Duration;

use crate::aa::NoiseFloor;
use crate::cli::{Cli, Run as Arguments};
use crate::cmd::baseline;
use crate::cmd::session::{Opening, Session, seed_from_the_clock};
use crate::contestant::Field;
use crate::doctor;
use crate::environment::Machine;
use crate::estimate;
use crate::exit::{self, Ending};
use crate::experiment::{Experiment, Size, Values};
use crate::interrupt::Interrupt;
use crate::matrix::{self, Cell};
use crate::measure::{Bench, Ceiling};
use crate::output::{self, Format};
use crate::place::Place;
use crate::progress::Progress;
use crate::quota;
use crate::table::Table;

pub(super) fn run(cli: &Cli, arguments: &Arguments) -> anyhow::Result<Ending> {
    let experiments = Experiment::select(&arguments.experiments)?;
    let size = Size::of(arguments.quick);
    let values = Values::load(arguments.values.experiments_file.as_deref(), size)?;
    let places = Place::each(&arguments.values.cpus, &arguments.values.cpus_by, arguments.values.workers)?;
    let mut fields = Vec::new();
    let mut contestants = Vec::new();
    for place in &places {
        let field = Field::find(cli.runners.as_deref(), place.clone())?;
        contestants.extend(field.select(&arguments.runtimes)?);
        fields.push(field);
    }
    // They differ in the limits of variants alone, which each contestant has of its own.
    let field = fields.swap_remove(0);
    let noise_floor = arguments.noise.as_deref().map(NoiseFloor::read).transpose()?;
    let seed = arguments.seed.unwrap_or_else(seed_from_the_clock);
    let machine = Machine::read();
    let floor = field.floor();
    let cells = matrix::cells(&values, &experiments, &contestants, arguments.repetitions, seed);
    let (limits, rounds_per_us) = (machine.limits(), machine.rounds_per_us);
    let estimates: Vec<Duration> = cells.iter().map(|cell| estimate::cell(&values, &limits, cell)).collect();
    if arguments.dry_run {
        output::print(&plan(cli, &cells, &estimates))?;
        return Ok(Ending::Done);
    }
    let baselines = baseline::Plan::of(arguments)?;
    let groups = quota::prepare(&places)?.map(Rc::new);
    if arguments.strict {
        doctor::refuse_if_busy(&machine)?;
    }
    let interrupt = Interrupt::install()?;
    let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name()).collect();
    let opening = Opening {
        out: arguments.out.as_deref(),
        slug: &slug(&arguments.experiments, size),
        size: size.name(),
        experiments: names.iter().map(|name| (*name).to_owned()).collect(),
        definition: values.definition(&names),
        seed,
        places: &places,
        cpus: &arguments.values.cpus,
        cpus_by: &arguments.values.cpus_by,
        field: &field,
        contestants: &contestants,
        machine,
        noise_floor,
    };
    let mut session = Session::open(opening, interrupt.clone())?;
    let ceiling = Ceiling::new();
    let bench = Bench { values, floor, ceiling, seed, machine: limits, rounds_per_us, groups, interrupt };
    let mut progress = Progress::new(cells.len(), estimates.iter().sum(), !arguments.no_progress);
    let outcome = measure(&bench, &cells, &mut session, &mut progress);
    progress.finish();
    let closed = session.close(&outcome).and_then(|ending| {
        baselines.conclude(cli, session.directory(), baseline::Whole::of(&outcome, ending))?;
        Ok(ending)
    });
    exit::first(outcome, closed)
}

fn measure(
    bench: &Bench,
    cells: &[Cell<'_>],
    session: &mut Session,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    for cell in cells {
        if session.is_interrupted() {
            break;
        }
        session.measure(bench, cell, progress, |_| {})?;
    }
    Ok(())
}

fn plan(cli: &Cli, cells: &[Cell<'_>], estimates: &[Duration]) -> String {
    let mut table = Table::new(&["cell", "seconds"]);
    for (cell, estimate) in cells.iter().zip(estimates) {
        table.push(vec![cell.label(), format!("{:.1}", estimate.as_secs_f64())]);
    }
    let sum: Duration = estimates.iter().sum();
    match cli.format {
        Format::Text => format!(
            "{}\n{} cells, about {:.0} s ({})\n",
            table.text(cli.color.on_stdout()),
            cells.len(),
            sum.as_secs_f64(),
            humantime::format_duration(Duration::from_secs(sum.as_secs()))
        ),
        Format::Csv => table.csv(),
        Format::Json => {
            let each: Vec<_> = cells
                .iter()
                .zip(estimates)
                .map(|(cell, estimate)| serde_json::json!({"cell": cell.label(), "seconds": estimate.as_secs_f64()}))
                .collect();
            format!("{:#}\n", serde_json::json!({"cells": each, "seconds": sum.as_secs_f64()}))
        }
    }
}

fn slug(names: &[String], size: Size) -> String {
    let names = if names.is_empty() { "all".to_owned() } else { names.join("-") };
    match size {
        Size::Quick => format!("{names}-quick"),
        Size::Full => names,
    }
}
