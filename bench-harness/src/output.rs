//! Results on standard output, in the format that was asked for, and lines for people on standard error.

use std::fmt;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;

use crate::cli::Cli;
use crate::exit::usage;
use crate::format::printable;
use crate::style::Style;

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// One JSON value; of `cell`, one on a line for each row
    Json,
    /// A header, and one line a figure
    Csv,
}

/// For a command that has no result to be written in one format or another.
///
/// # Errors
///
/// A usage error where one is asked for that is not what it does anyway.
pub(crate) fn only_text(cli: &Cli, command: &str) -> anyhow::Result<()> {
    if cli.format == Format::Text {
        return Ok(());
    }
    Err(usage(format!("{command} has no result to write in a format: leave --format out")))
}

/// A result in each form that `--format` names. Only the one that was asked for is made.
pub(crate) struct Forms<'a> {
    pub(crate) text: &'a dyn Fn(Style) -> String,
    pub(crate) csv: &'a dyn Fn() -> String,
    pub(crate) json: &'a dyn Fn() -> serde_json::Result<String>,
}

impl Forms<'_> {
    /// The one that was asked for.
    pub(crate) fn written(&self, cli: &Cli) -> anyhow::Result<String> {
        Ok(match cli.format {
            Format::Text => (self.text)(Style::of_stdout(cli.color)),
            Format::Csv => (self.csv)(),
            Format::Json => escaped((self.json)()?) + "\n",
        })
    }

    /// Writes it to standard output.
    pub(crate) fn print(&self, cli: &Cli) -> anyhow::Result<()> {
        print(&self.written(cli)?)
    }
}

/// JSON in which all control characters are escaped, also those that it allows in strings and that terminals act on.
fn escaped(json: String) -> String {
    let acts = |letter: char| ('\u{7f}'..='\u{9f}').contains(&letter);
    if !json.contains(acts) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        if acts(letter) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Nobody reads standard output any more. It is no failure: what a command came to stands.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads standard output")]
pub(crate) struct Unread;

/// Writes to standard output. Where nobody reads it any more, the rest is let go, and the command ends as it would have.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    match print_to_reader(text) {
        Err(error) if error.is::<Unread>() => Ok(()),
        other => other,
    }
}

/// Writes to standard output, where there is no use in going on without a reader: that is the error [`Unread`].
pub(crate) fn print_to_reader(text: &str) -> anyhow::Result<()> {
    write(io::stdout().lock(), text)
}

/// Writes a line to standard error, and lets it go where nobody reads it: `eprintln!` would panic. A runner's words may
/// be in it, and reach no terminal as anything but text.
pub(crate) fn tell(line: impl fmt::Display) {
    // Formatted first, so that the line is written whole.
    let line = format!("{}\n", printable(&line.to_string()));
    let _unread = io::stderr().lock().write_all(line.as_bytes());
}

fn write(mut output: impl Write, text: &str) -> anyhow::Result<()> {
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Unread.into()),
        written => written.context("cannot write to standard output"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that fails as it is told to.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn json_with_its_control_characters_escaped_is_the_same_value() {
        let value = serde_json::json!({"said": "\u{1b}[31m \u{7f}\u{9b}2J \u{a0}é"});
        let text = escaped(value.to_string());
        assert!(!text.contains(char::is_control) && text.contains("\\u007f\\u009b2J \u{a0}é"), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn a_reader_may_leave_and_a_full_disk_is_an_error() {
        assert!(write(Failing(ErrorKind::BrokenPipe), "text").unwrap_err().is::<Unread>());
        let error = write(Failing(ErrorKind::StorageFull), "text").unwrap_err();
        assert_eq!(error.downcast_ref::<io::Error>().map(io::Error::kind), Some(ErrorKind::StorageFull));
        let mut taken = Vec::new();
        write(&mut taken, "text").unwrap();
        assert_eq!(taken, b"text");
    }
}
