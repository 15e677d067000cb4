//! An HTTP/1.1 load client on one thread and one epoll instance.
//!
//! Its parts know little of each other, so that another way of arriving is another [`HttpLoad`], another schedule and
//! another branch where a connection becomes free:
//!
//! * `schedule`: when requests of one connection each are intended to start.
//! * `open`: the open loop's decisions, without clock and socket, and its stage of the run.
//! * `connection`, `socket`, `response`: one connection, its bytes, and whether an answer is right.
//! * `arrivals`: what follows when a connection has done its work, or has failed.
//! * `requests`: the life of a request, from its start to its one outcome, and of the connection under it.
//! * `deadlines`, `timers`: what happens when nothing comes in time.
//! * `driver`: the epoll loop and the stages of a run: set-up, load, drain.
//! * `hold`: connections that are opened and then held idle, by themselves and not as a load.
//! * `tally`, `level`, `timeline`: counts and times, which of them belong to the window, and how they grew.
//!
//! One [`run`] offers one load to one target. Two kinds of request at the same time (probes, and blockers beside them)
//! are two runs with one [`start_at_monotonic_ns`](HttpLoadSpec::start_at_monotonic_ns), in two processes or on two
//! threads of one: each then has connections of its own, a queue of its own, and a send lag of its own by which its
//! honesty is judged. One thread for both would send a probe late whenever it handles a blocker's answer, and put the
//! blame on neither.
//!
//! What keeps it honest: response times count from intended starts; the clock is read for each event and not for each
//! batch of them; every request has exactly one outcome, which is asserted; answers are compared to the byte. What
//! keeps it fast: a request costs one `send` and one `recv`, and a share of one `epoll_wait`. Sockets are registered
//! once, edge-triggered; deadlines cost nothing while they are not due.

mod arrivals;
mod connection;
mod deadlines;
mod driver;
mod error;
mod failure;
mod hold;
mod level;
mod open;
mod preflight;
mod requests;
mod response;
mod result;
mod schedule;
mod socket;
mod spec;
mod tally;
mod timeline;
mod timers;
mod usage;

use driver::Driver;
pub use error::HttpLoadError;
pub use hold::{Held, HoldSpec, hold};
pub use result::HttpLoadResult;
pub use socket::SOURCE_ADDRESSES;
pub use spec::{HttpLoad, HttpLoadSpec};
pub use timeline::{Stretch, Timeline};

use crate::pinned::Pinned;

/// Offers the load from the calling thread, and returns when it is over: after the load's own length, the drain, and
/// for a closed or an open loop the set-up before it, in which each connection has `timeout_ns` to open.
///
/// What goes wrong with requests, a dead server among it, is in the result and not an error.
///
/// # Errors
/// [`HttpLoadError`]: the specification is invalid, this process's descriptor limit is too small, the CPUs cannot be
/// had, the given start has passed, or a system call that must work did not.
pub fn run(spec: &HttpLoadSpec) -> Result<HttpLoadResult, HttpLoadError> {
    spec.validate()?;
    preflight::check(spec.sockets_max())?;
    let _pinned =
        Pinned::to(&spec.cpus).map_err(|source| HttpLoadError::Pin { cpus: spec.cpus.clone(), source })?;
    let result = Driver::new(spec)?.run()?;
    result.check_accounting()?;
    Ok(result)
}
