//! The server in front of a pipeline: a thread reads and answers for each connection, the same for all models. What is
//! looked at is the pipeline, which the model carries out, and not how requests are read.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use execution_model::pipeline::{Awaited, Lane, NotAdmitted, NotThrough, Stages};
use execution_model::server::{
    Connection, ListenSpec, Next, OpenConnection, OwnAnswer, READ_BYTES, ServerState, SocketServer, Sockets,
};
use workload::http::{ContentType, Status, Target};

/// Begins to accept.
pub(super) fn serve(
    listen: &ListenSpec,
    state: Arc<ServerState>,
    stages: Arc<Stages>,
) -> io::Result<SocketServer<TcpListener, TcpStream>> {
    let listener = Arc::new(listen.bind()?);
    let sockets = Sockets::new();
    let server = SocketServer::new(Arc::clone(&listener), Arc::clone(&state), Arc::clone(&sockets))?;
    let front = Arc::new(Front { state, sockets, stages });
    thread::Builder::new().name("accept".into()).spawn(move || front.accept(&listener))?;
    Ok(server)
}

/// Everything that connections share.
struct Front {
    state: Arc<ServerState>,
    sockets: Arc<Sockets<TcpStream>>,
    stages: Arc<Stages>,
}

impl Front {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            match listener.accept() {
                Ok((stream, _)) => match self.state.open_connection() {
                    Some(open) => self.begin(stream, open),
                    None => turn_away(&stream),
                },
                Err(_) if self.state.is_draining() => return,
                Err(error) => thread::sleep(self.state.accept_failed(&error)),
            }
        }
    }

    fn begin(self: &Arc<Self>, stream: TcpStream, open: OpenConnection) {
        let front = Arc::clone(self);
        let begun = thread::Builder::new().name("connection".into()).spawn(move || {
            let stream = Arc::new(stream);
            let key = front.sockets.insert(&stream);
            // An error of the socket ends the connection; there is nobody left to tell.
            let _over = front.serve(&stream, open);
            front.sockets.remove(key);
        });
        if begun.is_err() {
            self.state.connection_unstartable();
        }
    }

    fn serve(&self, mut stream: &TcpStream, open: OpenConnection) -> io::Result<()> {
        let mut connection = Connection::new(open);
        let mut chunk = [0; READ_BYTES];
        loop {
            match connection.advance_with(|target| self.answer(target)) {
                Next::Read(limit) => {
                    stream.set_read_timeout(Some(limit))?;
                    match stream.read(&mut chunk) {
                        Ok(0) => connection.peer_closed(),
                        Ok(bytes) => connection.received(&chunk[..bytes]),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => connection.timed_out(),
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                Next::Run(_) => unreachable!("plans are answered that there are none"),
                Next::Write => {
                    stream.set_write_timeout(Some(connection.time_to_write()?))?;
                    let bytes = stream.write(connection.output())?;
                    connection.written(bytes);
                }
                Next::HalfClose => stream.shutdown(Shutdown::Write)?,
                Next::Close => return Ok(()),
            }
        }
    }

    /// What a pipeline answers, and others do not.
    fn answer(&self, target: &Target) -> Option<OwnAnswer> {
        match target {
            Target::Image(lane) => Some(self.send(*lane)),
            Target::Metrics => {
                let body = self.stages.metrics();
                Some(OwnAnswer { status: Status::Ok, content_type: ContentType::Prometheus, body })
            }
            Target::Run(_) => Some(told(
                Status::NotFound,
                "a pipeline is served here, with /image/LANE; there are no plans",
            )),
            Target::Healthz | Target::Wrong(_) => None,
        }
    }

    /// Sends an image through.
    fn send(&self, lane: Lane) -> OwnAnswer {
        let now = Instant::now();
        let deadline = now + self.state.limits().request;
        let brought = match lane {
            Lane::Interactive => self.stages.await_interactive(now),
            Lane::Bulk => self.stages.await_admitted(lane, now, deadline),
        };
        match brought {
            Ok(awaited) => through(&awaited, deadline),
            Err(refused @ (NotAdmitted::Full(_) | NotAdmitted::LineFull)) => {
                told(Status::TooManyRequests, refused)
            }
            Err(refused @ (NotAdmitted::TimedOut | NotAdmitted::Closed)) => {
                told(Status::Unavailable, refused)
            }
        }
    }
}

fn turn_away(mut stream: &TcpStream) {
    // One try, without waiting: the peer may be the reason why the limit is reached.
    let _best_effort = stream.set_nonblocking(true).and_then(|()| stream.write(&Connection::over_limit()));
}

fn through(awaited: &Awaited, deadline: Instant) -> OwnAnswer {
    match awaited.wait_until(deadline) {
        Ok(through) => {
            let (response, admitted) = (through.response.as_nanos(), through.response_admitted.as_nanos());
            let body = format!("{{\"response_ns\":{response},\"response_admitted_ns\":{admitted}}}\n");
            OwnAnswer { status: Status::Ok, content_type: ContentType::Json, body }
        }
        Err(late @ NotThrough::TimedOut) => told(Status::Unavailable, late),
        Err(dropped @ NotThrough::Dropped) => told(Status::InternalError, dropped),
    }
}

fn told(status: Status, what: impl std::fmt::Display) -> OwnAnswer {
    OwnAnswer { status, content_type: ContentType::Text, body: format!("{what}\n") }
}

#[cfg(test)]
mod tests;
