//! How the harness ends: its exit codes, and the one line that goes with a failure.

use std::process::ExitCode;

use crate::output::tell;

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

/// 4: figures are worse than those that they were held against.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Regression(pub(crate) String);

/// 5: this machine, as it is, cannot do what was asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);

/// 6: what was to be compared, or put together, is not of one kind.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Incomparable(pub(crate) String);

/// Turns a result into the process's exit code, and says on standard error what went wrong.
pub(crate) fn code(result: anyhow::Result<Ending>) -> ExitCode {
    let error = match result {
        Ok(Ending::Done) => return ExitCode::SUCCESS,
        Ok(Ending::Interrupted) => return ExitCode::from(130),
        Ok(Ending::Code(code)) => return ExitCode::from(code),
        Err(error) => error,
    };
    tell(format_args!("error: {error:#}"));
    let is = |matches: fn(&(dyn std::error::Error + 'static)) -> bool| error.chain().any(matches);
    if is(|cause| cause.is::<Usage>()) {
        ExitCode::from(2)
    } else if is(|cause| cause.is::<Unverified>()) {
        ExitCode::from(3)
    } else if is(|cause| cause.is::<Regression>()) {
        ExitCode::from(4)
    } else if is(|cause| cause.is::<Refused>()) {
        ExitCode::from(5)
    } else if is(|cause| cause.is::<Incomparable>()) {
        ExitCode::from(6)
    } else {
        ExitCode::FAILURE
    }
}

/// What a run came to that was closed afterwards. Where both failed, the run's own failure is the one that is told and
/// that decides the exit code: what follows it, such as a report on a full disk, is its consequence.
pub(crate) fn first(outcome: anyhow::Result<()>, closed: anyhow::Result<Ending>) -> anyhow::Result<Ending> {
    let Err(error) = outcome else { return closed };
    if let Err(consequence) = closed {
        tell(format_args!("warning: the run could not be closed either: {consequence:#}"));
    }
    Err(error)
}

/// A usage error, as an `anyhow` one.
pub(crate) fn usage(what: impl Into<String>) -> anyhow::Error {
    Usage(what.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_the_one_that_is_told() {
        let failed = |what: &str| Err(usage(what));
        let told = |outcome, closed| first(outcome, closed).map_err(|error: anyhow::Error| error.to_string());
        assert_eq!(told(Ok(()), Ok(Ending::Interrupted)), Ok(Ending::Interrupted));
        assert_eq!(told(Ok(()), failed("report").map(|()| Ending::Done)), Err("report".into()));
        assert_eq!(told(failed("run"), Ok(Ending::Done)), Err("run".into()));
        assert_eq!(told(failed("run"), failed("report").map(|()| Ending::Done)), Err("run".into()));
    }
}
