//! A runner with faults, one a variant, to show that the suite finds each of them: a thread for each
//! request and each connection, and `none` is a variant too.

mod fault;
mod handler;
mod runtime;
mod server;

use std::process::ExitCode;

use runner::Abilities;

fn main() -> ExitCode {
    runner::run::<runtime::Mutant>(Abilities { handler: runner::handler(), server: runner::server() })
}
