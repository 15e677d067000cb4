//! A run from its opening to its end: the record of what it is made with, its directory, and its rows. Whatever ends it,
//! what is finished is kept.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::aa::NoiseFloor;
use crate::contestant::{Contestant, Field};
use crate::environment::{Build, Machine, Noise, Run, now};
use crate::exit::Ending;
use crate::format::metric;
use crate::interrupt::Interrupt;
use crate::matrix::Cell;
use crate::measure::Bench;
use crate::place::{CpusBy, Place};
use crate::progress::Progress;
use crate::row::{FORMAT, Row};
use crate::store::{self, Store};

/// What a run is made with.
#[derive(Debug)]
pub(super) struct Opening<'a> {
    pub(super) out: Option<&'a Path>,
    /// What the run is called, where its directory is a new one under `reports/`.
    pub(super) slug: &'a str,
    pub(super) size: &'static str,
    pub(super) experiments: Vec<String>,
    pub(super) definition: BTreeMap<String, Value>,
    pub(super) seed: u64,
    pub(super) places: &'a [Place],
    pub(super) cpus: &'a [usize],
    pub(super) cpus_by: &'a [CpusBy],
    pub(super) field: &'a Field,
    pub(super) contestants: &'a [Contestant],
    pub(super) machine: Machine,
    pub(super) noise_floor: Option<NoiseFloor>,
}

/// A run that goes on.
#[derive(Debug)]
pub(super) struct Session {
    record: Run,
    store: Store,
    interrupt: Interrupt,
}

impl Session {
    /// Makes the directory and writes `run.json`.
    pub(super) fn open(opening: Opening<'_>, interrupt: Interrupt) -> anyhow::Result<Session> {
        let record = Run {
            format: FORMAT,
            command: command(),
            started_at: now(),
            ended_at: None,
            // Until it has ended: a harness that is killed cannot say so any more.
            partial: true,
            error: None,
            seed: opening.seed,
            workers: opening.places.iter().map(|place| place.workers).collect(),
            cpus: opening.cpus.to_vec(),
            cpus_by: opening.cpus_by.to_vec(),
            size: opening.size.to_owned(),
            experiments: opening.experiments,
            definition: opening.definition,
            build: Build::read(),
            noise_before: Noise::read(),
            noise_after: None,
            noise_floor: opening.noise_floor,
            runtimes: described(opening.field, opening.contestants),
            problems: opening
                .field
                .problems
                .iter()
                .map(|problem| format!("{}: {}", file_name(&problem.path), problem.reason))
                .collect(),
            machine: opening.machine,
            warnings: Vec::new(),
        };
        let date = record.started_at.split('T').next().unwrap_or_default();
        let store = Store::create(opening.out, date, opening.slug, &record)?;
        Ok(Session { record, store, interrupt })
    }

    pub(super) fn directory(&self) -> &Path {
        self.store.directory()
    }

    /// Whether the run was told to end.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }

    /// Measures one cell, and hands each of its rows to `keep` before it is written.
    pub(super) fn measure(
        &mut self,
        bench: &Bench,
        cell: &Cell<'_>,
        progress: &mut Progress,
        mut keep: impl FnMut(&mut Row),
    ) -> anyhow::Result<()> {
        progress.begin(&cell.label());
        bench.measure(cell, &mut |mut row| {
            keep(&mut row);
            let row = self.store.append(row)?;
            progress.row(&told(&cell.label(), &row));
            Ok(())
        })?;
        progress.end();
        Ok(())
    }

    /// Writes how the run ended. `outcome` is what came of measuring.
    pub(super) fn close(&mut self, outcome: &anyhow::Result<()>) -> anyhow::Result<Ending> {
        self.record.partial = self.is_interrupted() || outcome.is_err();
        self.record.error = outcome.as_ref().err().map(|error| format!("{error:#}"));
        self.record.noise_after = Some(Noise::read());
        self.record.ended_at = Some(now());
        store::write_run(self.store.directory(), &self.record)?;
        Ok(if self.is_interrupted() { Ending::Interrupted } else { Ending::Done })
    }
}

/// A seed for who names none. Seconds are as good as any: what matters is that runs differ and that it can be typed.
pub(super) fn seed_from_the_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs())
}

/// The figures that a line on a row shows, where it has them.
const SHOWN: [&str; 8] = [
    "in_flight_capacity",
    "elapsed_ns",
    "in_flight_peak",
    "throughput_per_s",
    "cpu_ns_per_request",
    "response_p99_ns",
    "total_bytes_per_unit",
    "probe_p99_ns",
];

/// One line on a row: what it is, and its first figures or its reason.
fn told(label: &str, row: &Row) -> String {
    let requests = row.params.get("requests").map(|requests| format!(" x{requests}")).unwrap_or_default();
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
