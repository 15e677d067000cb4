//! The life of one connection as a state machine: bytes in, what to do next out. It does no I/O, so
//! that each runtime reads, waits and writes with its own primitives, around the same decisions.

mod reply;
mod route;

use std::io;
use std::mem;
use std::time::{Duration, Instant};

use workload::http::{self, ContentType, HEAD_BYTES_MAX, Parsed, Status, Target};
use workload::{Answer, Job};

pub use self::reply::OwnAnswer;
use self::reply::Reply;
use crate::panic::Panicked;
use crate::server::state::{OpenConnection, Place, ServerState, Service};

/// Output past which answers to pipelined requests are sent before more are read.
const OUTPUT_BYTES_MAX: usize = 16 * 1024;
/// How long a peer that was refused may go on sending before the connection is closed on it.
const LINGER: Duration = Duration::from_secs(1);
/// The least time limit of a read: zero would mean "no limit" to a socket.
const LEAST_LIMIT: Duration = Duration::from_millis(1);

/// What to do next with a connection.
#[derive(Debug)]
pub enum Next {
    /// Wait for bytes, for at most so long, then call [`Connection::received`], [`Connection::peer_closed`]
    /// or [`Connection::timed_out`].
    Read(Duration),
    /// Carry a job out, then call [`Connection::answered`], or [`Connection::turned_away`].
    Run(Work),
    /// Send [`Connection::output`], then call [`Connection::written`]. Where the peer does not take it at once, wait for
    /// at most [`Connection::time_to_write`].
    Write,
    /// Shut the sending side down, and go on.
    HalfClose,
    /// Close it.
    Close,
}

/// A job with its place among those that the server has accepted.
#[derive(Debug)]
pub struct Work {
    job: Job,
    place: Place,
}

impl Work {
    /// Begins the service: the queue wait is over.
    #[must_use]
    #[inline]
    pub fn begin(self) -> (Job, Service) {
        (self.job, self.place.begin())
    }
}

/// One connection between its bytes.
#[derive(Debug)]
pub struct Connection {
    open: OpenConnection,
    /// What was read off the front of what came, before anything that is in `input`.
    parsed: Option<Parsed>,
    input: Vec<u8>,
    /// How much of `input` has been used up by requests.
    used: usize,
    output: Vec<u8>,
    /// How much of `output` has been sent.
    sent: usize,
    /// When `output` must have been taken whole, once the peer has made it wait.
    write_deadline: Option<Instant>,
    /// When the request that is partly here must be here whole.
    request_deadline: Option<Instant>,
    /// How to answer the job that was handed out.
    running: Option<Reply>,
    /// Nothing more will come from the peer.
    peer_closed: bool,
    ending: Ending,
}

/// How far the end of a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It goes on.
    No,
    /// It ends when its output is sent.
    AfterOutput,
    /// As before, but what the peer still sends is awaited and thrown away. Closing a socket with
    /// bytes unread resets the connection, and the peer would lose the answer (RFC 9112, section 9.6).
    AfterOutputLinger,
    /// The sending side is shut down, and the peer's last bytes are thrown away until this instant.
    Lingering(Instant),
}

impl Connection {
    /// A connection on which nothing has happened. It holds no buffer until bytes come.
    #[must_use]
    pub fn new(open: OpenConnection) -> Connection {
        Connection {
            open,
            parsed: None,
            input: Vec::new(),
            used: 0,
            output: Vec::new(),
            sent: 0,
            write_deadline: None,
            request_deadline: None,
            running: None,
            peer_closed: false,
            ending: Ending::No,
        }
    }

    /// Uses up what has come as far as possible, and says what to do next.
    ///
    /// # Panics
    ///
    /// A job was handed out and has not been answered.
    #[must_use]
    pub fn advance(&mut self) -> Next {
        self.advance_with(|_| None)
    }

    /// As [`advance`](Connection::advance), for a server that has answers of its own: what `own` gives for a target is
    /// sent, and what it leaves is answered as anywhere. It may block for an image.
    ///
    /// # Panics
    ///
    /// A job was handed out and has not been answered.
    #[must_use]
    pub fn advance_with(&mut self, mut own: impl FnMut(&Target) -> Option<OwnAnswer>) -> Next {
        assert!(self.running.is_none(), "a job is running: call answered first");
        loop {
            if self.output.len() - self.sent > OUTPUT_BYTES_MAX
                || (self.ending != Ending::No && !self.output.is_empty())
            {
                return Next::Write;
            }
            if self.ending != Ending::No {
                return self.end();
            }
            let parsed = match self.parsed.take() {
                Some(parsed) => parsed,
                None if self.input.is_empty() => Parsed::Partial,
                None => http::parse(&self.input[self.used..]),
            };
            match parsed {
                Parsed::Request(request) => {
                    let takes_time = match &request.target {
                        Target::Run(job) => !job.plan.steps().is_empty(),
                        Target::Image(_) => true,
                        _ => false,
                    };
                    if takes_time && !self.output.is_empty() {
                        // Whoever asked before must not wait for this one.
                        return Next::Write;
                    }
                    self.use_up(request.bytes);
                    if let Some(work) = self.route(request, &mut own) {
                        return Next::Run(work);
                    }
                }
                Parsed::Refused(refusal) => {
                    self.use_up(self.input.len() - self.used);
                    self.refuse(Reply::CLOSE, refusal.status, &refusal.reason);
                    self.ending = Ending::AfterOutputLinger;
                }
                Parsed::Partial if !self.output.is_empty() => return Next::Write,
                Parsed::Partial => return self.wait_for_more(),
            }
        }
    }

    /// Bytes came.
    pub fn received(&mut self, bytes: &[u8]) {
        if self.ending != Ending::No {
            return;
        }
        let mut rest = bytes;
        if self.is_idle() {
            // Most requests come whole and alone. They are read where they are, and never kept.
            match http::parse(bytes) {
                Parsed::Partial => {}
                Parsed::Request(mut request) => {
                    rest = &bytes[mem::take(&mut request.bytes)..];
                    self.parsed = Some(Parsed::Request(request));
                }
                refused @ Parsed::Refused(_) => {
                    rest = &[];
                    self.parsed = Some(refused);
                }
            }
            self.input.reserve_exact(rest.len());
        }
        self.input.extend_from_slice(rest);
    }

    /// The peer has closed its sending side: what it asked for whole is still answered.
    pub fn peer_closed(&mut self) {
        self.peer_closed = true;
    }

    /// The time that [`Next::Read`] gave has passed without a byte. A request that is partly here is
    /// answered 408; an idle connection is closed without a word.
    pub fn timed_out(&mut self) {
        if self.input.is_empty() {
            self.ending = Ending::AfterOutput;
        } else {
            self.use_up(self.input.len() - self.used);
            self.refuse(Reply::CLOSE, Status::RequestTimeout, "the request did not arrive whole in time");
            self.ending = Ending::AfterOutputLinger;
        }
    }

    /// The job that [`Next::Run`] gave has ended.
    ///
    /// # Panics
    ///
    /// No job was running.
    pub fn answered(&mut self, answer: Result<Answer, Panicked>) {
        let reply = self.running.take().expect("a job was handed out");
        match answer {
            Ok(answer) => {
                let closes = self.closes(reply);
                http::write_answer(&mut self.output, answer, &reply.response(closes));
            }
            Err(panicked) => {
                self.respond(
                    reply,
                    Status::InternalError,
                    ContentType::Text,
                    format!("{panicked}\n").as_bytes(),
                );
            }
        }
    }

    /// The job that [`Next::Run`] gave could not be started: its `work` was dropped unbegun.
    ///
    /// # Panics
    ///
    /// No job was running.
    pub fn turned_away(&mut self, reason: &str) {
        let reply = self.running.take().expect("a job was handed out");
        self.respond(reply, Status::Unavailable, ContentType::Text, format!("{reason}\n").as_bytes());
    }

    /// The bytes to send.
    #[must_use]
    #[inline]
    pub fn output(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// `bytes` of the output have been sent.
    #[inline]
    pub fn written(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent == self.output.len() {
            self.output = Vec::new();
            self.sent = 0;
            self.write_deadline = None;
        }
    }

    /// How long the peer may still take to take the output whole, of the request time limit since it first made it
    /// wait: a peer that takes a byte now and then gains nothing by it.
    ///
    /// # Errors
    ///
    /// Its time is up: the connection is to be closed.
    pub fn time_to_write(&mut self) -> io::Result<Duration> {
        let now = Instant::now();
        let limit = self.state().limits().request;
        let left = self.write_deadline.get_or_insert(now + limit).saturating_duration_since(now);
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left.max(LEAST_LIMIT)) }
    }

    /// Whether nothing is under way: no request is partly here, running or being answered. Such a
    /// connection may be closed when the server drains.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.running.is_none() && self.parsed.is_none() && self.input.is_empty() && self.output.is_empty()
    }

    /// The state of the server that the connection belongs to.
    #[must_use]
    pub fn state(&self) -> &ServerState {
        self.open.state()
    }

    /// What a connection over the limit is sent before it is closed.
    #[must_use]
    pub fn over_limit() -> Vec<u8> {
        reply::over_limit()
    }

    fn end(&mut self) -> Next {
        match self.ending {
            Ending::AfterOutputLinger => {
                self.ending = Ending::Lingering(Instant::now() + LINGER);
                Next::HalfClose
            }
            Ending::Lingering(until) if !self.peer_closed => {
                match until.checked_duration_since(Instant::now()) {
                    Some(left) if !left.is_zero() => Next::Read(left.max(LEAST_LIMIT)),
                    _ => Next::Close,
                }
            }
            _ => Next::Close,
        }
    }

    fn wait_for_more(&mut self) -> Next {
        if self.peer_closed {
            return Next::Close;
        }
        let limits = *self.state().limits();
        if self.input.is_empty() {
            return if self.state().is_draining() { Next::Close } else { Next::Read(limits.idle) };
        }
        let now = Instant::now();
        let deadline = *self.request_deadline.get_or_insert(now + limits.request);
        Next::Read(deadline.saturating_duration_since(now).max(LEAST_LIMIT))
    }

    fn use_up(&mut self, bytes: usize) {
        self.used += bytes;
        self.request_deadline = None;
        if self.used == self.input.len() {
            self.input = Vec::new();
            self.used = 0;
        } else if self.used > HEAD_BYTES_MAX {
            self.input.drain(..self.used);
            self.used = 0;
        }
    }
}

#[cfg(test)]
mod tests;
