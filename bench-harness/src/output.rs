//! What the harness says: results on standard output, in the format that was asked for, and all else on standard error.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use anyhow::Context;

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

/// Writes to standard output. A reader that has had enough of it is no error, and what there is to do is done all the
/// same: the exit code tells of the work and not of its reader.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write(io::stdout().lock(), text).context("cannot write to standard output")
}

/// Writes a value as JSON to standard output.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text)
}

/// Says a line on standard error. Where that is closed or full there is nobody to tell, and no reason to end.
pub(crate) fn tell(line: impl fmt::Display) {
    // Formatted first, so that the line is written whole.
    let line = format!("{line}\n");
    let _nobody = io::stderr().lock().write_all(line.as_bytes());
}

fn write(mut output: impl Write, text: &str) -> io::Result<()> {
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that fails as it is told to.
    struct Failing(io::ErrorKind);

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
        write(Failing(io::ErrorKind::BrokenPipe), "text").unwrap();
        let error = write(Failing(io::ErrorKind::StorageFull), "text").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let mut taken = Vec::new();
        write(&mut taken, "text").unwrap();
        assert_eq!(taken, b"text");
    }
}
