//! The batching pipeline, as far as it is the same for every model: everything but waiting and waking.
//!
//! [`Stages`] is the pipeline without its workers. Behind a lock that nobody holds over a wait are admission, queues,
//! batcher and accounts. A [`Worker`] asks it what is next and gets [`Work`], an instant until which to wait, or the end;
//! whoever changes something wakes the workers that it concerns, each by the bell that it brought. What a stage does to
//! an image is a [`Job`](workload::Job) of one step, which a runtime carries out as it does any other.
//!
//! A runtime brings the workers. Most have one for each place of a stage, in a loop that is here once for models that
//! block ([`start_blocking`]) and once for those that await ([`start_async`]). A model whose threads must not wait asks
//! from one thread for all stages, and hands on what computes.

mod account;
mod async_driver;
mod awaited;
mod blocking_driver;
mod image;
mod load;
mod metrics;
mod setup;
mod staff;
mod stages;
mod state;
mod work;

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

pub use account::{PipelineAccount, Sample, WindowAccount};
pub use async_driver::{AsyncBell, AsyncModel, start_async};
pub use awaited::{Awaited, NotThrough, Through};
pub use blocking_driver::{BlockingBell, BlockingModel, start_blocking};
pub use load::NotAdmitted;
pub use setup::PipelineSetup;
pub use stages::Stages;
pub use work::{Next, Work, Worker};
pub use workload::pipeline::{Lane, Stage};

use crate::runtime::Runtime;

/// A runtime that sends images through the pipeline.
pub trait PipelineRuntime: Runtime {
    /// Starts what carries the stages out. It ends when the stages are closed.
    ///
    /// # Errors
    ///
    /// What the operating system or the model refused. Whoever has started by then is told to end.
    fn start_pipeline(&self, stages: &Arc<Stages>) -> io::Result<()>;
}
