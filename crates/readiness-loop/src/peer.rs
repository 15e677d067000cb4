//! One connection with its socket: reads, writes and what it waits for.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use execution_model::server::{Connection, Next, OpenConnection, Work};

/// How many bytes are read at once.
pub(crate) const READ_BYTES: usize = 16 * 1024;

/// A connection and its socket.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    connection: Connection,
    pub(crate) state: PeerState,
    /// What epoll watches the socket for, if anything.
    pub(crate) watched: Watched,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerState {
    /// For bytes, until this instant.
    Reading(Instant),
    /// For room to write, until this instant.
    Writing(Instant),
    /// For the answer to a task.
    Running,
}

/// What epoll watches a socket for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    Nothing,
    Readable,
    Writable,
}

/// What came of driving a connection.
#[derive(Debug)]
pub(crate) enum Driven {
    /// It waits, as its state says.
    Waits,
    /// It has work to be handed over; it then waits for the answer.
    Work(Work),
    /// It is over.
    Over,
}

impl Peer {
    pub(crate) fn new(stream: TcpStream, open: OpenConnection, now: Instant) -> Peer {
        let limit = open.state().limits().idle;
        Peer {
            stream,
            connection: Connection::new(open),
            state: PeerState::Reading(now + limit),
            watched: Watched::Nothing,
        }
    }

    /// The socket is readable: reads once. Level-triggered readiness tells of more.
    pub(crate) fn read(&mut self, buffer: &mut [u8; READ_BYTES], now: Instant) -> Driven {
        match self.stream.read(buffer) {
            Ok(0) => self.connection.peer_closed(),
            Ok(bytes) => self.connection.received(&buffer[..bytes]),
            Err(error) if is_transient(&error) => return Driven::Waits,
            Err(_) => return Driven::Over,
        }
        self.drive(now)
    }

    /// Takes the connection on until it waits.
    pub(crate) fn drive(&mut self, now: Instant) -> Driven {
        loop {
            match self.connection.advance() {
                Next::Read(limit) => {
                    self.state = PeerState::Reading(now + limit);
                    return Driven::Waits;
                }
                Next::Run(work) => {
                    self.state = PeerState::Running;
                    return Driven::Work(work);
                }
                Next::Write => match self.stream.write(self.connection.output()) {
                    Ok(bytes) => self.connection.written(bytes),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        self.state = PeerState::Writing(now + self.connection.state().limits().request);
                        return Driven::Waits;
                    }
                    Err(_) => return Driven::Over,
                },
                Next::HalfClose => {
                    if self.stream.shutdown(Shutdown::Write).is_err() {
                        return Driven::Over;
                    }
                }
                Next::Close => return Driven::Over,
            }
        }
    }

    /// The answer to its task has come, or none because the task was dropped.
    pub(crate) fn answered(
        &mut self,
        answer: Option<Result<execution_model::Answer, execution_model::Panicked>>,
        now: Instant,
    ) -> Driven {
        match answer {
            Some(answer) => self.connection.answered(answer),
            None => self.connection.turned_away("the queue of requests is full, or the server is ending"),
        }
        self.drive(now)
    }

    /// Looks whether its time is up.
    pub(crate) fn check_time(&mut self, now: Instant) -> Driven {
        match self.state {
            PeerState::Reading(deadline) if now >= deadline => {
                self.connection.timed_out();
                self.drive(now)
            }
            PeerState::Writing(deadline) if now >= deadline => Driven::Over,
            _ => Driven::Waits,
        }
    }

    /// Looks whether a drain lets it go: an idle connection closes.
    pub(crate) fn check_drain(&mut self, now: Instant) -> Driven {
        if self.connection.is_idle() && matches!(self.state, PeerState::Reading(_)) {
            self.drive(now)
        } else {
            Driven::Waits
        }
    }

    /// What epoll should watch the socket for, given what the connection waits for.
    pub(crate) fn wanted(&self) -> Watched {
        match self.state {
            PeerState::Reading(_) => Watched::Readable,
            PeerState::Writing(_) => Watched::Writable,
            // Whatever is watched stays so: most answers come before the peer says another word.
            PeerState::Running => self.watched,
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
