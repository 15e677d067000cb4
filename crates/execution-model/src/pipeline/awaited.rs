//! An image whose end somebody waits for, who brought it and is no worker.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Where the end of an image is told. It is dropped with an image that does not go through.
pub(super) type Told = SyncSender<Through>;

/// How long an image took that went through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Through {
    /// From its intended start.
    pub response: Duration,
    /// From its admission.
    pub response_admitted: Duration,
}

/// An image that was brought.
#[derive(Debug)]
#[must_use = "nobody else is told of its end"]
pub struct Awaited {
    end: Receiver<Through>,
}

/// An image did not go through, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotThrough {
    /// It is still in line or in flight.
    #[error("the image is still on its way")]
    TimedOut,
    /// A stage panicked with it, or it was in line when the pipeline stopped to admit.
    #[error("the image did not go through: a stage failed, or the pipeline admits nothing any more")]
    Dropped,
}

impl Awaited {
    pub(super) fn new() -> (Told, Awaited) {
        let (told, end) = sync_channel(1);
        (told, Awaited { end })
    }

    /// Blocks until the image has gone through.
    ///
    /// # Errors
    ///
    /// It has not by the deadline, or never will.
    pub fn wait_until(&self, deadline: Instant) -> Result<Through, NotThrough> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.end.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Timeout => NotThrough::TimedOut,
            RecvTimeoutError::Disconnected => NotThrough::Dropped,
        })
    }
}
