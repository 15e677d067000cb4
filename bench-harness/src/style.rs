//! What standard output can show: whether it takes colour, and how wide it is.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

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
        Style { is_bold }
    }
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
