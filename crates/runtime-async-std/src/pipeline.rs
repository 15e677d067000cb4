//! The pipeline: a task for each place of a stage, which yields until its channel has a message.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use async_std::channel::{self, Receiver, Sender};
use async_std::{future, task};
use execution_model::pipeline::{AsyncBell, AsyncModel, PipelineRuntime, Stages, start_async};
use execution_model::{Answer, Job};

use crate::handler::handle;
use crate::runtime::AsyncStd;

impl PipelineRuntime for AsyncStd {
    fn start_pipeline(&self, stages: &Arc<Stages>) -> io::Result<()> {
        start_async(self, stages);
        Ok(())
    }
}

impl AsyncModel for AsyncStd {
    type Bell = Bell;

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let alive = self.share();
        task::spawn(async move {
            work.await;
            drop(alive);
        });
    }

    fn handle(job: &Job) -> impl Future<Output = Answer> + Send {
        handle(job)
    }
}

/// A channel of one message. async-std's condition variable keeps nothing for whoever is not yet waiting.
#[derive(Debug)]
pub(crate) struct Bell {
    ring: Sender<()>,
    rung: Receiver<()>,
}

impl Default for Bell {
    fn default() -> Bell {
        let (ring, rung) = channel::bounded(1);
        Bell { ring, rung }
    }
}

impl AsyncBell for Bell {
    fn ring(&self) {
        // Where it is full, it has been rung already.
        let _rung_already = self.ring.try_send(());
    }

    async fn wait(&self, until: Option<Instant>) {
        match until {
            // It is never closed, since both ends are here.
            None => _ = self.rung.recv().await,
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                let _rung_or_due = future::timeout(left, self.rung.recv()).await;
            }
        }
    }
}
