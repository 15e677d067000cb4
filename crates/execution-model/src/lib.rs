//! The contract of a runtime crate: what it must provide, what it is given, and how each request's
//! end is told.
//!
//! A runtime carries out [`workload`] values in its own idiom. What it decides nothing about, namely
//! admission, routing, time limits and accounting, is here, so that every model does the same work.
//! Waiting, spawning, reading, writing and hand-off are each runtime's own.

mod ending;
mod exposition;
mod ledger;
mod limits;
mod panic;
pub mod pipeline;
mod request;
mod runtime;
pub mod server;
mod tell;

pub use ending::wait_until;
pub use ledger::{Ledger, Outcome, Stamps};
pub use limits::{OutOfRange, checked_drain};
pub use panic::{CatchUnwind, Panicked, catch_unwind};
pub use request::{Refused, RefusedBecause, Request, Stub, Ticket};
pub use runtime::{
    HandlerRuntime, Runtime, RuntimeConfig, RuntimeInfo, Server, ServerRuntime, ShutdownTimedOut, VariantInfo,
};
pub use tell::tell;
pub use workload::{Answer, BlockingStrategy, Job, Plan, Progress, ServerCounts, Step};

/// The version of the standard library, for runtimes that use no other: that of the compiler.
pub const STD_VERSION: &str = env!("STD_VERSION");
