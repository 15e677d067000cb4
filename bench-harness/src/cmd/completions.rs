//! `completions`: a script for a shell, which completes this command line there.

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};

use crate::cli::Cli;
use crate::exit::Ending;
use crate::output;

const NAME: &str = "bench-harness";

/// # Errors
///
/// A usage error where a format is asked for that a script does not have.
pub(super) fn run(cli: &Cli, shell: Shell) -> anyhow::Result<Ending> {
    output::only_text(cli, "completions")?;
    let mut script = Vec::new();
    generate(shell, &mut offered(), NAME, &mut script);
    let script = String::from_utf8(script).context("the script is no text")?;
    output::print(&consistent(&script))?;
    Ok(Ending::Done)
}

/// The command line without what is hidden, which the generator would offer all the same.
fn offered() -> Command {
    let whole = Cli::command();
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Command::new(NAME).args(whole.get_arguments().cloned()).subcommands(shown)
}

/// The generator's script for bash spells the name of a program that has a hyphen in two ways, of which one is never
/// reached, so that nothing is offered after the name of a command: <https://github.com/clap-rs/clap/issues/6421>.
fn consistent(script: &str) -> String {
    script.replace(&NAME.replace('-', "__subcmd__"), &NAME.replace('-', "__"))
}
