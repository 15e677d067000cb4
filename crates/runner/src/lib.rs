//! What a runtime crate's `main` calls: the child side of the cell protocol, and the same server by hand.
//!
//! A runtime's `main` names its abilities, so that an ability that the crate does not implement is a
//! compile error and one that it leaves out has a reason:
//!
//! ```ignore
//! fn main() -> ExitCode {
//!     runner::run::<Tokio>(Abilities {
//!         handler: runner::handler(),
//!         server: runner::server(),
//!         pipeline: runner::pipeline(),
//!     })
//! }
//! ```

mod abilities;
mod cell;
mod command_line;
mod describe;
mod ending;
mod serve;
mod usage;
mod variant;

use std::panic::{self, PanicHookInfo};
use std::process::ExitCode;

use clap::Parser;
use execution_model::{Runtime, tell};

pub use abilities::{
    Abilities, HandlerAbility, PipelineAbility, ServerAbility, Support, handler, pipeline, server,
};
use command_line::{Action, CommandLine};
use ending::end;

/// Runs the program of a runtime crate: `describe`, `cell` or `serve`.
///
/// The last line on standard error says what went wrong where the exit code is not 0: it is 2 where something was
/// asked for that cannot be, and 1 where something failed.
#[must_use]
pub fn run<R: Runtime>(abilities: Abilities<R>) -> ExitCode {
    report_panics::<R>();
    let result = match CommandLine::parse().action {
        Action::Describe(options) => describe::run::<R>(&abilities, &options),
        Action::Cell => cell::run(&abilities),
        Action::Serve(options) => serve::run(&abilities, &options),
        Action::ServePipeline(options) => serve::pipeline::run(&abilities, &options),
    };
    end::<R>(result).into()
}

/// Has every panic of this process said in one line, as [`run`] does. For processes of a runtime that do not call it.
pub fn report_panics<R: Runtime>() {
    panic::set_hook(Box::new(|panic| report_panic(R::INFO.id, panic)));
}

/// One line a panic, whatever the environment says of backtraces: a handler that panics is an event of
/// the experiment and not a crash, and a backtrace would not fit on a coroutine's stack.
fn report_panic(runtime: &str, panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let formatted = payload.downcast_ref::<String>().map(String::as_str);
    let message = payload.downcast_ref::<&str>().copied().or(formatted);
    let message = message.unwrap_or("a panic without a message");
    match panic.location() {
        Some(at) => tell(format_args!("{runtime}: panic: {message} ({}:{})", at.file(), at.line())),
        None => tell(format_args!("{runtime}: panic: {message}")),
    }
}
