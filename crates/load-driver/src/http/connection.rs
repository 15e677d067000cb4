//! One connection: its socket, its state, and the bytes that go out and come in. It knows no schedule and no counter.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::failure::Failure;
use super::response::{Answer, Partial, Verdict, Verifier};
use super::tally::Times;
use super::timers::NO_TIMER;

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No socket.
    Vacant,
    /// No socket until an instant, because the last one failed.
    BackOff,
    /// Waiting for the handshake.
    Connecting,
    /// Open, without a request.
    Idle,
    /// A part of the request is sent, and the socket takes no more for now.
    Sending,
    /// The request is sent, and its answer has not all come.
    Waiting,
    /// The answer has come; waiting for the server to close.
    Closing,
}

/// A slot for one socket after another. One cache line, because a run visits its connections in no order.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Connection {
    pub(super) socket: Option<OwnedFd>,
    /// Tells events of this socket from late events of the slot's former one.
    pub(super) generation: u32,
    sent_bytes: u32,
    pub(super) state: State,
    /// Whether a request is in flight, though it may wait for the handshake.
    pub(super) has_request: bool,
    /// Failures in a row, for the back-off.
    pub(super) failures: u8,
    pub(super) times: Times,
    /// The instant of the timer entry that counts.
    pub(super) timer_ns: u64,
    /// Connecting and closing: since when. Back-off: until when.
    pub(super) state_ns: u64,
    partial: Option<Box<Partial>>,
}

/// What came of reading.
#[derive(Debug)]
pub(super) enum Received {
    /// Nothing more for now.
    Nothing,
    /// The answer is complete, or will never be.
    Ended { verdict: Verdict, keep_alive: bool },
}

impl Connection {
    pub(super) fn vacant() -> Self {
        Self {
            socket: None,
            generation: 0,
            sent_bytes: 0,
            state: State::Vacant,
            has_request: false,
            failures: 0,
            times: Times::default(),
            timer_ns: NO_TIMER,
            state_ns: 0,
            partial: None,
        }
    }

    /// When something must happen if no event comes; none if nothing need. The request's own deadline is given.
    pub(super) fn deadline_ns(&self, request_ns: u64, timeout_ns: u64, closing_grace_ns: u64) -> Option<u64> {
        match self.state {
            State::BackOff => Some(self.state_ns),
            State::Closing => Some(self.state_ns.saturating_add(closing_grace_ns)),
            _ if self.has_request => Some(request_ns),
            State::Connecting => Some(self.state_ns.saturating_add(timeout_ns)),
            State::Vacant | State::Idle | State::Sending | State::Waiting => None,
        }
    }

    /// Closes the socket and forgets everything about it.
    pub(super) fn close(&mut self) {
        self.socket = None;
        self.generation = self.generation.wrapping_add(1);
        self.state = State::Vacant;
        self.partial = None;
    }

    /// Sends the request from its beginning.
    #[inline]
    pub(super) fn send(&mut self, request: &[u8]) -> Result<(), Failure> {
        self.sent_bytes = 0;
        self.send_more(request)
    }

    /// Sends what is left of the request, as far as the socket takes it.
    #[inline]
    pub(super) fn send_more(&mut self, request: &[u8]) -> Result<(), Failure> {
        let Some(socket) = &self.socket else { return Err(Failure::ClosedEarly) };
        loop {
            let left = &request[self.sent_bytes as usize..];
            // Without NOSIGNAL, a connection that the server has closed would end this process.
            match send(socket, left, SendFlags::NOSIGNAL) {
                Ok(sent) if sent == left.len() => {
                    self.state = State::Waiting;
                    return Ok(());
                }
                // A request target of 4 GiB is refused long before, by its server.
                Ok(sent) => self.sent_bytes += u32::try_from(sent).unwrap_or(u32::MAX),
                Err(Errno::AGAIN) => {
                    // The socket was registered for "writable" from the start, edge-triggered: it will tell.
                    self.state = State::Sending;
                    return Ok(());
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Failure::writing(errno)),
            }
        }
    }

    /// Reads what has come. `closing` says that epoll has seen the end of the stream or an error.
    #[inline]
    pub(super) fn receive(&mut self, verifier: &mut Verifier, buffer: &mut [u8], closing: bool) -> Received {
        let Some(socket) = &self.socket else { return Received::Nothing };
        loop {
            let length = match recv(socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => {
                    let failure = if self.partial.as_ref().is_some_and(|partial| !partial.is_empty()) {
                        Failure::ClosedInResponse
                    } else {
                        Failure::ClosedEarly
                    };
                    return Received::Ended { verdict: Verdict::Failed(failure), keep_alive: false };
                }
                Ok((length, _)) => length,
                Err(Errno::AGAIN) => return Received::Nothing,
                Err(Errno::INTR) => continue,
                Err(errno) => {
                    let verdict = Verdict::Failed(Failure::reading(errno));
                    return Received::Ended { verdict, keep_alive: false };
                }
            };
            match verifier.take(&buffer[..length], &mut self.partial) {
                Answer::Done { verdict, keep_alive } => {
                    return Received::Ended { verdict, keep_alive: keep_alive && !closing };
                }
                // A short read has emptied the socket, and whatever comes after it makes a new event. Only an end of
                // stream that came before this event makes none.
                Answer::Incomplete if length < buffer.len() && !closing => return Received::Nothing,
                Answer::Incomplete => {}
            }
        }
    }

    /// Throws away what has come. Says whether the stream has ended.
    pub(super) fn discard(&mut self, buffer: &mut [u8]) -> Discarded {
        let Some(socket) = &self.socket else { return Discarded::Ended };
        match recv(socket, buffer, RecvFlags::empty()) {
            Ok((0, _)) => Discarded::Ended,
            Ok(_) => Discarded::Bytes,
            Err(Errno::AGAIN | Errno::INTR) => Discarded::Nothing,
            Err(_) => Discarded::Ended,
        }
    }
}

/// What an unwanted read met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Discarded {
    Nothing,
    Bytes,
    Ended,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_one_cache_line() {
        // Two lines would double the cache misses of a run with thousands of connections.
        assert_eq!(size_of::<Connection>(), 64);
    }
}
