//! The commands, one file each.

mod aa;
mod baseline;
mod cell;
mod compare;
mod completions;
mod doctor;
mod list;
mod load;
mod predict;
mod report;
mod resume;
mod run;
mod schema;
mod serve;
mod session;
mod threads;
mod verify;

use crate::cli::{self, Cli, Command};
use crate::exit::Ending;
use crate::interrupt::Interrupt;
use crate::measure;
use load_driver::priority::Priority;

/// Reads the command line and does what it says.
pub(crate) fn run() -> anyhow::Result<Ending> {
    let cli = cli::parse()?;
    let interrupt = match &cli.command {
        // These have something to finish, or to end, when they are interrupted.
        Command::Doctor(_)
        | Command::Run(_)
        | Command::Aa(_)
        | Command::Verify(_)
        | Command::Cell(_)
        | Command::Report { .. }
        | Command::Compare(_) => Interrupt::install()?,
        _ => Interrupt::default(),
    };
    let ending = carry_out(&cli, &interrupt);
    interrupt.wait_until_told();
    match ending? {
        // Who interrupts the last moments of a command wants what comes after it not to begin.
        Ending::Done if interrupt.is_raised() => Ok(Ending::Interrupted),
        ending => Ok(ending),
    }
}

fn carry_out(cli: &Cli, interrupt: &Interrupt) -> anyhow::Result<Ending> {
    match &cli.command {
        Command::List => list::run(cli),
        Command::Doctor(arguments) => doctor::run(cli, arguments, interrupt),
        Command::Run(arguments) => run::run(cli, arguments, interrupt),
        Command::Aa(arguments) => aa::run(cli, arguments, interrupt),
        Command::Verify(arguments) => verify::run(cli, arguments, interrupt),
        Command::Cell(arguments) => cell::run(cli, arguments, interrupt),
        Command::Serve(arguments) => serve::run(cli, arguments),
        Command::Report { directory, benches, into } => {
            report::run(cli, directory, benches.as_deref(), into.as_deref(), interrupt)
        }
        Command::Compare(arguments) => compare::run(cli, arguments, interrupt),
        Command::Predict(arguments) => predict::run(cli, arguments),
        Command::Load(arguments) => load::run(cli, arguments),
        Command::Threads(arguments) => threads::run(cli, arguments),
        Command::Schema { name } => schema::run(cli, *name),
        Command::Completions { shell } => completions::run(cli, *shell),
        Command::LoadShard { first } => {
            measure::shard(if *first { Priority::First } else { Priority::Usual })
        }
        Command::HoldShard => measure::hold(),
    }
}
