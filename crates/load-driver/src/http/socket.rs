//! Opens client sockets: non-blocking, without Nagle's delay, from one source address or many.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};

/// How many source addresses a client takes in turn where it spreads them: 127.0.0.1 up to this last octet.
pub const SOURCE_ADDRESSES: u8 = 254;

/// Which source address the next connection takes.
#[derive(Debug)]
pub(super) enum Sources {
    /// The kernel chooses.
    Any,
    /// 127.0.0.x in turn; this is the next x.
    Spread(u8),
}

impl Sources {
    pub(super) fn new(spread: bool) -> Self {
        if spread { Self::Spread(1) } else { Self::Any }
    }

    fn next(&mut self) -> Option<SocketAddr> {
        let Self::Spread(octet) = self else { return None };
        let source = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, *octet)), 0);
        *octet = if *octet == SOURCE_ADDRESSES { 1 } else { *octet + 1 };
        Some(source)
    }
}

/// Begins to open a connection; epoll says when it is open or has failed.
pub(super) fn begin_connect(server: &SocketAddr, sources: &mut Sources) -> Result<OwnedFd, Errno> {
    let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    // With Nagle's algorithm, a delayed acknowledgement would show as a flat 40 ms.
    sockopt::set_tcp_nodelay(&socket, true)?;
    if let Some(source) = sources.next() {
        defer_port_choice(&socket)?;
        bind(&socket, &source)?;
    }
    match connect(&socket, server) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

/// Sets `IP_BIND_ADDRESS_NO_PORT` (see `ip(7)`): `bind` fixes the address alone, and the port is chosen by
/// `connect`, which needs it to be free for this pair of addresses only.
#[expect(unsafe_code, reason = "rustix has no wrapper for this socket option")]
fn defer_port_choice(socket: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    let on_bytes = libc::socklen_t::try_from(size_of_val(&on)).expect("the size of an int");
    // SAFETY: the descriptor is open as long as `socket` is borrowed, and the option value is an int that outlives
    // the call, passed with its own size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            on_bytes,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn sources_take_turns() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let server = listener.local_addr().expect("its address");
        let mut sources = Sources::new(true);
        let _sockets: Vec<_> =
            (0..3).map(|_| begin_connect(&server, &mut sources).expect("a socket")).collect();
        for octet in 1..=3 {
            let (_, peer) = listener.accept().expect("a connection");
            assert_eq!(peer.ip(), IpAddr::V4(Ipv4Addr::new(127, 0, 0, octet)));
        }
        assert_eq!(
            (0..SOURCE_ADDRESSES).filter_map(|_| sources.next()).count(),
            usize::from(SOURCE_ADDRESSES)
        );
        assert_eq!(sources.next().expect("an address").ip(), IpAddr::V4(Ipv4Addr::new(127, 0, 0, 4)));
    }

    #[test]
    fn nagle_is_off() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let server = listener.local_addr().expect("its address");
        let socket = begin_connect(&server, &mut Sources::new(false)).expect("a socket");
        assert!(sockopt::tcp_nodelay(&socket).expect("readable"));
    }
}
