//! What standard output can show: whether it takes colour, and how wide it is.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

use rustix::termios::tcgetwinsize;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, or where CLICOLOR_FORCE is set, unless NO_COLOR is
    #[default]
    Auto,
    Always,
    Never,
}

/// How text for people is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Headers of tables in bold.
    pub(crate) is_bold: bool,
    /// How many letters a line of a terminal has. What is no terminal has no such limit.
    pub(crate) width: Option<usize>,
}

impl Style {
    /// That of standard output.
    pub(crate) fn of_stdout(color: Color) -> Style {
        let is_terminal = io::stdout().is_terminal();
        let is_bold = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => takes_color(is_terminal, |name| env::var_os(name)),
        };
        let width = is_terminal.then(|| width(env::var("COLUMNS").ok())).flatten();
        Style { is_bold, width }
    }

    /// Bold where that is wanted. What is empty stays so.
    pub(crate) fn bold(self, text: &str) -> String {
        if self.is_bold && !text.is_empty() { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// What the user says, and else what the terminal says of itself. 0 is how either says nothing.
fn width(columns: Option<String>) -> Option<usize> {
    let said = columns.and_then(|columns| columns.parse().ok()).filter(|width| *width > 0);
    let of_terminal = || tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    said.or_else(of_terminal).filter(|width| *width > 0)
}

/// Whether colour is wanted, by <https://no-color.org> and <https://bixense.com/clicolors>: who wants none is asked first,
/// as the help does, which is printed by a library.
fn takes_color(is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is = |name: &str, value: &str| variable(name).is_some_and(|found| found == value);
    let is_set = |name: &str| variable(name).is_some_and(|found| !found.is_empty());
    if is_set("NO_COLOR") {
        return false;
    }
    if is_set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") {
        return true;
    }
    is_terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_no_colour_is_asked_first_and_then_who_forces_it() {
        let takes = |is_terminal: bool, set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(known, _)| *known == name);
            takes_color(is_terminal, |name| find(name).map(|(_, value)| (*value).into()))
        };
        assert!(takes(true, &[]) && !takes(false, &[]));
        for colourless in [("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")] {
            assert!(!takes(true, &[colourless]), "{colourless:?}");
        }
        // What is empty, or says that nothing is forced, says nothing.
        for silent in [("NO_COLOR", ""), ("CLICOLOR", "1"), ("CLICOLOR_FORCE", "0"), ("CLICOLOR_FORCE", "")] {
            assert!(takes(true, &[silent]) && !takes(false, &[silent]), "{silent:?}");
        }
        let forced = ("CLICOLOR_FORCE", "1");
        assert!(takes(false, &[forced]) && takes(false, &[forced, ("CLICOLOR", "0"), ("TERM", "dumb")]));
        assert!(!takes(true, &[forced, ("NO_COLOR", "1")]));
    }
}
