//! rayon's work-stealing pool: handlers are jobs, and a wait keeps its thread.

mod blocking;
mod handler;
mod pipeline;
mod pool;
mod runtime;
mod server;

use std::process::ExitCode;

use runner::Abilities;

fn main() -> ExitCode {
    runner::run::<runtime::Rayon>(Abilities {
        handler: runner::handler(),
        server: runner::server(),
        pipeline: runner::pipeline(),
    })
}
