//! HTTP: the listener is made here and served by the workers, whose counts lie in shared memory.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use execution_model::server::{ListenSpec, ServerState};
use execution_model::{Runtime, Server, ServerRuntime, wait_until};

use crate::link::{Link, START_LIMIT};
use crate::runtime::Processes;
use crate::shared;

/// What a worker is given in order to serve.
#[derive(Debug)]
pub(crate) struct Serving {
    /// One for all, or one each.
    listeners: Vec<TcpListener>,
    pub(crate) counts: OwnedFd,
    pub(crate) parts: usize,
    /// The limits, and the sum of the counts.
    pub(crate) state: Arc<ServerState>,
}

impl Serving {
    pub(crate) fn listener(&self, part: usize) -> &TcpListener {
        &self.listeners[part % self.listeners.len()]
    }
}

/// A server that is up.
#[derive(Debug)]
pub(crate) struct Prefork {
    address: SocketAddr,
    state: Arc<ServerState>,
    links: Vec<Arc<Link>>,
}

impl ServerRuntime for Processes {
    type Server = Prefork;

    fn serve(&self, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<Prefork> {
        let parts = self.links.len();
        let listeners = bind(listen, if self.variant.reuse_port { parts } else { 1 })?;
        let address = listeners[0].local_addr()?;
        let (counts, shared) = shared::create(parts)?;
        let info = Processes::describe(&self.variant, parts);
        // The state that was given is this process's alone. This one sums the workers' parts.
        let state = ServerState::shared(*state.limits(), info, shared, 0);
        let serving = Arc::new(Serving { listeners, counts, parts, state: Arc::clone(&state) });
        for link in &self.links {
            link.serve(&serving)?;
        }
        let all_serve = || self.links.iter().all(|link| link.serves());
        if !wait_until(Instant::now() + START_LIMIT, all_serve) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the workers do not serve"));
        }
        Ok(Prefork { address, state, links: self.links.clone() })
    }
}

/// Binds so many listeners to one address. The first takes the port.
fn bind(listen: &ListenSpec, listeners: usize) -> io::Result<Vec<TcpListener>> {
    let mut listen = ListenSpec { reuse_port: listeners > 1, ..listen.clone() };
    let first = listen.bind()?;
    listen.address = first.local_addr()?;
    let more = (1..listeners).map(|_| listen.bind());
    [Ok(first)].into_iter().chain(more).collect()
}

impl Server for Prefork {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn state(&self) -> &ServerState {
        &self.state
    }

    fn drain(&mut self, deadline: Instant) -> u64 {
        // Seen by all workers at once: one that closes must not send its clients to one that does not know.
        self.state.start_draining();
        self.links.iter().for_each(|link| link.drain(deadline));
        wait_until(deadline, || self.links.iter().all(|link| link.process().is_none()));
        let counts = self.state.counts();
        // Those that are stuck. Whoever waits for them has waited long enough.
        self.links.iter().for_each(|link| link.kill());
        counts.in_flight + counts.queued
    }
}
