//! What every server shares: limits and counts, the life of a connection as a state machine without
//! I/O, and the listening socket.

mod connection;
mod lag;
mod listen;
mod socket_server;
mod state;

pub use connection::{Connection, Next, Work};
pub use lag::LagMeter;
pub use listen::ListenSpec;
pub use socket_server::{SocketServer, Sockets};
pub use state::{Counts, OpenConnection, Place, ServerLimits, ServerState, Service};
