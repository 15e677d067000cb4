//! What each metric means to whoever compares: which way it is better, or that it only describes the cell.

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Better {
    More,
    Less,
}

impl Better {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Better::More => "more",
            Better::Less => "less",
        }
    }
}

/// What a metric is to a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    /// A figure of the model, which is better one way.
    Figure(Better),
    /// What the cell was like: what was offered, what it waited for, how busy it was, how the load client did.
    Describes,
}

const MORE: Sense = Sense::Figure(Better::More);
const LESS: Sense = Sense::Figure(Better::Less);

/// What is not measured but computed, and so has no noise, or that of what it is computed from.
pub(crate) const COMPUTED: [&str; 4] =
    ["bound_ns", "efficiency", "ceiling_images_per_s", "expected_images_per_s"];

/// Every metric of a row.
const METRICS: [(&str, Sense); 71] = [
    // Capacity.
    ("elapsed_ns", LESS),
    ("bound_ns", Sense::Describes),
    ("efficiency", MORE),
    ("dispatch_elapsed_ns", LESS),
    ("in_flight_peak", Sense::Describes),
    ("in_flight_capacity", MORE),
    ("wait_ns", Sense::Describes),
    ("spread_ns", Sense::Describes),
    ("objective_ns", Sense::Describes),
    // Throughput, and what any experiment has of it.
    ("throughput_per_s", MORE),
    ("offered_rate_per_s", Sense::Describes),
    ("cpu_ns_per_request", LESS),
    ("context_switches_per_request", LESS),
    ("syscalls_per_request", LESS),
    ("response_p50_ns", LESS),
    ("response_p99_ns", LESS),
    ("server_busy_share", Sense::Describes),
    ("client_cpu_ns_per_request", Sense::Describes),
    ("send_lag_p99_ns", Sense::Describes),
    // Memory. Address space that is only reserved costs nothing.
    ("total_bytes_per_unit", LESS),
    ("pss_bytes_per_unit", LESS),
    ("private_bytes_per_unit", LESS),
    ("page_table_bytes_per_unit", LESS),
    ("kernel_stack_bytes_per_unit", LESS),
    ("slab_bytes_per_unit", LESS),
    ("reserved_bytes_per_unit", Sense::Describes),
    ("pss_bytes_intercept", LESS),
    // Blocking.
    ("probe_p50_ns", LESS),
    ("probe_p99_ns", LESS),
    ("probe_p999_ns", LESS),
    ("probe_max_ns", LESS),
    ("blocker_p50_ns", LESS),
    ("blocker_p90_ns", LESS),
    ("blocker_p99_ns", LESS),
    ("blocker_max_ns", LESS),
    ("loop_lag_p50_ns", LESS),
    ("loop_lag_p90_ns", LESS),
    ("loop_lag_p99_ns", LESS),
    ("loop_lag_max_ns", LESS),
    ("probes", Sense::Describes),
    ("blockers", Sense::Describes),
    ("blocker_erlangs", Sense::Describes),
    ("carrier_busy_share", Sense::Describes),
    ("held_share_least", Sense::Describes),
    ("held_share_most", Sense::Describes),
    ("probe_held_share", Sense::Describes),
    ("probe_connection_wait_p99_ns", Sense::Describes),
    ("probe_send_lag_p99_ns", Sense::Describes),
    ("loop_ticks", Sense::Describes),
    // The pipeline.
    ("bulk_images_per_s", MORE),
    ("images_per_s", MORE),
    ("ceiling_images_per_s", Sense::Describes),
    ("expected_images_per_s", Sense::Describes),
    ("batch_size_mean", Sense::Describes),
    ("interactive_p50_ns", LESS),
    ("interactive_p99_ns", LESS),
    ("interactive_max_ns", LESS),
    ("interactive_admitted_p50_ns", LESS),
    ("interactive_admitted_max_ns", LESS),
    ("interactive_refused", Sense::Describes),
    ("bulk_admitted_p50_ns", Sense::Describes),
    ("in_flight_mean", Sense::Describes),
    ("image_bytes_peak", Sense::Describes),
    ("cpu_ns_per_image", LESS),
    ("detector_busy_share", Sense::Describes),
    // The pool.
    ("accepted", Sense::Describes),
    ("ran", Sense::Describes),
    ("rejected", Sense::Describes),
    ("reject_p99_ns", LESS),
    ("queue_wait_p99_ns", LESS),
    ("shutdown_ns", LESS),
];

/// What a metric is; none where nothing is known of it.
pub(crate) fn sense(metric: &str) -> Option<Sense> {
    METRICS.iter().find(|(name, _)| *name == metric).map(|(_, sense)| *sense)
}

/// Which way a metric is better, where it is better one way.
pub(crate) fn better(metric: &str) -> Option<Better> {
    match sense(metric)? {
        Sense::Figure(better) => Some(better),
        Sense::Describes => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_metric_stands_here_once_and_its_unit_agrees_with_its_sense() {
        let names: BTreeSet<&str> = METRICS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), METRICS.len());
        for (name, sense) in METRICS {
            // Nobody wants more time or more memory, and nobody wants fewer requests a second.
            let units = ["_ns", "_bytes_per_unit", "_per_request"];
            if units.iter().any(|unit| name.ends_with(unit)) {
                assert_ne!(sense, MORE, "{name}");
            } else if name.ends_with("_per_s") {
                assert_ne!(sense, LESS, "{name}");
            }
        }
        assert!(COMPUTED.iter().all(|name| names.contains(name)));
        assert_eq!((better("elapsed_ns"), better("probes"), better("new")), (Some(Better::Less), None, None));
        assert_eq!((sense("probes"), sense("new")), (Some(Sense::Describes), None));
    }
}
