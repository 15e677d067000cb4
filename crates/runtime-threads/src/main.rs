//! OS threads: one a request and a connection, or a fixed pool fed by a bounded queue.

mod blocking;
mod handler;
mod pipeline;
mod pool;
mod runtime;
mod server;

use std::process::ExitCode;

use runner::Abilities;

fn main() -> ExitCode {
    runner::run::<runtime::Threads>(Abilities {
        handler: runner::handler(),
        server: runner::server(),
        pipeline: runner::pipeline(),
    })
}
