//! One connection with its socket: reads, writes and what it waits for.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use execution_model::server::{Connection, Next, OpenConnection, Work};
use execution_model::{Answer, Panicked};
use rustix::event::epoll::EventFlags;

/// How many bytes are read at once.
pub(crate) const READ_BYTES: usize = 16 * 1024;
/// How often a connection reads before others have their turn.
const READS: u32 = 8;

/// A connection and its socket.
#[derive(Debug)]
pub(crate) struct Peer {
    stream: TcpStream,
    connection: Connection,
    state: PeerState,
    /// Whether a read may find something. epoll tells of changes only, so this remembers.
    readable: bool,
    /// Whether the peer has closed its side: no further change will tell of the end of the stream.
    hung_up: bool,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerState {
    /// For bytes, until this instant.
    Reading(Instant),
    /// For room to write, until this instant.
    Writing(Instant),
    /// For the answer to a task.
    Running,
}

/// What came of driving a connection.
#[derive(Debug)]
pub(crate) enum Driven {
    /// It waits, as its state says.
    Waits,
    /// It has more to read, and others have their turn first.
    Again,
    /// It has work to be handed over; it then waits for the answer.
    Work(Work),
    /// It is over.
    Over,
}

impl Peer {
    /// A connection that has just been accepted. Its first bytes may be here already.
    pub(crate) fn new(stream: TcpStream, open: OpenConnection, now: Instant) -> Peer {
        let limit = open.state().limits().idle;
        Peer {
            stream,
            connection: Connection::new(open),
            state: PeerState::Reading(now + limit),
            readable: false,
            hung_up: false,
        }
    }

    /// The socket has changed. A connection that waits for something else is told later, by its own state.
    pub(crate) fn ready(&mut self, flags: EventFlags, buffer: &mut [u8; READ_BYTES], now: Instant) -> Driven {
        let over = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        self.hung_up |= flags.intersects(over);
        self.readable |= flags.intersects(over | EventFlags::IN);
        match self.state {
            PeerState::Reading(_) if self.readable => self.drive(buffer, now),
            PeerState::Writing(_) if flags.intersects(over | EventFlags::OUT) => self.drive(buffer, now),
            _ => Driven::Waits,
        }
    }

    /// Takes the connection on until it waits.
    pub(crate) fn drive(&mut self, buffer: &mut [u8; READ_BYTES], now: Instant) -> Driven {
        let mut reads = 0;
        loop {
            match self.connection.advance() {
                Next::Read(limit) => {
                    self.state = PeerState::Reading(now + limit);
                    if !self.readable {
                        return Driven::Waits;
                    }
                    if reads == READS {
                        return Driven::Again;
                    }
                    reads += 1;
                    if self.read(buffer).is_err() {
                        return Driven::Over;
                    }
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

    fn read(&mut self, buffer: &mut [u8; READ_BYTES]) -> io::Result<()> {
        match self.stream.read(buffer) {
            Ok(0) => self.connection.peer_closed(),
            Ok(bytes) => {
                // Less than there was room for: the socket is empty, and epoll tells when that changes.
                self.readable = bytes == buffer.len() || self.hung_up;
                self.connection.received(&buffer[..bytes]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.readable = false,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The answer to its task has come, or none because the task was dropped.
    pub(crate) fn answered(
        &mut self,
        answer: Option<Result<Answer, Panicked>>,
        buffer: &mut [u8; READ_BYTES],
        now: Instant,
    ) -> Driven {
        match answer {
            Some(answer) => self.connection.answered(answer),
            None => self.connection.turned_away("the queue of requests is full, or the server is ending"),
        }
        self.drive(buffer, now)
    }

    /// Looks whether its time is up.
    pub(crate) fn check_time(&mut self, buffer: &mut [u8; READ_BYTES], now: Instant) -> Driven {
        match self.state {
            PeerState::Reading(deadline) if now >= deadline => {
                self.connection.timed_out();
                self.drive(buffer, now)
            }
            PeerState::Writing(deadline) if now >= deadline => Driven::Over,
            _ => Driven::Waits,
        }
    }

    /// Looks whether a drain lets it go: an idle connection closes.
    pub(crate) fn check_drain(&mut self, buffer: &mut [u8; READ_BYTES], now: Instant) -> Driven {
        if self.connection.is_idle() && matches!(self.state, PeerState::Reading(_)) {
            self.drive(buffer, now)
        } else {
            Driven::Waits
        }
    }
}
