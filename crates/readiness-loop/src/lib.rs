//! A single-threaded epoll server for models that have no I/O of their own: it accepts, reads, parses
//! and writes, and hands whole requests to an [`Executor`]: a pool, or the floor's deadline heap.
//!
//! A pool that held connections instead of requests could serve only as many idle clients as it has
//! threads. Models that bring their own I/O do not use this crate: their reads and writes are theirs.

mod event_loop;
mod heap;
mod mailbox;
mod peer;
mod server;
mod tick;

use std::time::Instant;

use execution_model::server::{Service, Work};
use execution_model::{Answer, Job, Panicked};

use crate::mailbox::Sender;
pub use heap::{DeadlineHeap, Walk};
pub use server::LoopServer;
pub use tick::Tick;

/// Who carries out the requests.
pub trait Executor: Send + 'static {
    /// Takes work, and does not wait for it: what is not answered at once is answered by a reply to `asker`.
    fn execute(&mut self, work: Work, asker: &Asker<'_>) -> Taken;

    /// When [`wake`](Executor::wake) must be called next, for an executor that runs on the loop's own thread.
    fn next_wake(&self) -> Option<Instant> {
        None
    }

    /// Continues what is due.
    fn wake(&mut self, now: Instant) {
        let _ = now;
    }

    /// Lets a tick come when work that is handed over now would begin. On the loop's own thread that is at once.
    fn tick(&mut self, tick: Tick) {
        tick.comes();
    }
}

/// What became of work.
#[derive(Debug)]
pub enum Taken {
    /// It is over, on the loop's own thread.
    Answered(Result<Answer, Panicked>),
    /// A [`Reply`] will tell.
    Later,
}

/// The connection that asks for work.
#[derive(Debug)]
pub struct Asker<'a> {
    sender: &'a Sender,
    key: usize,
}

impl Asker<'_> {
    /// Where an answer that comes later goes.
    #[must_use]
    pub fn reply(&self) -> Reply {
        Reply { to: Some((self.sender.clone(), self.key)) }
    }

    /// Work with its way back, to be handed to another thread.
    #[must_use]
    pub fn task(&self, work: Work) -> Task {
        Task { work, reply: self.reply() }
    }
}

/// One request to be carried out, and where its answer goes. Dropping it answers 503.
#[derive(Debug)]
pub struct Task {
    // In this order: the work must count as rejected before the client can learn of it.
    work: Work,
    reply: Reply,
}

impl Task {
    /// Begins the service: the queue wait is over.
    #[must_use]
    pub fn begin(self) -> (Job, Service, Reply) {
        let (job, service) = self.work.begin();
        (job, service, self.reply)
    }
}

/// Where the answer of one request goes.
#[derive(Debug)]
pub struct Reply {
    to: Option<(Sender, usize)>,
}

impl Reply {
    /// Sends the answer back to the loop, from any thread.
    pub fn send(mut self, answer: Result<Answer, Panicked>) {
        if let Some((sender, key)) = self.to.take() {
            sender.send(key, Some(answer));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some((sender, key)) = self.to.take() {
            sender.send(key, None);
        }
    }
}
