//! How a runner ends: its last words, and its exit code.

use execution_model::{Runtime, tell};

const FAILURE: u8 = 1;
const USAGE: u8 = 2;

/// What was asked for cannot be, and what can be instead: whoever asked must ask for something else.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(String);

/// An error of whoever asked.
pub(crate) fn usage(error: impl ToString) -> anyhow::Error {
    UsageError(error.to_string()).into()
}

/// Says what went wrong, if something did, ends what would outlive this process, and returns the exit code.
pub(crate) fn end<R: Runtime>(result: anyhow::Result<()>) -> u8 {
    let code = match result {
        Ok(()) => 0,
        Err(error) => {
            // One line: causes follow their effect.
            tell(format_args!("{}: {error:#}", R::INFO.id));
            if error.is::<UsageError>() { USAGE } else { FAILURE }
        }
    };
    R::end_workers();
    code
}
