//! What is measured, as pure values: the plan that a request carries, the compute kernel and its
//! checksum, the HTTP wire format, the times at which requests arrive, and the batching pipeline.
//!
//! This crate reads no clock, starts no thread and opens no socket. A runtime crate carries these
//! values out in its own idiom; whatever is decided rather than waited for is decided here, once.

pub mod arrivals;
mod counts;
pub mod http;
mod job;
pub mod kernel;
mod lag;
mod math;
pub mod pipeline;
mod plan;
mod primitive;
#[cfg(feature = "schema")]
mod schema;

pub use counts::{RequestCounts, ServerCounts};
pub use job::{Answer, BlockingStrategy, Job, Progress, UnknownStrategy};
pub use lag::{LAG_CLASSES, LAG_TICK, LoopLag, lag_class};
pub use plan::{Plan, PlanError, ROUNDS_MAX, STEPS_MAX, Step, WAIT_MAX};
pub use primitive::{CHANNEL_CAPACITY, Primitive, SPAWN_BATCH, batches, wait};
