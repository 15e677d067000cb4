//! What is counted while requests are carried out, in the words that metrics and snapshots share.

use serde::{Deserialize, Serialize};

/// A server's counts at one instant. Everything but the gauges only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCounts {
    /// The instant at which the plans in flight and their integral were read, of `CLOCK_MONOTONIC`, in nanoseconds.
    pub at_monotonic_ns: u64,
    /// Plans that were accepted to be carried out.
    pub accepted: u64,
    /// Plans that were carried out.
    pub completed: u64,
    /// Plans that were answered 503 because of a limit or a drain.
    pub rejected: u64,
    /// Plans that were accepted and panicked or whose connection was torn down with them.
    pub failed: u64,
    /// Requests that were understood as HTTP, or not even that, and refused with a 4xx.
    pub refused: u64,
    /// Gauge: plans that were accepted and wait to be carried out.
    pub queued: u64,
    /// Gauge: plans being carried out now.
    pub in_flight: u64,
    /// The most plans in flight at one time so far.
    pub in_flight_peak: u64,
    /// The integral of `in_flight` over time up to that instant, in nanoseconds, to a microsecond.
    pub in_flight_integral_ns: u64,
    /// Connections accepted.
    pub connections_accepted: u64,
    /// How many processes serve. One, where the model has no processes.
    pub processes: u64,
    /// Connections accepted by the process that accepted most: what the kernel deals out is not even.
    pub connections_accepted_most: u64,
    /// Connections turned away at the connection limit.
    pub connections_rejected: u64,
    /// Gauge: connections open now.
    pub connections: u64,
    /// Times that accepting a connection failed because the process or the system was out of descriptors.
    pub accept_out_of_descriptors: u64,
    /// Times that accepting a connection failed for another reason.
    pub accept_failed: u64,
    /// Times that a connection could not be given a thread, or what else the model needs for it.
    pub connections_unstartable: u64,
}

/// Where the requests of a process are at one instant, by the stamps of those who carry them out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Requests offered so far.
    pub offered: u64,
    /// Requests whose service has begun and not ended.
    pub in_service: u64,
    /// Requests that have ended, however that was.
    pub ended: u64,
}
