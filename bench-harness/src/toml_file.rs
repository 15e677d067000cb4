//! Reads a TOML file that a command line names.

use std::path::Path;

use toml::Table;

use crate::exit::usage;

/// Reads a file as a table; `what` it holds is named where it cannot be read.
///
/// # Errors
///
/// A usage error of one line, with the line of the file where it is no TOML.
pub(crate) fn read(file: &Path, what: &str) -> anyhow::Result<Table> {
    let origin = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| usage(format!("cannot read {what} of {origin}: {error}")))?;
    text.parse().map_err(|error: toml::de::Error| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        usage(format!("{origin}, line {line}: {}", one_line(error.message())))
    })
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
