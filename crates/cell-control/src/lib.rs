//! The parent side of the cell protocol: finds runners, starts one process per cell, talks to it,
//! and ends it in bounded time whatever it does.
//!
//! ```no_run
//! # fn example(spec: &cell_protocol::CellSpec) -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use cell_control::{CellProcess, Limits, discover};
//!
//! let found = discover("target/release".as_ref());
//! let runner = found.runners.first().ok_or("no runner was built")?;
//! let mut cell = CellProcess::start(&runner.path, spec, Limits::default())?;
//! cell.go()?;
//! let result = cell.result(Duration::from_secs(10))?;
//! let end = cell.stop(Duration::from_secs(5))?;
//! # drop((result, end)); Ok(()) }
//! ```
//!
//! # How a cell ends
//!
//! Every wait has a deadline, which whoever waits derives from what the cell was asked to do, and no wait goes on beside a
//! runner that cannot answer: every 20 ms it is asked of the kernel whether the runner has ended or is stopped (waitid(2)).
//! Nothing that a cell started outlives it:
//!
//! 1. [`CellProcess::stop`] sends `stop` and closes standard input. The runner drains, says `stopped`,
//!    and exits with status 0.
//! 2. A runner that is not gone at the deadline gets SIGTERM, to its whole process group.
//! 3. One that is not gone 2 s later gets SIGKILL, to its whole process group.
//! 4. The process group gets SIGKILL in every case before the runner is reaped, so that worker
//!    processes which a runner left behind do not survive it.
//!
//! A cell that has a control group of its own takes it with it: when the runner is reaped, whatever is left in the group is
//! killed, and the group removed. See [`ControlGroups`].
//!
//! A [`CellProcess`] that is dropped goes to step 3 at once. A harness that is itself killed takes its
//! cells with it: each runner has SIGKILL as its parent-death signal, and ends when its standard input
//! closes.
//!
//! **The parent-death signal follows the thread that started the cell**, not its process (prctl(2)).
//! Start cells from a thread that lives as long as they do: the main thread, say.

mod cell;
mod child;
mod error;
mod group;
mod lines;
mod quota;
mod runner;
mod tail;

pub use cell::{CellProcess, End, Limits};
pub use child::{Child, Reaped};
pub use error::{CellError, Exit, SignalName};
pub use group::kill_every_cell;
pub use lines::Outcome;
pub use quota::{ControlGroup, ControlGroups, Held, QUOTA_PERIOD, QuotaError, Throttled};
pub use runner::{Discovery, Problem, Runner, Subject, describe, discover};
