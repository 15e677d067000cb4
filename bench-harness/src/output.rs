//! Results on standard output, in the format that was asked for, and lines for people on standard error.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};

use anyhow::Context;

use crate::format::printable;

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON value.
    Json,
    /// One line a figure.
    Csv,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    /// Whether standard output takes colour.
    pub(crate) fn on_stdout(self) -> bool {
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                io::stdout().is_terminal() && !forbidden && !dumb
            }
        }
    }
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

/// Writes a value as JSON to standard output.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text)
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
    fn a_reader_may_leave_and_a_full_disk_is_an_error() {
        assert!(write(Failing(ErrorKind::BrokenPipe), "text").unwrap_err().is::<Unread>());
        let error = write(Failing(ErrorKind::StorageFull), "text").unwrap_err();
        assert_eq!(error.downcast_ref::<io::Error>().map(io::Error::kind), Some(ErrorKind::StorageFull));
        let mut taken = Vec::new();
        write(&mut taken, "text").unwrap();
        assert_eq!(taken, b"text");
    }
}
