//! HTTP: a thread that accepts and one for each connection, or a readiness loop that feeds the pool.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use execution_model::server::{
    Connection, LagMeter, ListenSpec, Next, OpenConnection, READ_BYTES, ServerState, SocketServer, Sockets,
    Work,
};
use execution_model::{Server, ServerRuntime, catch_unwind};
use readiness_loop::{Asker, Executor, LoopServer, Taken, Tick};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::handler::handle;
use crate::pool::Pool;
use crate::runtime::{Threads, spawn};

impl ServerRuntime for Threads {
    type Server = ThreadsServer;

    fn serve(&self, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<ThreadsServer> {
        match self {
            Threads::PerRequest { alive } => {
                serve_by_threads(alive, listen, state).map(ThreadsServer::PerConnection)
            }
            Threads::Pool(pool) => serve_by_pool(pool, listen, state).map(ThreadsServer::Pool),
        }
    }
}

/// A server of either variant.
pub(crate) enum ThreadsServer {
    PerConnection(SocketServer<TcpListener, TcpStream>),
    Pool(LoopServer),
}

fn serve_by_threads(
    alive: &Arc<()>,
    listen: &ListenSpec,
    state: Arc<ServerState>,
) -> io::Result<SocketServer<TcpListener, TcpStream>> {
    let listener = Arc::new(listen.bind()?);
    let sockets = Sockets::new();
    let server = SocketServer::new(Arc::clone(&listener), Arc::clone(&state), Arc::clone(&sockets))?;
    let meter = LagMeter::new(&state);
    spawn("lag", alive, move || show_lag(meter))?;
    let of_connections = Arc::clone(alive);
    spawn("accept", alive, move || accept(&listener, &state, &sockets, &of_connections))?;
    Ok(server)
}

fn accept(
    listener: &TcpListener,
    state: &Arc<ServerState>,
    sockets: &Arc<Sockets<TcpStream>>,
    alive: &Arc<()>,
) {
    loop {
        match listener.accept() {
            Ok((stream, _)) => match state.open_connection() {
                Some(open) => {
                    let sockets = Arc::clone(sockets);
                    let started = spawn("connection", alive, move || {
                        let stream = Arc::new(stream);
                        let key = sockets.insert(&stream);
                        // An error of the socket ends the connection; there is nobody left to tell.
                        let _over = serve_connection(&stream, open);
                        sockets.remove(key);
                    });
                    if started.is_err() {
                        state.connection_unstartable();
                    }
                }
                None => turn_away(&stream),
            },
            Err(_) if state.is_draining() => return,
            Err(error) => thread::sleep(state.accept_failed(&error)),
        }
    }
}

fn serve_connection(mut stream: &TcpStream, open: OpenConnection) -> io::Result<()> {
    let mut connection = Connection::new(open);
    let mut limit_set = Duration::ZERO;
    let mut chunk = [0; READ_BYTES];
    loop {
        match connection.advance() {
            Next::Read(limit) => {
                // The limit of an idle connection is always the same, so this is no system call a request.
                if limit != limit_set {
                    stream.set_read_timeout(Some(limit))?;
                    limit_set = limit;
                }
                match stream.read(&mut chunk) {
                    Ok(0) => connection.peer_closed(),
                    Ok(bytes) => connection.received(&chunk[..bytes]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => connection.timed_out(),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Next::Run(work) => {
                let (job, service) = work.begin();
                let answer = catch_unwind(|| handle(&job));
                connection.answered(service.end(answer));
            }
            Next::Write => {
                let bytes = match send(stream, connection.output(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
                {
                    Err(Errno::AGAIN) => write_slowly(stream, &mut connection)?,
                    sent => sent?,
                };
                connection.written(bytes);
            }
            Next::HalfClose => stream.shutdown(Shutdown::Write)?,
            Next::Close => return Ok(()),
        }
    }
}

/// Waits for a peer that does not take its answer at once. The socket's limit is of one call, and not of an answer: it is
/// set to what is left.
fn write_slowly(mut stream: &TcpStream, connection: &mut Connection) -> io::Result<usize> {
    stream.set_write_timeout(Some(connection.time_to_write()?))?;
    stream.write(connection.output())
}

fn turn_away(mut stream: &TcpStream) {
    // One try, without waiting: the peer may be the reason why the limit is reached.
    let _best_effort = stream.set_nonblocking(true).and_then(|()| stream.write(&Connection::over_limit()));
}

/// A thread like any other, which shows how late it is.
fn show_lag(mut meter: LagMeter) {
    while let Some(pause) = meter.pause() {
        thread::sleep(pause);
        meter.woke();
    }
}

fn serve_by_pool(pool: &Arc<Pool>, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<LoopServer> {
    LoopServer::start(listen, state, PoolExecutor { pool: Arc::clone(pool) })
}

struct PoolExecutor {
    pool: Arc<Pool>,
}

impl Executor for PoolExecutor {
    fn execute(&mut self, work: Work, asker: &Asker<'_>) -> Taken {
        let task = asker.task(work);
        // Where the queue is full, the task is dropped, and so answered 503.
        let _taken = self.pool.execute(move || {
            let (job, service, reply) = task.begin();
            let answer = catch_unwind(|| handle(&job));
            reply.send(service.end(answer));
        });
        Taken::Later
    }

    fn tick(&mut self, tick: Tick) {
        self.pool.execute_beside(move || tick.comes());
    }
}

impl Server for ThreadsServer {
    fn address(&self) -> std::net::SocketAddr {
        match self {
            ThreadsServer::PerConnection(server) => server.address(),
            ThreadsServer::Pool(server) => server.address(),
        }
    }

    fn state(&self) -> &ServerState {
        match self {
            ThreadsServer::PerConnection(server) => server.state(),
            ThreadsServer::Pool(server) => server.state(),
        }
    }

    fn drain(&mut self, deadline: Instant) -> u64 {
        match self {
            ThreadsServer::PerConnection(server) => server.drain(deadline),
            ThreadsServer::Pool(server) => server.drain(deadline),
        }
    }
}
