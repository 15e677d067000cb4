//! The floor: the same work with no execution model around it. One thread, one heap of deadlines.
//!
//! What a model costs is what it adds to this.

mod blocking;
mod handler;
mod runtime;
mod server;

use std::process::ExitCode;

use runner::Abilities;

fn main() -> ExitCode {
    runner::run::<runtime::Floor>(Abilities {
        handler: runner::handler(),
        server: runner::server(),
        pipeline: runner::Support::No(runtime::NO_CORES_TO_SHARE),
    })
}
