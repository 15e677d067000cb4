//! The tokio event loop: tasks that yield to it, on several worker threads or on one.

mod blocking;
mod handler;
mod pipeline;
mod runtime;
mod server;

use std::process::ExitCode;

use runner::Abilities;

fn main() -> ExitCode {
    runner::run::<runtime::Tokio>(Abilities {
        handler: runner::handler(),
        server: runner::server(),
        pipeline: runner::pipeline(),
    })
}
