//! `run`: from experiments and runtimes to rows, and from rows to a report.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use serde_json::json;

use crate::aa::NoiseFloor;
use crate::cli::{Cli, Run as Arguments};
use crate::cmd::resume::Begun;
use crate::cmd::session::{Opening, Session, seed_from_the_clock};
use crate::cmd::{baseline, report};
use crate::contestant::Field;
use crate::doctor;
use crate::environment::Machine;
use crate::estimate;
use crate::exit::{self, Ending};
use crate::experiment::{Experiment, Size, Values};
use crate::interrupt::Interrupt;
use crate::matrix::{self, Cell};
use crate::measure::{Bench, Ceiling};
use crate::output::{self, Forms};
use crate::place::Place;
use crate::progress::Progress;
use crate::quota;
use crate::table::Table;

pub(super) fn run(cli: &Cli, given: &Arguments, interrupt: &Interrupt) -> anyhow::Result<Ending> {
    let begun = match given.resume.as_deref() {
        Some(directory) => Some(Begun::read(directory, given.remeasure_invalid)?),
        None => None,
    };
    let arguments = begun.as_ref().map_or(given, |begun| &begun.arguments);
    let runners = cli.runners.as_deref().or_else(|| begun.as_ref()?.runners.as_deref());
    let experiments = Experiment::select(&arguments.experiments)?;
    let size = Size::of(arguments.quick);
    let values = Values::load(arguments.values.experiments_file.as_deref(), size)?;
    let places = Place::each(&arguments.values.cpus, &arguments.values.cpus_by, arguments.values.workers)?;
    let mut fields = Vec::new();
    let mut contestants = Vec::new();
    for place in &places {
        let field = Field::find(runners, place.clone())?;
        contestants.extend(field.select(&arguments.runtimes)?);
        fields.push(field);
    }
    // They differ in the limits of variants alone, which each contestant has of its own.
    let field = fields.swap_remove(0);
    let noise_floor = match &begun {
        Some(begun) => begun.record.noise_floor.clone(),
        None => arguments.noise.as_deref().map(NoiseFloor::read).transpose()?,
    };
    let seed = match &begun {
        Some(begun) => begun.record.seed,
        None => arguments.seed.unwrap_or_else(seed_from_the_clock),
    };
    let machine = Machine::read();
    let limits = machine.limits();
    // A duration of computing is as many rounds as it was.
    let rounds_per_us =
        begun.as_ref().map_or(machine.rounds_per_us, |begun| begun.record.machine.rounds_per_us);
    let is_strict = given.strict || arguments.strict;
    let busy = if is_strict && !given.dry_run { doctor::refuse_if_busy(&machine, interrupt) } else { Ok(()) };
    let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name()).collect();
    let opening = Opening {
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
    let record = opening.record();
    let cells = matrix::cells(&values, &experiments, &contestants, arguments.repetitions, seed);
    let kept = match &begun {
        Some(begun) => begun.refuse_if_changed(&record).and_then(|()| begun.kept(&cells))?,
        None => BTreeSet::new(),
    };
    let numbered = cells.iter().zip(1..).filter(|(_, number)| !kept.contains(number));
    let left: Vec<(&Cell<'_>, u64)> = numbered.collect();
    let estimates: Vec<Duration> =
        left.iter().map(|(cell, _)| estimate::cell(&values, &limits, cell)).collect();
    if given.dry_run {
        print_plan(cli, &left, &estimates)?;
        return Ok(Ending::Done);
    }
    if let Some(begun) = begun.as_ref().filter(|_| left.is_empty()) {
        output::tell(format_args!("nothing is left: all {} cells are finished", cells.len()));
        report::write_and_print(cli, &begun.directory)?;
        tell_of_invalid(begun.invalid_kept(), &begun.directory);
        return Ok(Ending::Done);
    }
    let baselines = baseline::Plan::of(arguments)?;
    let groups = quota::prepare(&places)?.map(Rc::new);
    if interrupt.is_raised() {
        return Ok(Ending::Interrupted);
    }
    busy?;
    let mut session = match &begun {
        Some(begun) => {
            let record = begun.record_resumed(&kept, cells.len());
            let session = Session::resume(record, &begun.directory, &kept, interrupt.clone())?;
            begun.tell(session.record());
            session
        }
        None => Session::open(
            record,
            arguments.out.as_deref(),
            &slug(&arguments.experiments, size),
            interrupt.clone(),
        )?,
    };
    let ceiling = Ceiling::new();
    if let Some(per_s) = begun.as_ref().and_then(Begun::floor_ceiling_per_s) {
        let _first = ceiling.set(Ok(per_s));
    }
    let floor = field.floor();
    let bench = Bench {
        values,
        floor,
        ceiling,
        seed,
        machine: limits,
        rounds_per_us,
        groups,
        interrupt: interrupt.clone(),
    };
    let mut progress = Progress::new(left.len(), estimates.iter().sum(), !given.no_progress);
    let outcome = measure(&bench, &left, &mut session, &mut progress);
    progress.finish();
    let closed = session.close(&outcome).and_then(|ending| {
        let concluded = baselines.conclude(cli, session.directory(), baseline::Whole::of(&outcome, ending));
        let kept = begun.as_ref().map_or(0, Begun::invalid_kept);
        tell_of_invalid(kept + session.invalid(), session.directory());
        concluded.map(|()| ending)
    });
    exit::first(outcome, closed)
}

fn measure(
    bench: &Bench,
    cells: &[(&Cell<'_>, u64)],
    session: &mut Session,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    for cell in cells {
        if session.is_interrupted() {
            break;
        }
        session.measure(bench, *cell, progress, |_| {})?;
    }
    Ok(())
}

fn print_plan(cli: &Cli, cells: &[(&Cell<'_>, u64)], estimates: &[Duration]) -> anyhow::Result<()> {
    let mut table = Table::new(&["cell", "seconds"]);
    for ((cell, _), estimate) in cells.iter().zip(estimates) {
        table.push(vec![cell.label(), format!("{:.1}", estimate.as_secs_f64())]);
    }
    let sum: Duration = estimates.iter().sum();
    let each = || {
        let numbered = cells.iter().zip(estimates);
        numbered
            .map(|((cell, _), estimate)| json!({"cell": cell.label(), "seconds": estimate.as_secs_f64()}))
            .collect::<Vec<_>>()
    };
    Forms {
        text: &|style| {
            format!(
                "{}\n{} cells, about {:.0} s ({})\n",
                table.text(style),
                cells.len(),
                sum.as_secs_f64(),
                humantime::format_duration(Duration::from_secs(sum.as_secs()))
            )
        },
        csv: &|| table.csv(),
        json: &|| serde_json::to_string_pretty(&json!({"cells": each(), "seconds": sum.as_secs_f64()})),
    }
    .print(cli)
}

/// Says how the cells are measured again whose checks have failed.
fn tell_of_invalid(cells: usize, directory: &Path) {
    if cells > 0 {
        output::tell(format_args!(
            "{cells} cells are invalid, and not ranked; run --resume {} --remeasure-invalid measures them again",
            directory.display()
        ));
    }
}

fn slug(names: &[String], size: Size) -> String {
    let names = if names.is_empty() { "all".to_owned() } else { names.join("-") };
    match size {
        Size::Quick => format!("{names}-quick"),
        Size::Full => names,
    }
}
