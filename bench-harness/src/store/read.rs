//! Reading a run back, with a word on what is wrong with its files and can be done without.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::{BENCHES, ROWS, RUN};
use crate::benches::Benches;
use crate::environment::Run;
use crate::exit::usage;
use crate::row::{FORMAT, Row};

/// The part of a record that says whether the rest can be read.
#[derive(Deserialize)]
struct Versioned {
    format: u32,
}

/// Reads a run back. A last line that was cut, which a harness leaves that is killed or whose disk is full, is left out;
/// of rows of one cell and repetition the last one counts. Both become warnings of the run, and the first makes it
/// partial.
///
/// # Errors
///
/// A usage error where the directory holds no run, one of another format, or a line that is damaged.
pub(crate) fn read(directory: &Path) -> anyhow::Result<(Run, Vec<Row>)> {
    let holds_none = |name: &str, error: std::io::Error| {
        usage(format!("{} holds no run: cannot read {name}: {error}", directory.display()))
    };
    let text = fs::read(directory.join(RUN)).map_err(|error| holds_none(RUN, error))?;
    let mut run: Run = parse(&text, &directory.join(RUN).display().to_string())?;
    let text = fs::read(directory.join(ROWS)).map_err(|error| holds_none(ROWS, error))?;
    let at = directory.join(ROWS).display().to_string();
    let mut rows = Vec::new();
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match parse(line.trim_ascii_end(), &format!("{at} line {}", index + 1)) {
            Ok(row) => rows.push(row),
            // Only the last line can have no end.
            Err(_) if !line.ends_with(b"\n") => {
                run.partial = true;
                run.warnings.push(format!(
                    "line {} of {ROWS}, the last one, is cut: that row is left out, and the run did not end as it should",
                    index + 1
                ));
            }
            Err(error) => return Err(error),
        }
    }
    run.warnings.extend(keep_last(&mut rows));
    Ok((run, rows))
}

/// Reads the figures of the primitives, where the run's directory has any.
///
/// # Errors
///
/// A usage error where they are damaged, or of another format.
pub(crate) fn read_benches(directory: &Path) -> anyhow::Result<Option<Benches>> {
    let path = directory.join(BENCHES);
    match fs::read(&path) {
        Ok(text) => parse(&text, &path.display().to_string()).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(usage(format!("cannot read {}: {error}", path.display()))),
    }
}

fn parse<T: for<'de> Deserialize<'de>>(text: &[u8], at: &str) -> anyhow::Result<T> {
    let damaged = |error: serde_json::Error| usage(format!("{at} is damaged: {error}"));
    let Versioned { format } = serde_json::from_slice(text).map_err(damaged)?;
    if format != FORMAT {
        return Err(usage(format!(
            "{at} is of format {format}, and this harness reads format {FORMAT}; use the harness that wrote it"
        )));
    }
    serde_json::from_slice(text).map_err(damaged)
}

/// Keeps the last of all rows of one cell and repetition, so that one repetition never counts as two.
fn keep_last(rows: &mut Vec<Row>) -> Option<String> {
    let key = |row: &Row| {
        let params = serde_json::json!(row.params).to_string();
        (row.experiment.clone(), row.runtime.clone(), row.variant.clone(), params, row.repetition)
    };
    let last: HashMap<_, usize> = rows.iter().enumerate().map(|(index, row)| (key(row), index)).collect();
    let replaced = |(index, row): (usize, &Row)| last.get(&key(row)) != Some(&index);
    let is_replaced: Vec<bool> = rows.iter().enumerate().map(replaced).collect();
    let count = is_replaced.iter().filter(|replaced| **replaced).count();
    let example = rows.iter().zip(&is_replaced).find(|(_, replaced)| **replaced).map(|(row, _)| {
        format!("{} of {}:{}, repetition {}", row.experiment, row.runtime, row.variant, row.repetition)
    })?;
    let mut is_replaced = is_replaced.into_iter();
    rows.retain(|_| !is_replaced.next().unwrap_or(false));
    Some(format!(
        "{ROWS} has {count} row{} again that it had before, such as {example}: of a cell and repetition the last row \
         counts, and no other",
        if count == 1 { "" } else { "s" }
    ))
}
