//! HTTP: a thread for each connection, with the faults that a server can have.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use execution_model::server::{
    Connection, LagMeter, ListenSpec, Next, OpenConnection, READ_BYTES, ServerLimits, ServerState,
    SocketServer, Sockets,
};
use execution_model::{Runtime, Server, ServerRuntime};

use crate::fault::Fault;
use crate::handler::handle;
use crate::runtime::Mutant;

/// A server, and how it fails to end.
pub(crate) struct MutantServer {
    fault: Fault,
    server: SocketServer<TcpListener, TcpStream>,
}

impl ServerRuntime for Mutant {
    type Server = MutantServer;

    fn serve(&self, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<MutantServer> {
        let fault = self.fault;
        if fault == Fault::LeavesAProcess {
            Command::new("sleep").arg("60").spawn()?;
        }
        let state = if fault == Fault::IgnoresInFlightLimit {
            let limits = ServerLimits { in_flight: u64::MAX, ..*state.limits() };
            ServerState::new(limits, Mutant::describe(&fault, 1))
        } else {
            state
        };
        let listener = Arc::new(listen.bind()?);
        let sockets = Sockets::new();
        let server = SocketServer::new(Arc::clone(&listener), Arc::clone(&state), Arc::clone(&sockets))?;
        let mut meter = LagMeter::new(&state);
        self.spawn(move || {
            while let Some(pause) = meter.pause() {
                thread::sleep(pause);
                if fault != Fault::ShowsNoLag {
                    meter.woke();
                }
            }
        })?;
        let spawn_connection = self.spawner();
        self.spawn(move || {
            loop {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let Some(open) = state.open_connection() else {
                            let _best_effort = (&stream).write(&Connection::over_limit());
                            continue;
                        };
                        let sockets = Arc::clone(&sockets);
                        let connection = Box::new(move || {
                            let stream = Arc::new(stream);
                            let key = sockets.insert(&stream);
                            let _over = serve_connection(&stream, open, fault);
                            sockets.remove(key);
                        });
                        if spawn_connection(connection).is_err() {
                            state.connection_unstartable();
                        }
                    }
                    Err(_) if state.is_draining() => return,
                    Err(error) => thread::sleep(state.accept_failed(&error)),
                }
            }
        })?;
        Ok(MutantServer { fault, server })
    }
}

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn serve_connection(mut stream: &TcpStream, open: OpenConnection, fault: Fault) -> io::Result<()> {
    if fault != Fault::WritesForEver {
        stream.set_write_timeout(Some(open.state().limits().request))?;
    }
    let mut connection = Connection::new(open);
    let mut chunk = [0; READ_BYTES];
    loop {
        let one_at_a_time = || ONE_AT_A_TIME.lock().expect("a handler's panic is caught");
        let held = (fault == Fault::OffloadsNothing).then(one_at_a_time);
        match connection.advance() {
            Next::Read(limit) => {
                drop(held);
                stream.set_read_timeout(Some(limit))?;
                match stream.read(&mut chunk) {
                    Ok(0) => connection.peer_closed(),
                    Ok(bytes) => connection.received(&chunk[..bytes]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => connection.timed_out(),
                    Err(error) => return Err(error),
                }
            }
            Next::Run(work) => {
                let (job, service) = work.begin();
                let answer = handle(&job, fault);
                connection.answered(service.end(answer));
            }
            Next::Write => {
                let bytes = stream.write(connection.output())?;
                connection.written(bytes);
                if fault == Fault::ClosesConnections && connection.output().is_empty() {
                    return Ok(());
                }
            }
            Next::HalfClose if fault == Fault::ResetsLongHeads => return Ok(()),
            Next::HalfClose => stream.shutdown(Shutdown::Write)?,
            Next::Close => return Ok(()),
        }
    }
}

impl Server for MutantServer {
    fn address(&self) -> SocketAddr {
        self.server.address()
    }

    fn state(&self) -> &ServerState {
        self.server.state()
    }

    fn drain(&mut self, deadline: Instant) -> u64 {
        match self.fault {
            Fault::DoesNotDrain => 0,
            Fault::IgnoresDeadline => self.server.drain(deadline + Duration::from_secs(60)),
            _ => self.server.drain(deadline),
        }
    }
}
