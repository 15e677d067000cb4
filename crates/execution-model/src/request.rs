//! One request dispatched in process, and the ticket that tells how it ended.

use workload::{Answer, Job};

use crate::ledger::{Ledger, Outcome};

/// A request to be carried out: a job and the ticket that its end is written on.
#[derive(Debug)]
pub struct Request {
    job: Job,
    ticket: Ticket,
}

impl Request {
    /// The request of `index` in `ledger`.
    ///
    /// # Panics
    ///
    /// The index is over `u32::MAX`.
    #[must_use]
    pub fn new(job: Job, ledger: &'static Ledger, index: usize) -> Request {
        let index = u32::try_from(index).expect("a ledger holds at most u32::MAX requests");
        Request { job, ticket: Ticket { ledger, index, ended: false } }
    }

    /// Begins the service: the queue wait is over.
    #[must_use]
    pub fn begin(self) -> (Job, Ticket) {
        self.ticket.ledger.started(self.ticket.index as usize);
        (self.job, self.ticket)
    }

    /// What stays behind when the request moves into a library's spawn call, which drops it where it
    /// fails.
    #[must_use]
    pub fn stub(&self) -> Stub {
        Stub { ledger: self.ticket.ledger, index: self.ticket.index }
    }

    /// Hands the request back unstarted.
    #[must_use]
    pub fn refuse(self, because: RefusedBecause, detail: impl Into<String>) -> Refused {
        let stub = self.stub();
        drop(self);
        stub.refuse(because, detail)
    }
}

/// What stays behind of a request that has moved away.
#[derive(Debug)]
pub struct Stub {
    ledger: &'static Ledger,
    index: u32,
}

impl Stub {
    /// Tells that the request was handed back unstarted: it was dropped, but its caller knows.
    #[must_use]
    pub fn refuse(self, because: RefusedBecause, detail: impl Into<String>) -> Refused {
        self.ledger.rejected(self.index as usize);
        Refused { because, detail: detail.into() }
    }
}

/// The right, and the duty, to tell how one request ended.
///
/// A ticket that is dropped without a word counts as lost, which no cell's figures survive, but for
/// one dropped by a panic, which counts as a failed request.
#[derive(Debug)]
pub struct Ticket {
    ledger: &'static Ledger,
    index: u32,
    ended: bool,
}

impl Ticket {
    /// The plan was carried out.
    pub fn complete(mut self, answer: Answer) {
        self.end(Outcome::Completed, answer.checksum);
    }

    /// The handler panicked, and whoever caught the panic says so.
    pub fn fail_panicked(mut self) {
        self.end(Outcome::Panicked, 0);
    }

    /// The request began and cannot be completed, because whatever carried it out was killed.
    pub fn fail_killed(mut self) {
        self.end(Outcome::Killed, 0);
    }

    fn end(&mut self, outcome: Outcome, checksum: u64) {
        self.ended = true;
        self.ledger.ended(self.index as usize, outcome, checksum);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.ended {
            let outcome = if std::thread::panicking() { Outcome::Panicked } else { Outcome::Lost };
            self.end(outcome, 0);
        }
    }
}

/// A request that was handed back because it could not be started.
#[derive(Debug)]
pub struct Refused {
    /// Why.
    pub because: RefusedBecause,
    /// What the library or the operating system said, where it said something.
    pub detail: String,
}

/// Why a request could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedBecause {
    /// The queue that feeds the workers is full.
    QueueFull,
    /// The operating system gave no thread.
    ThreadLimit,
    /// There was no memory or no mapping for what the request needs.
    Memory,
    /// The runtime is shutting down.
    ShuttingDown,
}

impl RefusedBecause {
    /// The name in rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            RefusedBecause::QueueFull => "queue-full",
            RefusedBecause::ThreadLimit => "thread-limit",
            RefusedBecause::Memory => "memory",
            RefusedBecause::ShuttingDown => "shutting-down",
        }
    }
}
