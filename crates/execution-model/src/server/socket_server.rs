//! The end of a server whose connections wait on sockets of their own: how a drain wakes them.
//!
//! A connection that waits for its next request must learn of a drain, without a look at a flag or a
//! second thing to wait for on every request. Shutting down the receiving side of its socket does it in
//! every model alike: the read that waits returns "end of stream".

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use rustix::net::Shutdown;
use slab::Slab;

use crate::ending::wait_until;
use crate::runtime::Server;
use crate::server::state::ServerState;

/// The sockets of a server's open connections.
#[derive(Debug)]
pub struct Sockets<S> {
    open: Mutex<Open<S>>,
}

#[derive(Debug)]
struct Open<S> {
    sockets: Slab<Arc<S>>,
    draining: bool,
}

impl<S: AsFd> Sockets<S> {
    /// No connection yet.
    #[must_use]
    pub fn new() -> Arc<Sockets<S>> {
        Arc::new(Sockets { open: Mutex::new(Open { sockets: Slab::new(), draining: false }) })
    }

    /// Adds a connection's socket. Pass the key to [`remove`](Sockets::remove) when it closes.
    #[must_use]
    pub fn insert(&self, socket: &Arc<S>) -> usize {
        let mut open = self.lock();
        if open.draining {
            end_of_stream(socket);
        }
        open.sockets.insert(Arc::clone(socket))
    }

    /// Forgets a connection's socket.
    pub fn remove(&self, key: usize) {
        self.lock().sockets.remove(key);
    }

    fn drain(&self) {
        let mut open = self.lock();
        open.draining = true;
        for (_, socket) in &open.sockets {
            end_of_stream(socket);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open<S>> {
        self.open.lock().expect("nothing panics under this lock")
    }
}

fn end_of_stream<S: AsFd>(socket: &Arc<S>) {
    // It fails where the peer has reset the connection, which ends the wait as well.
    let _already_over = rustix::net::shutdown(socket.as_ref(), Shutdown::Read);
}

/// A server that is up: a listener `L` and connections on sockets `S`.
#[derive(Debug)]
pub struct SocketServer<L, S> {
    address: SocketAddr,
    state: Arc<ServerState>,
    listener: Arc<L>,
    sockets: Arc<Sockets<S>>,
}

impl<L: AsFd, S: AsFd> SocketServer<L, S> {
    /// The server of an accept loop that runs elsewhere and returns when accepting fails while
    /// `state` is draining.
    ///
    /// # Errors
    ///
    /// The listener's address cannot be read.
    pub fn new(listener: Arc<L>, state: Arc<ServerState>, sockets: Arc<Sockets<S>>) -> io::Result<Self> {
        let address = rustix::net::getsockname(listener.as_ref())?;
        let address =
            SocketAddr::try_from(address).map_err(|_| io::Error::other("the listener is not on TCP"))?;
        Ok(SocketServer { address, state, listener, sockets })
    }
}

impl<L: AsFd + Send + Sync + 'static, S: AsFd + Send + Sync + 'static> Server for SocketServer<L, S> {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn state(&self) -> &ServerState {
        &self.state
    }

    fn drain(&mut self, deadline: Instant) -> u64 {
        self.state.start_draining();
        // A listener that is shut down fails its waiting accept with EINVAL (Linux).
        let _already_down = rustix::net::shutdown(self.listener.as_ref(), Shutdown::Read);
        self.sockets.drain();
        wait_for_connections(&self.state, deadline)
    }
}

/// Waits until every connection has closed or `deadline` has come. Returns how many accepted plans
/// have not ended.
pub(crate) fn wait_for_connections(state: &ServerState, deadline: Instant) -> u64 {
    wait_until(deadline, || state.counts().connections == 0);
    let counts = state.counts();
    counts.in_flight + counts.queued
}
