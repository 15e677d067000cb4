//! `run --resume`: what a run that was interrupted has, and whether what is started now is the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::{self, Cli, Command, Run as Arguments};
use crate::environment::{Noise, Resumption, Run, now};
use crate::exit::{Incomparable, usage};
use crate::matrix::Cell;
use crate::output;
use crate::row::{Row, Status};
use crate::store::{self, REPLACED};

/// A run that is to go on.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) directory: PathBuf,
    /// With what it was begun.
    pub(super) arguments: Arguments,
    pub(super) runners: Option<PathBuf>,
    pub(super) record: Run,
    rows: Vec<Row>,
    /// By which check each cell is invalid that is finished.
    invalid: BTreeMap<u64, String>,
    /// Whether those are measured again.
    remeasure_invalid: bool,
    /// What was wrong with its files.
    damage: Vec<String>,
}

impl Begun {
    /// Reads what there is of a run. Of the cells that are finished, those that are invalid may be measured again.
    ///
    /// # Errors
    ///
    /// A usage error where it holds none, or one that was not made by `run`.
    pub(super) fn read(directory: &Path, remeasure_invalid: bool) -> anyhow::Result<Begun> {
        let (mut record, rows) = store::read(directory)?;
        let at = directory.display();
        let Cli { command, runners, .. } = cli::parse_recorded(&record.command)
            .map_err(|error| usage(format!("{at} cannot be resumed: its command cannot be read: {error}")))?;
        let Command::Run(arguments) = command else {
            let name = record.command.get(1).map_or("", String::as_str);
            return Err(usage(format!("{at} cannot be resumed: {name} made it, and only a run can be")));
        };
        let damage = std::mem::take(&mut record.warnings);
        let invalid = invalid(&rows);
        let directory = directory.to_owned();
        Ok(Begun { directory, arguments, runners, record, rows, invalid, remeasure_invalid, damage })
    }

    /// The numbers of the cells of `plan` that stay as they are.
    ///
    /// # Errors
    ///
    /// [`Incomparable`] where a row is of another cell than the one that has its number in `plan`.
    pub(super) fn kept(&self, plan: &[Cell<'_>]) -> anyhow::Result<BTreeSet<u64>> {
        let mut kept = finished(&self.rows);
        kept.retain(|number| !(self.remeasure_invalid && self.invalid.contains_key(number)));
        for row in &self.rows {
            let index = usize::try_from(row.cell_number).ok().and_then(|number| number.checked_sub(1));
            let planned = index.and_then(|index| plan.get(index));
            if !planned.is_some_and(|cell| is_of(row, cell)) {
                return Err(self.differs(&format!(
                    "row {} is of {} on {}:{} #{}, and cell {} of the plan is {}",
                    row.order,
                    row.experiment,
                    row.runtime,
                    row.variant,
                    row.repetition,
                    row.cell_number,
                    planned.map_or_else(|| "none".to_owned(), Cell::label)
                )));
            }
        }
        Ok(kept)
    }

    /// How many cells are invalid and stay so.
    pub(super) fn invalid_kept(&self) -> usize {
        if self.remeasure_invalid { 0 } else { self.invalid.len() }
    }

    /// What the runs of the floor have found to be its ceiling: the rates of open loops are shares of it, and stay what
    /// they were.
    pub(super) fn floor_ceiling_per_s(&self) -> Option<f64> {
        self.rows.iter().find_map(|row| row.evidence.get("floor_ceiling_per_s")?.as_f64())
    }

    /// # Errors
    ///
    /// [`Incomparable`], with each difference, where `now` is not made on the same machine, with the same limits, build,
    /// runtimes and values of experiments.
    pub(super) fn refuse_if_changed(&self, now: &Run) -> anyhow::Result<()> {
        let (was, is) = (comparable(&self.record), comparable(now));
        let mut differences = Vec::new();
        compare("", &was, &is, &mut differences);
        if differences.is_empty() { Ok(()) } else { Err(self.differs(&differences.join("; "))) }
    }

    /// The record of the run as it goes on.
    pub(super) fn record_resumed(&self, kept: &BTreeSet<u64>, cells: usize) -> Run {
        let mut record = self.record.clone();
        let replaced = self.rows.iter().filter(|row| !kept.contains(&row.cell_number)).count();
        let as_u64 = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let mut invalid_by_check = BTreeMap::new();
        for (_, check) in self.invalid.iter().filter(|(number, _)| !kept.contains(number)) {
            *invalid_by_check.entry(check.clone()).or_default() += 1;
        }
        record.resumed.push(Resumption {
            at: now(),
            cells_kept: as_u64(kept.len()),
            cells: as_u64(cells),
            rows_replaced: as_u64(replaced),
            invalid_by_check,
            noise_at_end: record.noise_after.take(),
            noise: Noise::read(),
        });
        Run { partial: true, error: None, ended_at: None, ..record }
    }

    /// Says what goes on and what of it is there.
    pub(super) fn tell(&self, resumed: &Run) {
        let Some(last) = resumed.resumed.last() else { return };
        let at = self.directory.display();
        let mut told = format!("resuming {at}: {} of {} cells are finished", last.cells_kept, last.cells);
        if last.cells_invalid() > 0 {
            let _ = write!(told, " and stay, {} are invalid and measured again", last.cells_invalid());
        }
        if last.rows_replaced > 0 {
            let _ = write!(told, "; {} rows of what is measured again go to {REPLACED}", last.rows_replaced);
        }
        for damage in &self.damage {
            let _ = write!(told, "; {damage}");
        }
        output::tell(told);
    }

    fn differs(&self, how: &str) -> anyhow::Error {
        Incomparable(format!("{} cannot be resumed here: {how}", self.directory.display())).into()
    }
}

/// The numbers of the cells whose last row is there, and none that was cut short.
fn finished(rows: &[Row]) -> BTreeSet<u64> {
    let mut finished: BTreeSet<u64> =
        rows.iter().filter(|row| row.ends_cell).map(|row| row.cell_number).collect();
    for row in rows.iter().filter(|row| row.status == Status::Partial) {
        finished.remove(&row.cell_number);
    }
    finished
}

/// By which check each cell is invalid that is finished: the first of its first row that has failed one.
fn invalid(rows: &[Row]) -> BTreeMap<u64, String> {
    let finished = finished(rows);
    let mut invalid = BTreeMap::new();
    for row in rows.iter().filter(|row| row.status == Status::Invalid && finished.contains(&row.cell_number))
    {
        let check = row.failed_check().map_or_else(String::new, |check| check.name.clone());
        invalid.entry(row.cell_number).or_insert(check);
    }
    invalid
}

fn is_of(row: &Row, cell: &Cell<'_>) -> bool {
    row.experiment == cell.point.experiment().name()
        && row.runtime == cell.contestant.runtime
        && row.variant == cell.contestant.variant
        && row.repetition == cell.repetition
}

/// What must be alike. What the machine counts, and how fast it computed just now, may differ.
fn comparable(run: &Run) -> Value {
    let mut machine = serde_json::json!(run.machine);
    let mut build = serde_json::json!(run.build);
    for (from, passing) in
        [("/cgroup", &["throttled_periods", "pids_now", "oom_kills"][..]), ("", &["rounds_per_us"][..])]
    {
        let object = machine.pointer_mut(from).and_then(Value::as_object_mut);
        object.into_iter().for_each(|object| object.retain(|name, _| !passing.contains(&name.as_str())));
    }
    // That is of the tree in which the harness was started, and the harness is that of the revision.
    build.as_object_mut().into_iter().for_each(|build| drop(build.remove("dirty")));
    serde_json::json!({
        "build": build,
        "machine": machine,
        "workers": run.workers,
        "experiments": run.experiments,
        "definition": run.definition,
        "runtimes": run.runtimes,
    })
}

/// Names what is not alike, by the path to it: `machine.kernel was 6.1 and is 6.8`.
fn compare(path: &str, was: &Value, is: &Value, differences: &mut Vec<String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (was, is) {
        (Value::Object(was), Value::Object(is)) => {
            let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
            for name in names {
                let of =
                    |object: &serde_json::Map<String, Value>| object.get(name).cloned().unwrap_or_default();
                compare(&below(name), &of(was), &of(is), differences);
            }
        }
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            for (index, (was, is)) in was.iter().zip(is).enumerate() {
                compare(&below(&(index + 1).to_string()), was, is, differences);
            }
        }
        _ if was == is => {}
        _ => differences.push(format!("{path} was {} and is {}", brief(was), brief(is))),
    }
}

/// A value in few words.
fn brief(value: &Value) -> String {
    match value {
        Value::Null => "not there".to_owned(),
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "there".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_named_by_its_path_and_what_passes_is_none() {
        let mut was = Run { seed: 7, workers: vec![2], ..Run::default() };
        was.machine.kernel = Some("6.1".into());
        let mut is = was.clone();
        (is.machine.rounds_per_us, is.machine.cgroup.pids_now) = (Some(9.0), Some(7));
        (is.build.dirty, is.started_at) = (Some(true), "later".into());
        let differences = |is: &Run| {
            let mut found = Vec::new();
            compare("", &comparable(&was), &comparable(is), &mut found);
            found
        };
        assert_eq!(differences(&is), [""; 0]);
        is.machine.kernel = Some("6.8".into());
        is.machine.max_map_count = Some(100);
        is.workers = vec![3];
        is.definition.insert("server".into(), serde_json::json!({"backlog": 5}));
        assert_eq!(
            differences(&is),
            [
                "definition.server was not there and is there",
                "machine.kernel was \"6.1\" and is \"6.8\"",
                "machine.max_map_count was not there and is 100",
                "workers.1 was 2 and is 3",
            ]
        );
    }
}
