//! Why a check failed.

use std::io;

use cell_control::CellError;

use crate::client::HttpError;
use crate::exposition::ExpositionError;

/// What a check saw, in one line, or why it failed.
pub type Seen = Result<String, Failure>;

/// Why a check failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The runner did something else than it must.
    #[error("{0}")]
    Wrong(String),
    /// The cell did not go as the protocol says.
    #[error("{0}")]
    Cell(#[from] CellError),
    /// The server did not answer as HTTP says.
    #[error("{0}")]
    Http(#[from] HttpError),
    /// The server's metrics cannot be read.
    #[error("/metrics: {0}")]
    Metrics(#[from] ExpositionError),
    /// The suite could not do its part.
    #[error("the check itself failed: {0}")]
    Suite(#[from] io::Error),
}

/// Fails the check with a formatted reason unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($reason:tt)+) => {
        if !$condition {
            return Err($crate::failure::Failure::Wrong(format!($($reason)+)));
        }
    };
}

pub(crate) use ensure;
