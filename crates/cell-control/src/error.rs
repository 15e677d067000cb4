//! Why a cell failed, as a type, and as the one line that becomes a row's reason.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use crate::quota::QuotaError;

/// Why a cell failed. Displayed, it is one line that says what was awaited and what came instead.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// The program could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The runner ended by itself.
    #[error("the runner {exit} while {awaited} was awaited{}", Said(last_words))]
    Died {
        /// What the harness was waiting for.
        awaited: &'static str,
        /// How the runner ended.
        exit: Exit,
        /// The last line of its standard error.
        last_words: Option<String>,
    },
    /// The runner is alive and runs no more, until a signal lets it go on.
    #[error("the runner was stopped by {} while {awaited} was awaited{}", SignalName(*signal), Said(last_words))]
    Stopped {
        /// What the harness was waiting for.
        awaited: &'static str,
        /// The signal that stopped it.
        signal: i32,
        /// The last line of its standard error.
        last_words: Option<String>,
    },
    /// The runner is alive, but its standard output is closed.
    #[error("the runner closed its standard output while {awaited} was awaited{}", Said(last_words))]
    Silent {
        /// What the harness was waiting for.
        awaited: &'static str,
        /// The last line of its standard error.
        last_words: Option<String>,
    },
    /// The runner did not answer in time.
    #[error("no sign of {awaited} within {limit:?}{}", Said(last_words))]
    TimedOut {
        /// What the harness was waiting for.
        awaited: &'static str,
        /// For how long it waited.
        limit: Duration,
        /// The last line of the runner's standard error.
        last_words: Option<String>,
    },
    /// A server is ready and gives no address.
    #[error("the runner is ready and does not say where it listens")]
    NotListening,
    /// The runner said something that is not of the protocol.
    #[error("nonsense while {awaited} was awaited: {line:?} ({why})")]
    Nonsense {
        /// What the harness was waiting for.
        awaited: &'static str,
        /// The beginning of the line.
        line: String,
        /// What is wrong with it.
        why: String,
    },
    /// The runner wrote more without a line's end than any message needs.
    #[error("a line of more than {bytes_max} bytes while {awaited} was awaited")]
    LineTooLong {
        /// What the harness was waiting for.
        awaited: &'static str,
        /// The most bytes that a line may have.
        bytes_max: usize,
    },
    /// A pipe to the runner failed.
    #[error("cannot talk to the runner while {awaited} was awaited: {source}")]
    Pipe {
        /// What the harness was waiting for.
        awaited: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The cell cannot have the quota that was asked for.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// The harness was told to stop.
    #[error("interrupted while {awaited} was awaited")]
    Interrupted {
        /// What the harness was waiting for.
        awaited: &'static str,
    },
}

impl CellError {
    /// How the runner ended, where it ended by itself.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        match self {
            CellError::Died { exit, .. } => Some(*exit),
            _ => None,
        }
    }

    /// The last line of the runner's standard error, where that is part of the reason.
    #[must_use]
    pub fn last_words(&self) -> Option<&str> {
        match self {
            CellError::Died { last_words, .. }
            | CellError::Stopped { last_words, .. }
            | CellError::Silent { last_words, .. }
            | CellError::TimedOut { last_words, .. } => last_words.as_deref(),
            _ => None,
        }
    }
}

/// How a runner ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    pub(crate) fn of(status: ExitStatus) -> Exit {
        match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Status(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        }
    }

    /// Whether the runner was killed by SIGKILL: the out-of-memory killer's signal, where nobody here sent it.
    #[must_use]
    pub fn is_sigkill(self) -> bool {
        self == Exit::Signal(libc::SIGKILL)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exit::Status(status) => write!(f, "exited with status {status}"),
            Exit::Signal(signal) => write!(f, "was killed by {}", SignalName(signal)),
        }
    }
}

/// A signal as people call it.
#[derive(Clone, Copy, Debug)]
pub struct SignalName(
    /// Its number.
    pub i32,
);

impl fmt::Display for SignalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            libc::SIGABRT => "SIGABRT",
            libc::SIGBUS => "SIGBUS",
            libc::SIGFPE => "SIGFPE",
            libc::SIGHUP => "SIGHUP",
            libc::SIGILL => "SIGILL",
            libc::SIGINT => "SIGINT",
            libc::SIGKILL => "SIGKILL",
            libc::SIGPIPE => "SIGPIPE",
            libc::SIGSEGV => "SIGSEGV",
            libc::SIGSTOP => "SIGSTOP",
            libc::SIGSYS => "SIGSYS",
            libc::SIGTERM => "SIGTERM",
            libc::SIGTRAP => "SIGTRAP",
            libc::SIGTSTP => "SIGTSTP",
            libc::SIGXCPU => "SIGXCPU",
            other => return write!(f, "signal {other}"),
        })
    }
}

/// `; it said: ...`, or nothing.
struct Said<'a>(&'a Option<String>);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(words) => write!(f, "; it said: {words}"),
            None => Ok(()),
        }
    }
}
