//! What every server shares: limits and counts, the life of a connection as a state machine without
//! I/O, and the listening socket.
//!
//! Three things are so in every model, because a row would mean something else in each if they were not:
//!
//! * **A client that vanishes keeps its place in flight until its plan is over.** Nobody watches a socket while a plan
//!   waits: in the models in which a handler blocks its thread or its coroutine nobody could, and watching it in the
//!   others would make their waits another thing. What a plan may take is bounded, and so is what is in flight.
//! * **A request has a time limit to arrive whole, and each answer one to be taken whole**, however many pieces either
//!   comes in. An idle connection has a limit of its own.
//! * **Reads are of [`READ_BYTES`].**

mod connection;
mod lag;
mod level;
mod listen;
mod metrics;
mod socket_server;
mod state;

/// How many bytes a connection reads at once, in every model: a larger buffer would save system calls to whoever has
/// it. This one fits on the smallest stack.
pub const READ_BYTES: usize = 4096;

pub use connection::{Connection, Next, OwnAnswer, Work};
pub use lag::LagMeter;
pub use listen::ListenSpec;
pub use socket_server::{SocketServer, Sockets};
pub use state::{Counts, IN_FLIGHT_MAX, OpenConnection, Place, ServerLimits, ServerState, Service};
