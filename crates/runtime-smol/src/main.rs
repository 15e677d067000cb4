//! The smol event loop: tasks of one executor, which yield to a reactor that the idle threads take turns at.

mod blocking;
mod handler;
mod pipeline;
mod runtime;
mod server;

use std::process::ExitCode;

use runner::Abilities;

fn main() -> ExitCode {
    runner::run::<runtime::Smol>(Abilities {
        handler: runner::handler(),
        server: runner::server(),
        pipeline: runner::pipeline(),
    })
}
