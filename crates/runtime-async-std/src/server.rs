//! HTTP: a task that accepts and one for each connection.

use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_std::io::{Read, WriteExt};
use async_std::net::{TcpListener, TcpStream};
use async_std::{future, task};
use execution_model::server::{
    Connection, LagMeter, ListenSpec, Next, OpenConnection, READ_BYTES, ServerState, SocketServer, Sockets,
};
use execution_model::{CatchUnwind, ServerRuntime};

use crate::handler::handle;
use crate::runtime::AsyncStd;

impl ServerRuntime for AsyncStd {
    type Server = SocketServer<TcpListener, TcpStream>;

    fn serve(&self, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<Self::Server> {
        let listener = Arc::new(TcpListener::from(listen.bind()?));
        let sockets = Sockets::new();
        let server = SocketServer::new(Arc::clone(&listener), Arc::clone(&state), Arc::clone(&sockets))?;
        task::spawn(show_lag(LagMeter::new(&state), self.share()));
        task::spawn(accept(listener, state, sockets, self.share()));
        Ok(server)
    }
}

async fn accept(
    listener: Arc<TcpListener>,
    state: Arc<ServerState>,
    sockets: Arc<Sockets<TcpStream>>,
    alive: Arc<()>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => match state.open_connection() {
                Some(open) => {
                    let sockets = Arc::clone(&sockets);
                    let alive = Arc::clone(&alive);
                    task::spawn(async move {
                        let stream = Arc::new(stream);
                        let key = sockets.insert(&stream);
                        // An error of the socket ends the connection; there is nobody left to tell.
                        let _over = serve_connection(&stream, open).await;
                        sockets.remove(key);
                        drop(alive);
                    });
                }
                None => turn_away(&stream).await,
            },
            Err(_) if state.is_draining() => return,
            Err(error) => task::sleep(state.accept_failed(&error)).await,
        }
    }
}

async fn serve_connection(mut stream: &TcpStream, open: OpenConnection) -> io::Result<()> {
    let mut connection = Connection::new(open);
    loop {
        match connection.advance() {
            Next::Read(limit) => {
                let read = poll_fn(|context| poll_read(stream, &mut connection, context));
                match future::timeout(limit, read).await {
                    Ok(read) => read?,
                    Err(_elapsed) => connection.timed_out(),
                }
            }
            Next::Run(work) => {
                let (job, service) = work.begin();
                let answer = CatchUnwind::new(handle(&job)).await;
                connection.answered(service.end(answer));
            }
            Next::Write => {
                let bytes = match write_at_once(stream, connection.output()).await {
                    Some(written) => written?,
                    None => {
                        let limit = connection.time_to_write()?;
                        // Boxed, since it is rare: every idle connection would have room for it otherwise.
                        let written =
                            Box::pin(future::timeout(limit, stream.write(connection.output()))).await;
                        written.map_err(|_elapsed| io::ErrorKind::TimedOut)??
                    }
                };
                connection.written(bytes);
            }
            Next::HalfClose => stream.shutdown(Shutdown::Write)?,
            Next::Close => return Ok(()),
        }
    }
}

/// Reads what has come. The buffer lives for this call alone: a connection that waits holds none.
fn poll_read(
    mut stream: &TcpStream,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let mut chunk = [0; READ_BYTES];
    match ready!(Pin::new(&mut stream).poll_read(context, &mut chunk))? {
        0 => connection.peer_closed(),
        bytes => connection.received(&chunk[..bytes]),
    }
    Poll::Ready(Ok(()))
}

/// A task like any other, which shows how late it is.
async fn show_lag(mut meter: LagMeter, _alive: Arc<()>) {
    while let Some(pause) = meter.pause() {
        task::sleep(pause).await;
        meter.woke();
    }
}

async fn turn_away(stream: &TcpStream) {
    // One try, without waiting: the peer may be the reason why the limit is reached.
    let _best_effort = write_at_once(stream, &Connection::over_limit()).await;
}

/// Writes what the socket takes without waiting, if it takes something.
async fn write_at_once(mut stream: &TcpStream, bytes: &[u8]) -> Option<io::Result<usize>> {
    future::timeout(Duration::ZERO, stream.write(bytes)).await.ok()
}
