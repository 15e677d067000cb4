//! Why a load could not be offered at all. What goes wrong with single requests is in the result instead.

use std::io;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum HttpLoadError {
    /// The specification contradicts itself or names something impossible.
    #[error("invalid load specification: {what}")]
    InvalidSpec {
        /// What is wrong, and what would be right.
        what: String,
    },
    /// This process may not open enough descriptors. The limit is the client's own, not the server's.
    #[error(
        "the load client needs {need} descriptors ({sockets} sockets, {open_now} already open, the rest its own) and its \
         RLIMIT_NOFILE is {soft} (hard limit {hard}): raise it with `ulimit -n {need}`, or split the load over more processes"
    )]
    Descriptors {
        /// Descriptors needed in all.
        need: u64,
        /// Sockets that the load may have open at once.
        sockets: u64,
        /// Descriptors that the process has open already.
        open_now: u64,
        /// The limit in force.
        soft: u64,
        /// The limit up to which an ordinary process may raise it.
        hard: u64,
    },
    /// The thread could not be bound to the CPUs asked for.
    #[error(
        "cannot bind the load client to the CPUs {cpus:?}; name CPUs that are online and in this process's set"
    )]
    Pin {
        /// The CPUs asked for.
        cpus: Vec<usize>,
        /// What `sched_setaffinity(2)` said.
        source: io::Error,
    },
    /// A system call that must work did not.
    #[error("{call} failed in the load client")]
    System {
        /// Which call, or file.
        call: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// The start had passed before this process was ready, so it would have measured another window than its peers.
    #[error("the load client was ready {late_ns} ns after the start it was given; give it a later one")]
    StartPassed {
        /// How late, in nanoseconds.
        late_ns: u64,
    },
    /// Requests were lost or counted twice: a bug in this crate. The figures would be worthless.
    #[error("accounting is off in the load client: {what}")]
    Unbalanced {
        /// The identity that does not hold, with its numbers.
        what: String,
    },
}

impl HttpLoadError {
    pub(super) fn system(call: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::System { call, source: errno.into() }
    }
}
