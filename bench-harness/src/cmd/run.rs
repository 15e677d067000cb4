//! `run`: from experiments and runtimes to rows, and from rows to a report.

use std::env;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::cli::{Cli, Run as Arguments};
use crate::cmd::report;
use crate::contestant::{Contestant, Field};
use crate::doctor;
use crate::environment::{Build, Machine, Noise, Run, now};
use crate::estimate;
use crate::exit::Ending;
use crate::experiment::{Experiment, Size, Values};
use crate::format::metric;
use crate::interrupt::Interrupt;
use crate::matrix::{self, Cell};
use crate::measure::{Bench, Ceiling};
use crate::output::{self, Format};
use crate::place::Place;
use crate::progress::Progress;
use crate::row::{FORMAT, Row};
use crate::store::{self, Store};
use crate::table::Table;

pub(super) fn run(cli: &Cli, arguments: &Arguments) -> anyhow::Result<Ending> {
    let experiments = Experiment::select(&arguments.experiments)?;
    let size = Size::of(arguments.quick);
    let values = Values::load(arguments.values.experiments_file.as_deref(), size)?;
    let places = Place::each(&arguments.values.cpus, arguments.values.workers)?;
    let mut fields = Vec::new();
    let mut contestants = Vec::new();
    for place in &places {
        let field = Field::find(cli.runners.as_deref(), place.clone())?;
        contestants.extend(field.select(&arguments.runtimes)?);
        fields.push(field);
    }
    // They differ in the limits of variants alone, which each contestant has of its own.
    let field = fields.swap_remove(0);
    let seed = arguments.seed.unwrap_or_else(seed_from_the_clock);
    let machine = Machine::read();
    let floor = field.floor();
    let cells = matrix::cells(&values, &experiments, &contestants, arguments.repetitions, seed);
    let limits = machine.limits();
    let estimates: Vec<Duration> = cells.iter().map(|cell| estimate::cell(&values, &limits, cell)).collect();
    if arguments.dry_run {
        output::print(&plan(cli, &cells, &estimates))?;
        return Ok(Ending::Done);
    }
    if arguments.strict {
        doctor::refuse_if_busy(&machine)?;
    }
    let mut record = Run {
        format: FORMAT,
        command: command(),
        started_at: now(),
        ended_at: None,
        // Until it has ended: a harness that is killed cannot say so any more.
        partial: true,
        seed,
        workers: places.iter().map(|place| place.workers).collect(),
        cpus: arguments.values.cpus.clone(),
        size: size.name().to_owned(),
        experiments: experiments.iter().map(|experiment| experiment.name().to_owned()).collect(),
        build: Build::read(),
        noise_before: Noise::read(),
        noise_after: None,
        runtimes: described(&field, &contestants),
        problems: field
            .problems
            .iter()
            .map(|problem| format!("{}: {}", file_name(&problem.path), problem.reason))
            .collect(),
        machine,
    };
    let interrupt = Interrupt::install()?;
    let bench =
        Bench { values, floor, ceiling: Ceiling::new(), seed, machine: limits, interrupt: interrupt.clone() };
    let date = record.started_at.split('T').next().unwrap_or_default().to_owned();
    let mut store = Store::create(arguments.out.as_deref(), &date, &slug(&arguments.experiments, size))?;
    store::write_run(store.directory(), &record)?;
    let mut progress = Progress::new(cells.len(), estimates.iter().sum(), !arguments.no_progress);
    let outcome = measure(&bench, &cells, &mut store, &mut progress);
    progress.finish();
    // Whatever ended it, what is finished is summed up.
    record.partial = interrupt.is_raised() || outcome.is_err();
    record.noise_after = Some(Noise::read());
    record.ended_at = Some(now());
    store::write_run(store.directory(), &record)?;
    report::write_and_print(cli, store.directory())?;
    outcome?;
    Ok(if interrupt.is_raised() { Ending::Interrupted } else { Ending::Done })
}

fn measure(
    bench: &Bench,
    cells: &[Cell<'_>],
    store: &mut Store,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    for cell in cells {
        if bench.interrupt.is_raised() {
            break;
        }
        progress.begin(&cell.label());
        bench.measure(cell, &mut |row| {
            let row = store.append(row)?;
            progress.row(&told(&cell.label(), &row));
            Ok(())
        })?;
        progress.end();
    }
    Ok(())
}

/// One line on a row: what it is, and its first figures or its reason.
fn told(label: &str, row: &Row) -> String {
    let requests = row.params.get("requests").map(|requests| format!(" x{requests}")).unwrap_or_default();
    const SHOWN: [&str; 6] = [
        "in_flight_capacity",
        "elapsed_ns",
        "in_flight_peak",
        "throughput_per_s",
        "cpu_ns_per_request",
        "response_p99_ns",
    ];
    let figures = SHOWN.into_iter().filter_map(|name| {
        Some(format!(
            "{} {}",
            name.trim_end_matches("_ns").replace('_', " "),
            metric(name, row.metric(name)?)
        ))
    });
    let figures = figures.collect::<Vec<_>>().join(", ");
    let limit = row.limited_by.as_ref().map(|limit| format!("; limited by {limit}")).unwrap_or_default();
    let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{label}{requests}: {}{reason} {figures}{limit}", row.status.name())
        .replace("  ", " ")
        .trim_end()
        .to_owned()
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

/// The descriptions of those that take part, with the variants that were asked for.
fn described(field: &Field, contestants: &[Contestant]) -> Vec<cell_protocol::Description> {
    let mut described: Vec<cell_protocol::Description> = Vec::new();
    for contestant in contestants {
        match described.iter_mut().find(|description| description.runtime == contestant.runtime) {
            Some(description) => contestant.add_to(description),
            None => described.extend(field.descriptions().find(|one| one.runtime == contestant.runtime).map(
                |one| {
                    let mut one = one.clone();
                    contestant.add_to(&mut one);
                    one
                },
            )),
        }
    }
    described
}

fn seed_from_the_clock() -> u64 {
    // Seconds are as good as any: what matters is that runs differ and that the seed can be typed.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs())
}

fn command() -> Vec<String> {
    let mut arguments: Vec<String> =
        env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    if let Some(first) = arguments.first_mut() {
        *first = file_name(Path::new(&*first));
    }
    arguments
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn slug(names: &[String], size: Size) -> String {
    let names = if names.is_empty() { "all".to_owned() } else { names.join("-") };
    match size {
        Size::Quick => format!("{names}-quick"),
        Size::Full => names,
    }
}
