//! The loop: waits for readiness, answers and deadlines, and carries each connection on.

use std::io;
use std::mem;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use execution_model::server::{Connection, READ_BYTES, ServerState};
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::net::{SocketFlags, accept_with};
use slab::Slab;

use crate::Executor;
use crate::mailbox::{Letter, Mailbox, Sender};
use crate::peer::{Driven, Peer, Turn};
use crate::tick::Ticker;

/// How often time limits are looked at. They are seconds long, so this is exact enough.
const SWEEP: Duration = Duration::from_millis(250);
/// How many events are taken from the kernel at once.
const EVENTS: usize = 1024;
/// How many connections are accepted before others have their turn.
const ACCEPTS: usize = 64;
/// Where several processes watch one listener, a connection wakes one of them and not all.
const ACCEPTABLE: EventFlags = EventFlags::IN.union(EventFlags::EXCLUSIVE);
const LISTENER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;

pub(crate) struct EventLoop<E> {
    epoll: OwnedFd,
    listener: Option<TcpListener>,
    /// When to accept again after accepting failed.
    accept_again: Option<Instant>,
    mailbox: Mailbox,
    sender: Sender,
    peers: Slab<Peer>,
    /// Connections that have more to read.
    again: Vec<usize>,
    /// What all connections read into, one at a time.
    buffer: Box<[u8; READ_BYTES]>,
    state: Arc<ServerState>,
    executor: E,
    ticker: Ticker,
    next_sweep: Instant,
}

impl<E: Executor> EventLoop<E> {
    pub(crate) fn new(
        listener: TcpListener,
        mailbox: Mailbox,
        state: Arc<ServerState>,
        executor: E,
    ) -> io::Result<EventLoop<E>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        listener.set_nonblocking(true)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), ACCEPTABLE)?;
        epoll::add(&epoll, mailbox.bell(), EventData::new_u64(BELL), EventFlags::IN)?;
        Ok(EventLoop {
            epoll,
            listener: Some(listener),
            accept_again: None,
            sender: mailbox.sender(),
            mailbox,
            peers: Slab::new(),
            again: Vec::new(),
            buffer: Box::new([0; READ_BYTES]),
            ticker: Ticker::new(&state),
            state,
            executor,
            next_sweep: Instant::now() + SWEEP,
        })
    }

    /// Runs until the server is draining and the last connection has closed.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        let mut letters = Vec::new();
        while self.listener.is_some() || !self.peers.is_empty() {
            self.sleep(&mut events)?;
            let now = Instant::now();
            for event in events.drain(..) {
                match event.data.u64() {
                    LISTENER => self.accept(now),
                    BELL => self.mailbox.silence(),
                    key => {
                        let key = usize::try_from(key).expect("keys are indices");
                        self.turn(key, now, |peer, turn| peer.ready(event.flags, turn));
                    }
                }
            }
            self.go_on_reading(now);
            self.executor.wake(now);
            if let Some(tick) = self.ticker.tick(now) {
                self.executor.tick(tick);
            }
            self.deliver(&mut letters, now);
            if now >= self.next_sweep {
                self.sweep(now);
            }
            if self.state.is_draining() && self.listener.is_some() {
                self.stop_listening(now);
            }
        }
        Ok(())
    }

    fn sleep(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        let own = self.next_sweep.min(self.ticker.next());
        let wake = self.executor.next_wake().map_or(own, |wake| wake.min(own));
        let awake = self.mailbox.fall_asleep() || !self.again.is_empty();
        let left = if awake { Duration::ZERO } else { wake.saturating_duration_since(Instant::now()) };
        let limit = Timespec { tv_sec: 0, tv_nsec: left.min(SWEEP).subsec_nanos().into() };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTS {
            let Some(listener) = &self.listener else { return };
            match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => self.open(TcpStream::from(socket), now),
                Err(rustix::io::Errno::AGAIN) => return,
                Err(error) => {
                    let pause = self.state.accept_failed(&error.into());
                    if !pause.is_zero() {
                        // The listener stays readable: without this the loop would spin.
                        let _watched = epoll::delete(&self.epoll, listener);
                        self.accept_again = Some(now + pause);
                        self.next_sweep = self.next_sweep.min(now + pause);
                        return;
                    }
                }
            }
        }
    }

    fn open(&mut self, stream: TcpStream, now: Instant) {
        let Some(open) = self.state.open_connection() else {
            // One try, without waiting: the peer may be the reason why the limit is reached.
            let _best_effort = rustix::io::write(&stream, &Connection::over_limit());
            return;
        };
        let entry = self.peers.vacant_entry();
        // Registered once, for every change: no system call a request is spent on epoll's behalf.
        let changes = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let watched = epoll::add(&self.epoll, &stream, EventData::new_u64(entry.key() as u64), changes);
        if watched.is_ok() {
            entry.insert(Peer::new(stream, open, now));
        } else {
            // The kernel has no memory for the watch: the connection cannot go on.
            self.state.connection_unstartable();
        }
    }

    fn go_on_reading(&mut self, now: Instant) {
        for key in mem::take(&mut self.again) {
            self.turn(key, now, |peer, turn| peer.ready(EventFlags::empty(), turn));
        }
    }

    fn deliver(&mut self, letters: &mut Vec<Letter>, now: Instant) {
        loop {
            self.mailbox.wake_up(letters);
            if letters.is_empty() {
                return;
            }
            for (key, answer) in letters.drain(..) {
                // A connection that runs is never removed, so the key is still its own.
                self.turn(key, now, |peer, turn| peer.answered(answer, turn));
            }
        }
    }

    /// Gives a connection its turn, if it is still there: an earlier event of the same batch may have closed it.
    fn turn(&mut self, key: usize, now: Instant, take: impl FnOnce(&mut Peer, &mut Turn<'_, E>) -> Driven) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        let (buffer, executor, sender) = (&mut *self.buffer, &mut self.executor, &self.sender);
        match take(peer, &mut Turn { key, now, buffer, executor, sender }) {
            Driven::Waits => {}
            Driven::Again => self.again.push(key),
            Driven::Over => drop(self.peers.remove(key)),
        }
    }

    /// Looks at every connection's time limit, and at whether to accept again.
    fn sweep(&mut self, now: Instant) {
        self.next_sweep = now + SWEEP;
        if let (Some(at), Some(listener)) = (self.accept_again, &self.listener)
            && now >= at
            && epoll::add(&self.epoll, listener, EventData::new_u64(LISTENER), ACCEPTABLE).is_ok()
        {
            self.accept_again = None;
        }
        self.for_each(now, Peer::check_time);
    }

    fn stop_listening(&mut self, now: Instant) {
        self.listener = None;
        self.for_each(now, Peer::check_drain);
    }

    fn for_each(&mut self, now: Instant, look: impl Fn(&mut Peer, &mut Turn<'_, E>) -> Driven) {
        let keys: Vec<usize> = self.peers.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.turn(key, now, &look);
        }
    }
}
