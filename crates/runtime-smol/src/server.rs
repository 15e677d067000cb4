//! HTTP: a task that accepts and one for each connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use execution_model::server::{
    Connection, LagMeter, ListenSpec, Next, OpenConnection, READ_BYTES, ServerState, SocketServer, Sockets,
};
use execution_model::{CatchUnwind, ServerRuntime};
use smol::future::FutureExt;
use smol::{Async, Executor, Timer};

use crate::handler::handle;
use crate::runtime::Smol;

impl ServerRuntime for Smol {
    type Server = SocketServer<Async<TcpListener>, Async<TcpStream>>;

    fn serve(&self, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<Self::Server> {
        let listener = Arc::new(Async::new(listen.bind()?)?);
        let sockets = Sockets::new();
        let server = SocketServer::new(Arc::clone(&listener), Arc::clone(&state), Arc::clone(&sockets))?;
        let executor = Arc::clone(self.executor());
        self.executor().spawn(show_lag(LagMeter::new(&state))).detach();
        self.executor().spawn(accept(listener, state, sockets, executor)).detach();
        Ok(server)
    }
}

async fn accept(
    listener: Arc<Async<TcpListener>>,
    state: Arc<ServerState>,
    sockets: Arc<Sockets<Async<TcpStream>>>,
    executor: Arc<Executor<'static>>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => match state.open_connection() {
                Some(open) => {
                    let sockets = Arc::clone(&sockets);
                    let serve = async move {
                        let stream = Arc::new(stream);
                        let key = sockets.insert(&stream);
                        // An error of the socket ends the connection; there is nobody left to tell.
                        let _over = serve_connection(&stream, open).await;
                        sockets.remove(key);
                    };
                    executor.spawn(serve).detach();
                }
                None => turn_away(stream.get_ref()),
            },
            Err(_) if state.is_draining() => return,
            Err(error) => {
                Timer::after(state.accept_failed(&error)).await;
            }
        }
    }
}

async fn serve_connection(stream: &Async<TcpStream>, open: OpenConnection) -> io::Result<()> {
    let mut connection = Connection::new(open);
    loop {
        match connection.advance() {
            Next::Read(limit) => {
                let read = stream.read_with(|stream| read(stream, &mut connection));
                match read.or(timed_out(limit)).await {
                    Err(error) if error.kind() == ErrorKind::TimedOut => connection.timed_out(),
                    read => read?,
                }
            }
            Next::Run(work) => {
                let (job, service) = work.begin();
                let answer = CatchUnwind::new(handle(&job)).await;
                connection.answered(service.end(answer));
            }
            Next::Write => match stream.get_ref().write(connection.output()) {
                Ok(bytes) => connection.written(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Boxed, since it is rare: every idle connection would have room for it otherwise.
                    Box::pin(stream.writable().or(timed_out(connection.time_to_write()?))).await?;
                }
                Err(error) => return Err(error),
            },
            Next::HalfClose => stream.get_ref().shutdown(Shutdown::Write)?,
            Next::Close => return Ok(()),
        }
    }
}

/// Reads what has come. The buffer lives for this call alone: a connection that waits holds none.
fn read(mut stream: &TcpStream, connection: &mut Connection) -> io::Result<()> {
    let mut chunk = [0; READ_BYTES];
    match stream.read(&mut chunk)? {
        0 => connection.peer_closed(),
        bytes => connection.received(&chunk[..bytes]),
    }
    Ok(())
}

/// What an operation with a time limit is raced with. It is polled second: what is done at once costs no timer.
async fn timed_out<T>(limit: Duration) -> io::Result<T> {
    Timer::after(limit).await;
    Err(ErrorKind::TimedOut.into())
}

/// A task like any other, which shows how late it is.
async fn show_lag(mut meter: LagMeter) {
    while let Some(pause) = meter.pause() {
        Timer::after(pause).await;
        meter.woke();
    }
}

fn turn_away(mut stream: &TcpStream) {
    // One try, without waiting: the peer may be the reason why the limit is reached.
    let _best_effort = stream.write(&Connection::over_limit());
}
