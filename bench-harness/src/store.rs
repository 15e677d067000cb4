//! The directory of a run: rows are appended as they are made, other files are written whole.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use crate::environment::Run;
use crate::exit::usage;
use crate::row::{FORMAT, Row};

const RUN: &str = "run.json";
const ROWS: &str = "cells.jsonl";

/// A run's directory, open for rows.
#[derive(Debug)]
pub(crate) struct Store {
    directory: PathBuf,
    rows: File,
    count: u64,
}

impl Store {
    /// Makes the directory: `out`, or a new one under `reports/` with this date and slug.
    pub(crate) fn create(out: Option<&Path>, date: &str, slug: &str) -> anyhow::Result<Store> {
        let directory = match out {
            Some(out) => {
                fs::create_dir_all(out)
                    .with_context(|| format!("cannot make the directory {}", out.display()))?;
                out.to_owned()
            }
            None => fresh(Path::new("reports"), date, slug)?,
        };
        let path = directory.join(ROWS);
        let rows =
            OpenOptions::new().append(true).create_new(true).open(&path).map_err(|error| {
                match error.kind() {
                    ErrorKind::AlreadyExists => {
                        usage(format!("{} holds a run already; name another directory", directory.display()))
                    }
                    _ => anyhow::Error::new(error).context(format!("cannot make {}", path.display())),
                }
            })?;
        Ok(Store { directory, rows, count: 0 })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends a row, numbered in the order in which rows come, and hands it back.
    pub(crate) fn append(&mut self, mut row: Row) -> anyhow::Result<Row> {
        self.count += 1;
        row.order = self.count;
        let mut line = serde_json::to_vec(&row).context("cannot encode a row")?;
        line.push(b'\n');
        // One write a row: a reader sees whole lines, whenever the harness ends.
        self.rows.write_all(&line).context("cannot write a row")?;
        Ok(row)
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

/// Writes a file whole: a temporary one beside it, then renamed.
pub(crate) fn write(directory: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let (path, temporary) = (directory.join(name), directory.join(format!(".{name}.tmp")));
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Reads a run back.
pub(crate) fn read(directory: &Path) -> anyhow::Result<(Run, Vec<Row>)> {
    let path = directory.join(RUN);
    let text = fs::read_to_string(&path).map_err(|error| {
        usage(format!("{} holds no run: cannot read {RUN}: {error}", directory.display()))
    })?;
    let run = serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
    let path = directory.join(ROWS);
    let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut rows = Vec::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        let at = || format!("{} line {}", path.display(), index + 1);
        let row: Row = serde_json::from_str(&line).with_context(|| format!("{} is no row", at()))?;
        anyhow::ensure!(row.format == FORMAT, "{} is of format {}, not {FORMAT}", at(), row.format);
        rows.push(row);
    }
    Ok((run, rows))
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
mod tests {
    use super::*;
    use crate::row::{CellId, Status};

    fn row() -> Row {
        let cell = CellId {
            experiment: "capacity.burst".into(),
            runtime: "tokio".into(),
            variant: "multi-thread".into(),
            params: std::collections::BTreeMap::new(),
        };
        Row::without_figures(cell, 1, Status::Failed, "it died")
    }

    #[test]
    fn rows_are_on_disk_as_they_come() {
        let parent = tempfile::tempdir().unwrap();
        let out = parent.path().join("run");
        let mut store = Store::create(Some(&out), "2025-12-02", "capacity").unwrap();
        store.append(row()).unwrap();
        assert_eq!(store.append(row()).unwrap().order, 2);
        let text = fs::read_to_string(out.join(ROWS)).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.ends_with('\n'));
        let error = Store::create(Some(&out), "2025-12-02", "capacity").unwrap_err().to_string();
        assert!(error.contains("holds a run already"), "{error}");
        let error = read(&out).unwrap_err().to_string();
        assert!(error.contains("holds no run"), "{error}");
    }

    #[test]
    fn runs_of_one_day_have_directories_of_their_own() {
        let parent = tempfile::tempdir().unwrap();
        let name = || fresh(parent.path(), "2025-12-02", "capacity").unwrap();
        assert!(name().ends_with("2025-12-02-capacity"));
        assert!(name().ends_with("2025-12-02-capacity-2"));
    }
}
