//! The pipeline: a task for each place of a stage, which yields until its channel has a message.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use execution_model::pipeline::{AsyncBell, AsyncModel, PipelineRuntime, Stages, start_async};
use execution_model::{Answer, Job};
use smol::Timer;
use smol::channel::{self, Receiver, Sender};
use smol::future;

use crate::handler::handle;
use crate::runtime::Smol;

impl PipelineRuntime for Smol {
    fn start_pipeline(&self, stages: &Arc<Stages>) -> io::Result<()> {
        start_async(self, stages);
        Ok(())
    }
}

impl AsyncModel for Smol {
    type Bell = Bell;

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.executor().spawn(work).detach();
    }

    fn handle(job: &Job) -> impl Future<Output = Answer> + Send {
        handle(job)
    }
}

/// A channel of one message. smol has no bell of its own.
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
        // It is never closed, since both ends are here.
        let rung = async {
            let _rung = self.rung.recv().await;
        };
        let is_due = async {
            match until {
                Some(until) => _ = Timer::at(until).await,
                None => future::pending().await,
            }
        };
        future::or(rung, is_due).await;
    }
}
