//! One connection with its socket: reads, writes and what it waits for.

use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use execution_model::server::{Connection, Next, OpenConnection, READ_BYTES};
use execution_model::{Answer, Panicked};
use rustix::event::epoll::EventFlags;
use rustix::io::{self, Errno};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::mailbox::Sender;
use crate::{Asker, Executor, Taken};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driven {
    /// It waits, as its state says.
    Waits,
    /// It has more to read, and others have their turn first.
    Again,
    /// It is over.
    Over,
}

/// A connection's turn on the loop: what the loop lends to each, one at a time.
pub(crate) struct Turn<'a, E> {
    pub(crate) key: usize,
    pub(crate) now: Instant,
    pub(crate) buffer: &'a mut [u8; READ_BYTES],
    pub(crate) executor: &'a mut E,
    pub(crate) sender: &'a Sender,
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
    pub(crate) fn ready<E: Executor>(&mut self, flags: EventFlags, turn: &mut Turn<'_, E>) -> Driven {
        let over = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        self.hung_up |= flags.intersects(over);
        self.readable |= flags.intersects(over | EventFlags::IN);
        match self.state {
            PeerState::Reading(_) if self.readable => self.drive(turn),
            PeerState::Writing(_) if flags.intersects(over | EventFlags::OUT) => self.drive(turn),
            _ => Driven::Waits,
        }
    }

    /// Takes the connection on until it waits.
    fn drive<E: Executor>(&mut self, turn: &mut Turn<'_, E>) -> Driven {
        let mut reads = 0;
        loop {
            match self.connection.advance() {
                Next::Read(limit) => {
                    self.state = PeerState::Reading(turn.now + limit);
                    if !self.readable {
                        return Driven::Waits;
                    }
                    if reads == READS {
                        return Driven::Again;
                    }
                    reads += 1;
                    if self.read(turn.buffer).is_err() {
                        return Driven::Over;
                    }
                }
                Next::Run(work) => {
                    let asker = Asker { sender: turn.sender, key: turn.key };
                    match turn.executor.execute(work, &asker) {
                        Taken::Answered(answer) => self.connection.answered(answer),
                        Taken::Later => {
                            self.state = PeerState::Running;
                            return Driven::Waits;
                        }
                    }
                }
                Next::Write => match send(&self.stream, self.connection.output(), SendFlags::NOSIGNAL) {
                    Ok(bytes) => self.connection.written(bytes),
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => {
                        let Ok(left) = self.connection.time_to_write() else { return Driven::Over };
                        self.state = PeerState::Writing(turn.now + left);
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
        match recv(&self.stream, &mut buffer[..], RecvFlags::empty()) {
            Ok((_, 0)) => self.connection.peer_closed(),
            Ok((_, bytes)) => {
                // Less than there was room for: the socket is empty, and epoll tells when that changes.
                self.readable = bytes == buffer.len() || self.hung_up;
                self.connection.received(&buffer[..bytes]);
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => self.readable = false,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The answer to its task has come, or none because the task was dropped.
    pub(crate) fn answered<E: Executor>(
        &mut self,
        answer: Option<Result<Answer, Panicked>>,
        turn: &mut Turn<'_, E>,
    ) -> Driven {
        match answer {
            Some(answer) => self.connection.answered(answer),
            None => self.connection.turned_away("the queue of requests is full, or the server is ending"),
        }
        self.drive(turn)
    }

    /// Looks whether its time is up.
    pub(crate) fn check_time<E: Executor>(&mut self, turn: &mut Turn<'_, E>) -> Driven {
        match self.state {
            PeerState::Reading(deadline) if turn.now >= deadline => {
                self.connection.timed_out();
                self.drive(turn)
            }
            PeerState::Writing(deadline) if turn.now >= deadline => Driven::Over,
            _ => Driven::Waits,
        }
    }

    /// Looks whether a drain lets it go: an idle connection closes.
    pub(crate) fn check_drain<E: Executor>(&mut self, turn: &mut Turn<'_, E>) -> Driven {
        if self.connection.is_idle() && matches!(self.state, PeerState::Reading(_)) {
            self.drive(turn)
        } else {
            Driven::Waits
        }
    }
}
