//! A wrong command line, said in one line like every other wrong input.

use clap::Parser;
use clap::error::ErrorKind;

use super::Cli;
use crate::exit::usage;

/// Reads the command line. Where it asks for help, that is printed and all that happens.
pub(crate) fn parse() -> anyhow::Result<Cli> {
    Cli::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => usage(one_line(&error.render().to_string())),
    })
}

/// Reads a command line that a run has recorded.
pub(crate) fn parse_recorded(command: &[String]) -> anyhow::Result<Cli> {
    Cli::try_parse_from(command).map_err(|error| usage(one_line(&error.render().to_string())))
}

/// What is wrong and what would be right, without what `--help` tells.
fn one_line(error: &str) -> String {
    let paragraphs = error.split("\n\n").map(|paragraph| {
        let words = paragraph.split_whitespace().collect::<Vec<_>>();
        words.join(" ")
    });
    let telling = paragraphs
        .filter(|paragraph| {
            !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information")
        })
        .filter(|paragraph| !paragraph.is_empty());
    let line = telling.collect::<Vec<_>>().join("; ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_line_is_one_line_that_says_what_would_be_right() {
        let line = |arguments: &[&str]| {
            let all = ["bench-harness"].iter().chain(arguments);
            one_line(&Cli::try_parse_from(all).expect_err("it is wrong").render().to_string())
        };
        assert_eq!(
            line(&["verify", "--parallel", "0"]),
            "invalid value '0' for '--parallel <PARALLEL>': 0 is not in 1..=1024"
        );
        assert_eq!(
            line(&["verif"]),
            "unrecognized subcommand 'verif'; tip: a similar subcommand exists: 'verify'"
        );
        assert_eq!(line(&["load"]), "the following required arguments were not provided: <URL>");
        assert_eq!(
            line(&["list", "--format", "xml"]),
            "invalid value 'xml' for '--format <FORMAT>' [possible values: text, json, csv]"
        );
    }
}
