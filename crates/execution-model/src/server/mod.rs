//! What every server shares: limits and counts, the life of a connection as a state machine without
//! I/O, and the listening socket.

mod connection;
mod lag;
mod listen;
mod socket_server;
mod state;

/// How many bytes a connection reads at once, in every model: a larger buffer would save system calls to whoever has
/// it. This one fits on the smallest stack.
pub const READ_BYTES: usize = 4096;

pub use connection::{Connection, Next, Work};
pub use lag::LagMeter;
pub use listen::ListenSpec;
pub use socket_server::{SocketServer, Sockets};
pub use state::{Counts, OpenConnection, Place, ServerLimits, ServerState, Service};
