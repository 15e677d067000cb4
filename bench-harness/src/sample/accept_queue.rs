//! The accept queue of a listener: how many connections wait in it, and how many found one full.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};

/// Counters of all accept queues of this network namespace: they do not tell whose queue was full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AcceptQueues {
    overflows: u64,
    drops: u64,
}

impl AcceptQueues {
    /// Reads the counters.
    pub(crate) fn read() -> AcceptQueues {
        AcceptQueues::parse(&fs::read_to_string("/proc/net/netstat").unwrap_or_default())
    }

    fn parse(netstat: &str) -> AcceptQueues {
        let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
        let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let of = |name: &str| {
            let column = names.split(' ').position(|column| column == name)?;
            values.split(' ').nth(column)?.parse().ok()
        };
        AcceptQueues { overflows: of("ListenOverflows").unwrap_or(0), drops: of("ListenDrops").unwrap_or(0) }
    }

    /// Connections that found an accept queue full from `earlier` to here. A drop has other reasons too,
    /// but an overflow is always a drop.
    pub(crate) fn turned_away_since(self, earlier: AcceptQueues) -> u64 {
        self.overflows.saturating_sub(earlier.overflows).max(self.drops.saturating_sub(earlier.drops))
    }
}

/// How many connections wait to be accepted at a port; of the fullest queue, where several listeners share the port.
/// None where nobody listens there, or the kernel does not tell.
pub(crate) fn waiting(port: u16) -> Option<u64> {
    // A page at a time: the listeners come first, and the kernel need not write what is not read.
    waiting_in(BufReader::with_capacity(4_096, File::open("/proc/net/tcp").ok()?), port)
}

/// One listener in `/proc/net/tcp`, where `rx_queue` is what waits to be accepted:
/// `0: 0100007F:1F90 00000000:0000 0A 00000000:0000002A ...`
fn waiting_in(table: impl BufRead, port: u16) -> Option<u64> {
    const LISTEN: &str = "0A";
    let mut fullest = None;
    for line in table.lines().skip(1) {
        let line = line.ok()?;
        let mut fields = line.split_whitespace().skip(1);
        let (local, state, queues) = (fields.next()?, fields.nth(1)?, fields.next()?);
        if state != LISTEN {
            break;
        }
        let own = local.rsplit_once(':').and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
        if own == Some(port) {
            let (_, rx) = queues.split_once(':')?;
            fullest = fullest.max(u64::from_str_radix(rx, 16).ok());
        }
    }
    fullest
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_that_nobody_accepts_is_seen_at_its_own_port() {
        let [busy, idle] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
        let _waiting = [(); 3].map(|()| TcpStream::connect(busy.local_addr().unwrap()).unwrap());
        assert_eq!((waiting(port(&busy)), waiting(port(&idle))), (Some(3), Some(0)));
        let gone = port(&idle);
        drop(idle);
        assert_eq!(waiting(gone), None);
    }

    #[test]
    fn the_fullest_of_several_listeners_counts_and_connections_end_the_list() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000007 00:00000000 00000000     0        0 579 1
   1: 0100007F:1F90 00000000:0000 0A 00000000:0000002A 00:00000000 00000000     0        0 580 1
   2: 0100007F:1F90 0100007F:9C40 01 00000000:FFFFFFFF 00:00000000 00000000     0        0 581 1
";
        assert_eq!(waiting_in(table.as_bytes(), 8_080), Some(42));
        assert_eq!(waiting_in(table.as_bytes(), 8_081), None);
        assert_eq!(waiting_in(&b""[..], 8_080), None);
    }

    #[test]
    fn overflows_are_found_by_their_column() {
        let at = |overflows: u64, drops: u64| {
            let text = format!(
                "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 9 {overflows} {drops}\n"
            );
            AcceptQueues::parse(&text)
        };
        assert_eq!(at(5, 8).turned_away_since(at(2, 2)), 6);
        assert_eq!(AcceptQueues::parse("").turned_away_since(at(2, 2)), 0);
    }
}
