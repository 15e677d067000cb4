//! The pipeline: a task for each place of a stage, which yields until it is notified.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use execution_model::pipeline::{AsyncBell, AsyncModel, PipelineRuntime, Stages, start_async};
use execution_model::{Answer, Job};
use tokio::sync::Notify;
use tokio::time;

use crate::handler::handle;
use crate::runtime::Tokio;

impl PipelineRuntime for Tokio {
    fn start_pipeline(&self, stages: &Arc<Stages>) -> io::Result<()> {
        start_async(self, stages);
        Ok(())
    }
}

impl AsyncModel for Tokio {
    type Bell = Bell;

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.handle().spawn(work);
    }

    fn handle(job: &Job) -> impl Future<Output = Answer> + Send {
        handle(job)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Bell {
    /// It keeps one notification for whoever is not yet waiting.
    rung: Notify,
}

impl AsyncBell for Bell {
    fn ring(&self) {
        self.rung.notify_one();
    }

    async fn wait(&self, until: Option<Instant>) {
        match until {
            None => self.rung.notified().await,
            Some(until) => _ = time::timeout_at(until.into(), self.rung.notified()).await,
        }
    }
}
