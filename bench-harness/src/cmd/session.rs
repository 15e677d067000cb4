//! A run from its opening to its end: the record of what it is made with, its directory, and its rows. Whatever ends it,
//! what is finished is kept.

use std::collections::{BTreeMap, BTreeSet};
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
use crate::row::{FORMAT, Row, Status};
use crate::store::{self, Store};

/// What a run is made with.
#[derive(Debug)]
pub(super) struct Opening<'a> {
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
    /// Cells that were measured and have an invalid row.
    invalid: usize,
}

impl Opening<'_> {
    /// The record of a run that begins now.
    pub(super) fn record(self) -> Run {
        let problem =
            |problem: &cell_control::Problem| format!("{}: {}", file_name(&problem.path), problem.reason);
        Run {
            format: FORMAT,
            command: command(),
            started_at: now(),
            ended_at: None,
            // Until it has ended: a harness that is killed cannot say so any more.
            partial: true,
            error: None,
            seed: self.seed,
            workers: self.places.iter().map(|place| place.workers).collect(),
            cpus: self.cpus.to_vec(),
            cpus_by: self.cpus_by.to_vec(),
            size: self.size.to_owned(),
            experiments: self.experiments,
            definition: self.definition,
            resumed: Vec::new(),
            build: Build::read(),
            noise_before: Noise::read(),
            noise_after: None,
            noise_floor: self.noise_floor,
            runtimes: described(self.field, self.contestants),
            problems: self.field.problems.iter().map(problem).collect(),
            machine: self.machine,
            warnings: Vec::new(),
        }
    }
}

impl Session {
    /// Makes the directory, `out` or a new one under `reports/` that is called by `slug`, and writes `run.json`.
    pub(super) fn open(
        record: Run,
        out: Option<&Path>,
        slug: &str,
        interrupt: Interrupt,
    ) -> anyhow::Result<Session> {
        let date = record.started_at.split('T').next().unwrap_or_default();
        let store = Store::create(out, date, slug, &record)?;
        Ok(Session { record, store, interrupt, invalid: 0 })
    }

    /// Goes on with a run: `record` is that of its beginning. The rows of cells that are not `kept` are set aside.
    pub(super) fn resume(
        record: Run,
        directory: &Path,
        kept: &BTreeSet<u64>,
        interrupt: Interrupt,
    ) -> anyhow::Result<Session> {
        let store = Store::reopen(directory, |row| kept.contains(&row.cell_number))?;
        store::write_run(directory, &record)?;
        Ok(Session { record, store, interrupt, invalid: 0 })
    }

    pub(super) fn directory(&self) -> &Path {
        self.store.directory()
    }

    pub(super) fn record(&self) -> &Run {
        &self.record
    }

    /// How many of the cells that were measured are invalid.
    pub(super) fn invalid(&self) -> usize {
        self.invalid
    }

    /// Whether the run was told to end.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }

    /// Measures the cell of this number, and hands each of its rows to `keep` before it is written.
    ///
    /// A row is written when the next one has come or the cell has ended, so that the last one can say that it is the
    /// last: what a harness leaves that is killed tells by itself which cells are finished.
    pub(super) fn measure(
        &mut self,
        bench: &Bench,
        (cell, number): (&Cell<'_>, u64),
        progress: &mut Progress,
        mut keep: impl FnMut(&mut Row),
    ) -> anyhow::Result<()> {
        progress.begin(&cell.label());
        let (mut held, mut is_cut, mut is_invalid) = (None, false, false);
        let outcome = bench.measure(cell, &mut |mut row| {
            row.cell_number = number;
            is_cut |= row.status == Status::Partial;
            is_invalid |= row.status == Status::Invalid;
            keep(&mut row);
            progress.row(&told(&cell.label(), &row));
            held.replace(row).map_or(Ok(()), |before| self.store.append(before))
        });
        if let Some(mut last) = held {
            // What fails while the run is told to end may have failed for that reason.
            is_cut |= self.is_interrupted() && last.status == Status::Failed;
            last.ends_cell = outcome.is_ok() && !is_cut;
            self.store.append(last)?;
        }
        self.invalid += usize::from(is_invalid);
        outcome?;
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
const SHOWN: [&str; 11] = [
    "in_flight_capacity",
    "elapsed_ns",
    "in_flight_peak",
    "throughput_per_s",
    "cpu_ns_per_request",
    "response_p99_ns",
    "total_bytes_per_unit",
    "probe_p99_ns",
    "bulk_images_per_s",
    "interactive_p50_ns",
    "interactive_max_ns",
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
