//! The loop as a server: started on a thread of its own, drained by a flag and a wake.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::process;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use execution_model::server::{ListenSpec, ServerState};
use execution_model::{Panicked, Server, catch_unwind, tell, wait_until};

use crate::Executor;
use crate::event_loop::EventLoop;
use crate::mailbox::{Mailbox, Sender};

/// A server that is up.
#[derive(Debug)]
pub struct LoopServer {
    address: SocketAddr,
    state: Arc<ServerState>,
    sender: Sender,
    thread: JoinHandle<()>,
}

impl LoopServer {
    /// Listens, and starts the loop's thread.
    ///
    /// # Errors
    ///
    /// The address cannot be bound, or the thread or the loop's descriptors cannot be had.
    pub fn start(
        listen: &ListenSpec,
        state: Arc<ServerState>,
        executor: impl Executor,
    ) -> io::Result<LoopServer> {
        LoopServer::start_on(listen.bind()?, state, executor)
    }

    /// Starts the loop's thread on a socket that listens already, and may be shared with other processes.
    ///
    /// # Errors
    ///
    /// The thread or the loop's descriptors cannot be had.
    pub fn start_on(
        listener: TcpListener,
        state: Arc<ServerState>,
        executor: impl Executor,
    ) -> io::Result<LoopServer> {
        let address = listener.local_addr()?;
        let mailbox = Mailbox::new()?;
        let sender = mailbox.sender();
        let event_loop = EventLoop::new(listener, mailbox, Arc::clone(&state), executor)?;
        let run = move || {
            let why = match catch_unwind(|| event_loop.run()) {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error.to_string(),
                Err(Panicked) => "it panicked".into(),
            };
            // A server whose loop is gone would hold its clients and answer none of them.
            tell(format_args!("the readiness loop ended: {why}"));
            process::exit(1);
        };
        let thread = thread::Builder::new().name("readiness".into()).spawn(run)?;
        Ok(LoopServer { address, state, sender, thread })
    }
}

impl Server for LoopServer {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn state(&self) -> &ServerState {
        &self.state
    }

    fn drain(&mut self, deadline: Instant) -> u64 {
        self.state.start_draining();
        self.sender.wake();
        wait_until(deadline, || self.thread.is_finished());
        let counts = self.state.counts();
        counts.in_flight + counts.queued
    }
}
