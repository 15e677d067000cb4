//! A runner with faults, one a variant, to show that the suite finds each of them: a thread for each
//! request and each connection, and `none` is a variant too.

mod fault;
mod handler;
mod pipeline;
mod runtime;
mod server;

use std::process::ExitCode;

use runner::Abilities;

use crate::fault::Fault;

fn main() -> ExitCode {
    let takes_any_limit = Fault::TakesAnyLimit.name();
    if std::env::args().any(|argument| argument == takes_any_limit) && std::env::args().any(|a| a == "serve")
    {
        // As far as a check of limits comes, it serves.
        return ExitCode::SUCCESS;
    }
    runner::run::<runtime::Mutant>(Abilities {
        handler: runner::handler(),
        server: runner::server(),
        pipeline: runner::pipeline(),
    })
}
