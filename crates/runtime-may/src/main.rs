//! Stackful coroutines: blocking code on small stacks of its own, moved between worker threads.

mod blocking;
mod handler;
mod overflow;
mod pipeline;
mod runtime;
mod server;
mod suspend;
mod variant;

use std::process::ExitCode;

use runner::Abilities;

fn main() -> ExitCode {
    runner::run::<runtime::May>(Abilities {
        handler: runner::handler(),
        server: runner::server(),
        pipeline: runner::pipeline(),
    })
}
