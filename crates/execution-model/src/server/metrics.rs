//! A server's counts in the Prometheus text exposition format.

use workload::{LoopLag, ServerCounts};

use crate::exposition::Exposition;
use crate::server::lag;

/// The counts, and how late ticks came, as `/metrics` tells them.
pub(super) fn text(counts: &ServerCounts, loop_lag: &LoopLag) -> String {
    let mut told = Exposition::default();
    let mut metric = |name, kind, help, value| told.metric(name, kind, help, value);
    metric("requests_in_flight", "gauge", "Plans being carried out.", counts.in_flight);
    metric("requests_queued", "gauge", "Plans accepted that wait to be carried out.", counts.queued);
    metric("requests_in_flight_peak", "gauge", "The most plans in flight so far.", counts.in_flight_peak);
    metric("requests_accepted_total", "counter", "Plans accepted.", counts.accepted);
    metric("requests_completed_total", "counter", "Plans carried out.", counts.completed);
    metric("requests_rejected_total", "counter", "Plans answered 503.", counts.rejected);
    metric(
        "requests_failed_total",
        "counter",
        "Plans accepted that panicked or were torn down.",
        counts.failed,
    );
    metric("requests_refused_total", "counter", "Requests answered 4xx.", counts.refused);
    metric("connections", "gauge", "Connections open.", counts.connections);
    metric("connections_accepted_total", "counter", "Connections accepted.", counts.connections_accepted);
    metric(
        "connections_rejected_total",
        "counter",
        "Connections over the limit.",
        counts.connections_rejected,
    );
    lag::write(&mut told, loop_lag);
    told.into_text()
}
