//! The loop: waits for readiness, answers and deadlines, and carries each connection on.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use execution_model::server::{Connection, ServerState, Work};
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::net::{SocketFlags, accept_with};
use slab::Slab;

use crate::mailbox::{Letter, Mailbox};
use crate::peer::{Driven, Peer, PeerState, READ_BYTES, Watched};
use crate::{Executor, Reply, Task};

/// How often time limits are looked at. They are seconds long, so this is exact enough.
const SWEEP: Duration = Duration::from_millis(250);
/// How many events are taken from the kernel at once.
const EVENTS: usize = 1024;
/// How many connections are accepted before others have their turn.
const ACCEPTS: usize = 64;
const LISTENER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;

pub(crate) struct EventLoop<E> {
    epoll: OwnedFd,
    listener: Option<TcpListener>,
    /// When to accept again after accepting failed.
    accept_again: Option<Instant>,
    mailbox: Mailbox,
    peers: Slab<Peer>,
    state: Arc<ServerState>,
    executor: E,
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
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, mailbox.bell(), EventData::new_u64(BELL), EventFlags::IN)?;
        Ok(EventLoop {
            epoll,
            listener: Some(listener),
            accept_again: None,
            mailbox,
            peers: Slab::new(),
            state,
            executor,
            next_sweep: Instant::now() + SWEEP,
        })
    }

    /// Runs until the server is draining and the last connection has closed.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut buffer = Box::new([0; READ_BYTES]);
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        let mut letters = Vec::new();
        while self.listener.is_some() || !self.peers.is_empty() {
            self.sleep(&mut events)?;
            let now = Instant::now();
            for event in events.drain(..) {
                match event.data.u64() {
                    LISTENER => self.accept(now),
                    BELL => self.mailbox.silence(),
                    key => self.ready(usize::try_from(key).expect("keys are indices"), &mut buffer, now),
                }
            }
            self.executor.wake(now);
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
        let wake = self.executor.next_wake().map_or(self.next_sweep, |wake| wake.min(self.next_sweep));
        let awake = self.mailbox.fall_asleep();
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
        let key = self.peers.insert(Peer::new(stream, open, now));
        self.settle(key, Driven::Waits);
    }

    /// A socket is ready for what it is watched for.
    fn ready(&mut self, key: usize, buffer: &mut [u8; READ_BYTES], now: Instant) {
        // An earlier event of the same batch may have closed it.
        let Some(peer) = self.peers.get_mut(key) else { return };
        let driven = match peer.state {
            PeerState::Reading(_) => peer.read(buffer, now),
            PeerState::Writing(_) => peer.drive(now),
            PeerState::Running => {
                // The peer speaks or hangs up before it has its answer. It is heard after that.
                let _watched = epoll::delete(&self.epoll, &peer.stream);
                peer.watched = Watched::Nothing;
                return;
            }
        };
        self.settle(key, driven);
    }

    fn deliver(&mut self, letters: &mut Vec<Letter>, now: Instant) {
        loop {
            self.mailbox.wake_up(letters);
            if letters.is_empty() {
                return;
            }
            for (key, answer) in letters.drain(..) {
                // A connection that runs is never removed, so the key is still its own.
                let driven = self.peers[key].answered(answer, now);
                self.settle(key, driven);
            }
        }
    }

    /// Does what driving a connection asks for.
    fn settle(&mut self, key: usize, driven: Driven) {
        match driven {
            Driven::Waits => self.watch(key),
            Driven::Work(work) => self.hand_over(key, work),
            Driven::Over => drop(self.peers.remove(key)),
        }
    }

    fn hand_over(&mut self, key: usize, work: Work) {
        let reply = Reply { to: Some((self.mailbox.sender(), key)) };
        self.executor.execute(Task { work, reply });
    }

    /// Makes epoll watch a socket for what its connection waits for, if it does not already.
    fn watch(&mut self, key: usize) {
        let peer = &mut self.peers[key];
        let wanted = peer.wanted();
        if wanted == peer.watched {
            return;
        }
        let flags = if wanted == Watched::Writable { EventFlags::OUT } else { EventFlags::IN };
        let data = EventData::new_u64(key as u64);
        let changed = if peer.watched == Watched::Nothing {
            epoll::add(&self.epoll, &peer.stream, data, flags)
        } else {
            epoll::modify(&self.epoll, &peer.stream, data, flags)
        };
        match changed {
            Ok(()) => peer.watched = wanted,
            // The kernel has no memory for the watch: the connection cannot go on.
            Err(_) => {
                self.state.connection_unstartable();
                self.peers.remove(key);
            }
        }
    }

    /// Looks at every connection's time limit, and at whether to accept again.
    fn sweep(&mut self, now: Instant) {
        self.next_sweep = now + SWEEP;
        if let (Some(at), Some(listener)) = (self.accept_again, &self.listener)
            && now >= at
            && epoll::add(&self.epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN).is_ok()
        {
            self.accept_again = None;
        }
        self.for_each(|peer| peer.check_time(now));
    }

    fn stop_listening(&mut self, now: Instant) {
        self.listener = None;
        self.for_each(|peer| peer.check_drain(now));
    }

    fn for_each(&mut self, mut look: impl FnMut(&mut Peer) -> Driven) {
        let keys: Vec<usize> = self.peers.iter().map(|(key, _)| key).collect();
        for key in keys {
            let driven = look(&mut self.peers[key]);
            self.settle(key, driven);
        }
    }
}
