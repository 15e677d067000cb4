//! The messages between the harness and a runner: what a runner says of itself, the cell that it is
//! asked to measure, and the events it reports. One JSON value a line, over standard input and output.
//!
//! ```text
//! harness                                    runner
//!   spawn, write the cell's spec     ----->    start the runtime
//!                                    <-----    ready
//!   sample the baseline
//!   go (for stages: one each)        ----->    measure in process, or serve
//!   snapshot (any number)            ----->
//!                                    <-----    snapshot
//!                                    <-----    result (in-process cells)
//!   stop                             ----->    drain by a deadline
//!                                    <-----    stopped, and exit 0
//! ```
//!
//! Standard output carries the protocol alone. The last line of standard error becomes the reason
//! of a row whose runner failed. When standard input closes, the runner stops.

mod cell;
mod describe;
mod event;
mod pipeline;

pub use cell::{ArrivalsTask, CellSpec, ServeTask, StagesTask, Task};
pub use describe::{Ability, Description, Refusal, VariantDescription};
pub use event::{ArrivalsResult, Command, Event, Ready, Snapshot, Stopped, Usage};
pub use latency_histogram::Histogram;
pub use pipeline::{PipelineLoad, PipelineResult, PipelineTask, PipelineWindow};

/// The version of these messages. A runner refuses a cell of another version.
pub const PROTOCOL: u32 = 1;

/// The git revision that this crate was built at, or `unknown`.
pub const REVISION: &str = env!("BUILD_REVISION");
