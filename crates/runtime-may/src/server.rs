//! HTTP: a coroutine that accepts and one for each connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd};
use std::sync::Arc;
use std::time::Duration;

use execution_model::server::{
    Connection, LagMeter, ListenSpec, Next, OpenConnection, READ_BYTES, ServerState, SocketServer, Sockets,
};
use execution_model::{ServerRuntime, catch_unwind};
use may::net::{TcpListener, TcpStream};

use crate::handler::handle;
use crate::runtime::{May, spawn};
use crate::suspend::sleep;

impl ServerRuntime for May {
    type Server = SocketServer<Listener, BorrowedFd<'static>>;

    fn serve(&self, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<Self::Server> {
        let listener = Arc::new(Listener::bind(listen)?);
        let sockets = Sockets::new();
        let server = SocketServer::new(Arc::clone(&listener), Arc::clone(&state), Arc::clone(&sockets))?;
        let (alive, meter) = (Arc::clone(&self.alive), LagMeter::new(&state));
        spawn(&self.alive, move || show_lag(meter)).map_err(io::Error::other)?;
        spawn(&self.alive, move || accept(&listener, &state, &sockets, &alive)).map_err(io::Error::other)?;
        Ok(server)
    }
}

/// may's listener, on a socket that was bound as for every model.
#[derive(Debug)]
pub(crate) struct Listener(TcpListener);

impl Listener {
    fn bind(listen: &ListenSpec) -> io::Result<Listener> {
        let socket = listen.bind()?.into_raw_fd();
        // SAFETY: the descriptor was just given up by its owner.
        #[expect(unsafe_code, reason = "may's own bind sets other options, and this is its only other way")]
        let listener = unsafe { TcpListener::from_raw_fd(socket) };
        Ok(Listener(listener))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.inner().as_fd()
    }
}

fn accept(
    listener: &Listener,
    state: &Arc<ServerState>,
    sockets: &Arc<Sockets<BorrowedFd<'static>>>,
    alive: &Arc<()>,
) {
    loop {
        match listener.0.accept() {
            Ok((stream, _)) => match state.open_connection() {
                Some(open) => {
                    let sockets = Arc::clone(sockets);
                    let started = spawn(alive, move || {
                        let mut socket = Socket::new(stream, sockets);
                        // An error of the socket ends the connection; there is nobody left to tell.
                        let _over = serve_connection(&mut socket.stream, open);
                    });
                    if started.is_err() {
                        state.connection_unstartable();
                    }
                }
                None => turn_away(&stream),
            },
            Err(_) if state.is_draining() => return,
            Err(error) => sleep(state.accept_failed(&error)),
        }
    }
}

/// A connection's stream, which a drain knows of. may reads only through a mutable reference, so the
/// two cannot share the stream; they share its descriptor.
struct Socket {
    stream: TcpStream,
    sockets: Arc<Sockets<BorrowedFd<'static>>>,
    key: usize,
}

impl Socket {
    fn new(stream: TcpStream, sockets: Arc<Sockets<BorrowedFd<'static>>>) -> Socket {
        // SAFETY: dropping a `Socket` takes the descriptor from `sockets`, under the lock under which a
        // drain uses it, before the stream closes it.
        #[expect(unsafe_code, reason = "the descriptor outlives the borrow, which no type can say")]
        let descriptor = unsafe { BorrowedFd::borrow_raw(stream.as_raw_fd()) };
        let key = sockets.insert(&Arc::new(descriptor));
        Socket { stream, sockets, key }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.sockets.remove(self.key);
    }
}

fn serve_connection(stream: &mut TcpStream, open: OpenConnection) -> io::Result<()> {
    let mut connection = Connection::new(open);
    let mut limit_set = Duration::ZERO;
    loop {
        match connection.advance() {
            Next::Read(limit) => {
                // The limit of an idle connection is always the same, so this is no system call a request.
                if limit != limit_set {
                    stream.set_read_timeout(Some(limit))?;
                    limit_set = limit;
                }
                read(stream, &mut connection)?;
            }
            Next::Run(work) => {
                let (job, service) = work.begin();
                // A coroutine that is cancelled panics as well, again at each wait, so this cannot hide it.
                let answer = catch_unwind(|| handle(&job));
                connection.answered(service.end(answer));
            }
            Next::Write => {
                let bytes = match stream.inner().write(connection.output()) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        write_slowly(stream, &mut connection)?
                    }
                    written => written?,
                };
                connection.written(bytes);
            }
            Next::HalfClose => stream.shutdown(Shutdown::Write)?,
            Next::Close => return Ok(()),
        }
    }
}

/// Reads what has come. The buffer lives for this call alone: the handler's frames take its place.
#[inline(never)]
fn read(stream: &mut TcpStream, connection: &mut Connection) -> io::Result<()> {
    let mut chunk = [0; READ_BYTES];
    match stream.read(&mut chunk) {
        Ok(0) => connection.peer_closed(),
        Ok(bytes) => connection.received(&chunk[..bytes]),
        Err(error) if error.kind() == ErrorKind::TimedOut => connection.timed_out(),
        Err(error) if error.kind() == ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Waits for a peer that does not take its answer at once. The stream's limit is of one call, and not of an answer: it is
/// set to what is left.
fn write_slowly(stream: &mut TcpStream, connection: &mut Connection) -> io::Result<usize> {
    stream.set_write_timeout(Some(connection.time_to_write()?))?;
    stream.write(connection.output())
}

/// A coroutine like any other, which shows how late it is.
fn show_lag(mut meter: LagMeter) {
    while let Some(pause) = meter.pause() {
        sleep(pause);
        meter.woke();
    }
}

fn turn_away(stream: &TcpStream) {
    // One try, without waiting: the peer may be the reason why the limit is reached.
    let _best_effort = stream.inner().write(&Connection::over_limit());
}
