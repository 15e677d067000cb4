//! What the help says: without an option, something happens too.

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::Cli;

/// Whether its help says what happens without it. A flag that is not given is off.
fn says_its_default(argument: &Arg) -> bool {
    let takes_a_value = argument.get_action().takes_values();
    let shown = !argument.get_default_values().is_empty() && !argument.is_hide_default_value_set();
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let told = help.contains("by default") || help.contains("[default: ");
    !takes_a_value || argument.is_required_set() || shown || told
}

/// Those that do not say it, of a command and of all below it, each as one would write it.
fn silent(command: &Command, path: &str, found: &mut Vec<String>) {
    let of_command = command.get_arguments().filter(|argument| !says_its_default(argument));
    found.extend(of_command.map(|argument| format!("{path} {argument}")));
    for below in command.get_subcommands() {
        silent(below, &format!("{path} {}", below.get_name()), found);
    }
}

fn all_silent(mut command: Command) -> Vec<String> {
    // What holds for every command is among the arguments of each.
    command.build();
    let mut found = Vec::new();
    silent(&command, "", &mut found);
    found
}

#[test]
fn an_option_that_says_nothing_of_it_is_found() {
    let option = |name: &'static str| Arg::new(name).long(name);
    let below = Command::new("below").args([
        option("silent").help("How long"),
        option("told").help("How long; by default as long as it takes"),
        option("shown").help("How long").default_value("1s"),
        option("hidden").help("How long").default_value("1s").hide_default_value(true),
        option("required").help("How long").required(true),
        option("flag").help("Whether").action(ArgAction::SetTrue),
    ]);
    let whole = Command::new("whole").subcommand(below).arg(option("everywhere").global(true));
    let found = [
        " --everywhere <everywhere>",
        " below --silent <silent>",
        " below --hidden <hidden>",
        " below --everywhere <everywhere>",
    ];
    assert_eq!(all_silent(whole), found);
}

#[test]
fn every_option_says_what_happens_without_it() {
    assert_eq!(all_silent(Cli::command()), Vec::<String>::new());
}
