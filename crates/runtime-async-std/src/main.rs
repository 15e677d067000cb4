//! The async-std event loop, which is historical: discontinued upstream, and kept for comparison.

mod blocking;
mod handler;
mod pipeline;
mod runtime;
mod server;

use std::process::ExitCode;

use runner::Abilities;

fn main() -> ExitCode {
    runner::run::<runtime::AsyncStd>(Abilities {
        handler: runner::handler(),
        server: runner::server(),
        pipeline: runner::pipeline(),
    })
}
