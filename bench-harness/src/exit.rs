//! How the harness ends: its exit codes, and the one line that goes with a failure.

use std::process::ExitCode;

use crate::output;

/// What a command came to, where it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// 0
    Done,
    /// 130: Ctrl-C; what was finished is kept.
    Interrupted,
    /// This code, which another program gave.
    Code(u8),
}

/// 2: the command line, or something that it names, is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// 3: a runtime does not do what is required of it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unverified(pub(crate) String);

/// 5: this machine, as it is, cannot do what was asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);

/// Turns a result into the process's exit code, and says on standard error what went wrong.
pub(crate) fn code(result: anyhow::Result<Ending>) -> ExitCode {
    let error = match result {
        Ok(Ending::Done) => return ExitCode::SUCCESS,
        Ok(Ending::Interrupted) => return ExitCode::from(130),
        Ok(Ending::Code(code)) => return ExitCode::from(code),
        Err(error) => error,
    };
    output::tell(format_args!("error: {error:#}"));
    let is = |matches: fn(&(dyn std::error::Error + 'static)) -> bool| error.chain().any(matches);
    if is(|cause| cause.is::<Usage>()) {
        ExitCode::from(2)
    } else if is(|cause| cause.is::<Unverified>()) {
        ExitCode::from(3)
    } else if is(|cause| cause.is::<Refused>()) {
        ExitCode::from(5)
    } else {
        ExitCode::FAILURE
    }
}

/// A usage error, as an `anyhow` one.
pub(crate) fn usage(what: impl Into<String>) -> anyhow::Error {
    Usage(what.into()).into()
}
