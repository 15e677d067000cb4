//! Load generators, and what they record into.
//!
//! * [`http`]: an HTTP/1.1 client on one thread and one epoll instance, with closed-loop, open-loop and
//!   one-request-per-connection load.
//! * [`in_process`]: requests dispatched to a runtime in the same process, and their account.
//! * [`pipeline`]: images offered to a pipeline in the same process.
//! * [`honesty`]: whether a generator kept its schedule.
//! * [`hiccup`]: the stalls of the machine, against which lateness is judged.
//! * [`pace`]: starting work at absolute instants of the monotonic clock.
//! * [`priority`]: threads that go before others.
//! * [`recorder`]: the latency histogram that results carry.
//!
//! The crate uses no asynchronous runtime: the client that measures a runtime must not be one of its
//! contestants.

pub mod hiccup;
pub mod honesty;
pub mod http;
pub mod in_process;
pub mod pace;
mod pinned;
pub mod pipeline;
pub mod priority;
pub mod recorder;
