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
mod verify;

use crate::cli::{self, Command};
use crate::exit::Ending;
use crate::measure;
use load_driver::priority::Priority;

/// Reads the command line and does what it says.
pub(crate) fn run() -> anyhow::Result<Ending> {
    let cli = cli::parse()?;
    match &cli.command {
        Command::List => list::run(&cli),
        Command::Doctor(arguments) => doctor::run(&cli, arguments),
        Command::Run(arguments) => run::run(&cli, arguments),
        Command::Aa(arguments) => aa::run(&cli, arguments),
        Command::Verify(arguments) => verify::run(&cli, arguments),
        Command::Cell(arguments) => cell::run(&cli, arguments),
        Command::Serve(arguments) => serve::run(&cli, arguments),
        Command::Report { directory, benches } => report::run(&cli, directory, benches.as_deref()),
        Command::Compare(arguments) => compare::run(&cli, arguments),
        Command::Predict(arguments) => predict::run(&cli, arguments),
        Command::Load(arguments) => load::run(&cli, arguments),
        Command::Schema { name } => schema::run(&cli, *name),
        Command::Completions { shell } => completions::run(*shell),
        Command::LoadShard { first } => {
            measure::shard(if *first { Priority::First } else { Priority::Usual })
        }
        Command::HoldShard => measure::hold(),
    }
}
