//! HTTP: a task that accepts and one for each connection.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use execution_model::server::{
    Connection, LagMeter, ListenSpec, Next, OpenConnection, READ_BYTES, ServerState, SocketServer, Sockets,
};
use execution_model::{CatchUnwind, ServerRuntime};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time;

use crate::handler::handle;
use crate::runtime::Tokio;

impl ServerRuntime for Tokio {
    type Server = SocketServer<TcpListener, Socket>;

    fn serve(&self, listen: &ListenSpec, state: Arc<ServerState>) -> io::Result<Self::Server> {
        let listener = listen.bind()?;
        listener.set_nonblocking(true)?;
        let _reactor = self.handle().enter();
        let listener = Arc::new(TcpListener::from_std(listener)?);
        let sockets = Sockets::new();
        let server = SocketServer::new(Arc::clone(&listener), Arc::clone(&state), Arc::clone(&sockets))?;
        self.handle().spawn(show_lag(LagMeter::new(&state)));
        self.handle().spawn(accept(listener, state, sockets));
        Ok(server)
    }
}

/// The half of a socket that a connection and a drain share.
#[derive(Debug)]
pub(crate) struct Socket {
    writer: OwnedWriteHalf,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.writer.as_ref().as_fd()
    }
}

async fn accept(listener: Arc<TcpListener>, state: Arc<ServerState>, sockets: Arc<Sockets<Socket>>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => match state.open_connection() {
                Some(open) => {
                    let sockets = Arc::clone(&sockets);
                    tokio::spawn(async move {
                        let (reader, writer) = stream.into_split();
                        let socket = Arc::new(Socket { writer });
                        let key = sockets.insert(&socket);
                        // An error of the socket ends the connection; there is nobody left to tell.
                        let _over = serve_connection(reader, &socket, open).await;
                        sockets.remove(key);
                    });
                }
                None => turn_away(&stream),
            },
            Err(_) if state.is_draining() => return,
            Err(error) => time::sleep(state.accept_failed(&error)).await,
        }
    }
}

async fn serve_connection(
    mut reader: OwnedReadHalf,
    socket: &Socket,
    open: OpenConnection,
) -> io::Result<()> {
    let mut connection = Connection::new(open);
    loop {
        match connection.advance() {
            Next::Read(limit) => {
                match time::timeout(
                    limit,
                    poll_fn(|context| poll_read(&mut reader, &mut connection, context)),
                )
                .await
                {
                    Ok(read) => read?,
                    Err(_elapsed) => connection.timed_out(),
                }
            }
            Next::Run(work) => {
                let (job, service) = work.begin();
                let answer = CatchUnwind::new(handle(&job)).await;
                connection.answered(service.end(answer));
            }
            Next::Write => match socket.writer.try_write(connection.output()) {
                Ok(bytes) => connection.written(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Boxed, since it is rare: every idle connection would have room for it otherwise.
                    Box::pin(time::timeout(connection.time_to_write()?, socket.writer.writable())).await??;
                }
                Err(error) => return Err(error),
            },
            Next::HalfClose => socket2::SockRef::from(socket).shutdown(std::net::Shutdown::Write)?,
            Next::Close => return Ok(()),
        }
    }
}

/// Reads what has come. The buffer lives for this call alone: a connection that waits holds none.
fn poll_read(
    reader: &mut OwnedReadHalf,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let mut chunk = [MaybeUninit::uninit(); READ_BYTES];
    let mut buffer = ReadBuf::uninit(&mut chunk);
    ready!(Pin::new(reader).poll_read(context, &mut buffer))?;
    match buffer.filled() {
        [] => connection.peer_closed(),
        bytes => connection.received(bytes),
    }
    Poll::Ready(Ok(()))
}

/// A task like any other, which shows how late it is.
async fn show_lag(mut meter: LagMeter) {
    while let Some(pause) = meter.pause() {
        time::sleep(pause).await;
        meter.woke();
    }
}

fn turn_away(stream: &TcpStream) {
    // One try, without waiting: the peer may be the reason why the limit is reached.
    let _best_effort = stream.try_write(&Connection::over_limit());
}
