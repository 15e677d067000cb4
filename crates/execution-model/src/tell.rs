//! Lines for people, on standard error.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Writes a line to standard error, and lets it go where nobody takes it.
///
/// `eprintln!` panics where standard error is closed or full, and in a panic hook that aborts the process: a
/// server would end because nobody reads what it says.
pub fn tell(line: Arguments<'_>) {
    // In one piece, so that lines of several threads and processes do not mix.
    let line = format!("{line}\n");
    let _unheard = io::stderr().write_all(line.as_bytes());
}
