//! Prefork: worker processes that share a listener, each with an event loop or a few threads.

mod blocking;
mod handler;
mod link;
mod runtime;
mod server;
mod shared;
mod variant;
mod wire;
mod worker;

use std::process::ExitCode;

use runner::Abilities;

fn main() -> ExitCode {
    runner::report_panics::<runtime::Processes>();
    if let Some(ended) = worker::run_if_asked() {
        return ended;
    }
    runner::run::<runtime::Processes>(Abilities {
        handler: runner::handler(),
        server: runner::server(),
        pipeline: runner::Support::No(runtime::IMAGES_STAY),
    })
}
