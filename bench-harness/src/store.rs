//! The directory of a run: rows are appended as they are made, other files are written whole.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use crate::benches::Benches;
use crate::environment::Run;
use crate::exit::usage;
use crate::row::Row;

mod read;
mod resume;

pub(crate) use read::{read, read_benches};

const RUN: &str = "run.json";
const ROWS: &str = "cells.jsonl";
/// Rows of cells that were measured again.
pub(crate) const REPLACED: &str = "replaced.jsonl";
const BENCHES: &str = "benches.json";

/// A run's directory, open for rows.
#[derive(Debug)]
pub(crate) struct Store {
    directory: PathBuf,
    rows: File,
    count: u64,
    /// The length of all rows that are whole.
    bytes: u64,
}

impl Store {
    /// Makes the directory: `out`, or a new one under `reports/` with this date and slug. It begins with `run.json`.
    ///
    /// # Errors
    ///
    /// A usage error where `out` is no directory, or holds anything: a report among files of others would not be found
    /// again, and one run must not look like a part of another.
    pub(crate) fn create(out: Option<&Path>, date: &str, slug: &str, run: &Run) -> anyhow::Result<Store> {
        let directory = match out {
            Some(out) => empty(out)?,
            None => fresh(Path::new("reports"), date, slug)?,
        };
        let path = directory.join(ROWS);
        let rows =
            OpenOptions::new().append(true).create_new(true).open(&path).map_err(|error| {
                match error.kind() {
                    ErrorKind::AlreadyExists => is_taken(&directory, ROWS),
                    _ => anyhow::Error::new(error).context(format!("cannot make {}", path.display())),
                }
            })?;
        resume::lock(&rows, &directory)?;
        write_run(&directory, run).inspect_err(|_| {
            // Nothing was measured: the directory is left as empty as it was, for another try.
            let _removed = fs::remove_file(&path);
        })?;
        Ok(Store { directory, rows, count: 0, bytes: 0 })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends a row, numbered in the order in which rows come.
    pub(crate) fn append(&mut self, mut row: Row) -> anyhow::Result<()> {
        row.order = self.count + 1;
        let mut line = serde_json::to_vec(&row).context("cannot encode a row")?;
        line.push(b'\n');
        // One write a row: a reader sees whole lines, whenever the harness ends.
        if let Err(error) = self.rows.write_all(&line) {
            // A disk that is full may have taken the beginning of the row. Where that cannot be taken back, a reader
            // leaves out a last line that is cut.
            let _taken_back = self.rows.set_len(self.bytes);
            let at = self.directory.join(ROWS);
            return Err(error).with_context(|| {
                format!("cannot write a row to {}, which has {} whole ones", at.display(), self.count)
            });
        }
        self.count = row.order;
        self.bytes = self.bytes.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
        Ok(())
    }
}

/// Writes a value as JSON, whole.
pub(crate) fn write_json(directory: &Path, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value).with_context(|| format!("cannot encode {name}"))?;
    text.push('\n');
    write(directory, name, &text)
}

/// Writes `run.json`.
pub(crate) fn write_run(directory: &Path, run: &Run) -> anyhow::Result<()> {
    write_json(directory, RUN, run)
}

/// Writes `benches.json`.
pub(crate) fn write_benches(directory: &Path, benches: &Benches) -> anyhow::Result<()> {
    write_json(directory, BENCHES, benches)
}

/// Copies what the reports of a run are made from: its record, and its rows.
pub(crate) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    for name in [RUN, ROWS] {
        let (from, to) = (from.join(name), to.join(name));
        fs::copy(&from, &to)
            .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    }
    Ok(())
}

/// Writes a file whole: a temporary one beside it, then renamed. Where that fails, what was there before stays, and the
/// temporary one does not.
pub(crate) fn write(directory: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let (path, temporary) = (directory.join(name), directory.join(format!(".{name}.tmp")));
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    };
    write()
        .inspect_err(|_| {
            let _removed = fs::remove_file(&temporary);
        })
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The directory that was named: a new one, or one that is there and empty.
fn empty(out: &Path) -> anyhow::Result<PathBuf> {
    let cannot = |error: std::io::Error| {
        usage(format!("cannot make the directory {}: {error}; name another with --out", out.display()))
    };
    if out.exists() && !out.is_dir() {
        return Err(usage(format!("{} is no directory; name a new one with --out", out.display())));
    }
    fs::create_dir_all(out).map_err(cannot)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(out).map_err(cannot)? {
        names.push(entry.map_err(cannot)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    match names.iter().find(|name| [RUN, ROWS].contains(&name.as_str())).or(names.first()) {
        Some(name) => Err(is_taken(out, name)),
        None => Ok(out.to_owned()),
    }
}

fn is_taken(directory: &Path, by: &str) -> anyhow::Error {
    let what = match by {
        RUN | ROWS => "holds a run already".to_owned(),
        other => format!("is not empty: it holds {other:?}"),
    };
    usage(format!("{} {what}; name a new directory with --out", directory.display()))
}

fn fresh(parent: &Path, date: &str, slug: &str) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(parent).with_context(|| format!("cannot make the directory {}", parent.display()))?;
    for number in 1..1_000 {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let directory = parent.join(format!("{date}-{slug}{suffix}"));
        match fs::create_dir(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot make {}", directory.display())),
        }
    }
    anyhow::bail!("{} holds a thousand runs of this day; name a directory with --out", parent.display())
}

#[cfg(test)]
mod tests;
