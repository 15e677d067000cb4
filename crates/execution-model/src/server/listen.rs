//! The listening socket, made alike for every model.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// Where and how to listen.
#[derive(Clone, Debug)]
pub struct ListenSpec {
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// Connections that the kernel holds until they are accepted. The kernel caps it at `net.core.somaxconn`.
    pub backlog: u32,
    /// Whether several sockets may listen on the address, each with a share of the connections.
    pub reuse_port: bool,
}

impl ListenSpec {
    /// Opens the socket. Accepted connections inherit `TCP_NODELAY` from it (Linux, `tcp(7)`), which
    /// saves every model a system call a connection.
    ///
    /// # Errors
    ///
    /// What the operating system refused, with the address.
    pub fn bind(&self) -> io::Result<TcpListener> {
        self.open().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot listen on {}: {error}", self.address))
        })
    }

    fn open(&self) -> io::Result<TcpListener> {
        let socket = Socket::new(Domain::for_address(self.address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(self.reuse_port)?;
        socket.set_tcp_nodelay(true)?;
        socket.bind(&self.address.into())?;
        socket.listen(i32::try_from(self.backlog).unwrap_or(i32::MAX))?;
        Ok(socket.into())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    fn spec(address: &str) -> ListenSpec {
        ListenSpec { address: address.parse().unwrap(), backlog: 16, reuse_port: false }
    }

    #[test]
    fn accepted_connections_inherit_no_delay() {
        let listener = spec("127.0.0.1:0").bind().unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(listener.accept().unwrap().0.nodelay().unwrap());
    }

    #[test]
    fn a_taken_address_is_named() {
        let listener = spec("127.0.0.1:0").bind().unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let error = spec(&address).bind().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(error.to_string().contains(&address));
    }
}
