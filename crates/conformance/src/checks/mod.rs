//! The table of checks.

mod accounts;
mod blocking;
mod capacity;
mod description;
mod ending;
mod flow;
mod lag;
mod limits;
mod metrics;
mod panics;
mod pipeline;
mod routes;
mod strategies;
mod timeouts;
mod unheard;
mod wire;

use cell_protocol::Ability;

use crate::Check;
use crate::failure::Seen;
use crate::subject::Subject;

/// Every check, in the order in which a reader would ask.
pub const CHECKS: &[Check] = &[
    always("describes-itself", "one complete and consistent line", description::describes_itself),
    always(
        "names-its-variants",
        "an unknown variant is an error that names those there are",
        description::names_its_variants,
    ),
    always("refuses-bad-specs", "a bad cell spec is refused with one line", description::refuses_bad_specs),
    server("refuses-bad-limits", "each limit has a range, which is told", description::refuses_bad_limits),
    handler("burst-loses-nothing", "offered = completed, nothing lost", accounts::burst_loses_nothing),
    handler("waits-take-their-time", "no request is over before its plan", accounts::waits_take_their_time),
    handler("compute-burns-cpu", "planned rounds show as CPU time", accounts::compute_burns_cpu),
    handler("checksums-are-right", "each answer proves its steps", accounts::checksums_are_right),
    handler("peak-is-the-limit", "as many in flight as declared", capacity::peak_is_the_limit),
    handler(
        "threads-while-waiting",
        "no thread pool hides behind the waits",
        capacity::threads_while_waiting,
    ),
    handler(
        "full-queue-is-told",
        "beyond the queue, requests come back by name",
        capacity::full_queue_is_told,
    ),
    handler("panics-are-told", "a panic is a failed request and no more", panics::panics_are_told),
    handler(
        "strategies-in-process",
        "each strategy works or has its reason",
        strategies::strategies_in_process,
    ),
    handler(
        "blocks-keep-their-threads",
        "as many block at one time as declared",
        blocking::blocks_keep_their_threads,
    ),
    server(
        "strategies-free-the-workers",
        "others are answered meanwhile",
        blocking::strategies_free_the_workers,
    ),
    server(
        "strategies-over-http",
        "each strategy works or is answered 400",
        strategies::strategies_over_http,
    ),
    server("answers-plans", "the answer to a plan proves it", routes::answers_plans),
    server("names-what-is-wrong", "400, 404 and 405 say why", routes::names_what_is_wrong),
    server("refuses-long-heads", "431 arrives whole", routes::refuses_long_heads),
    server("metrics-agree", "client, snapshot and /metrics tell one story", metrics::metrics_agree),
    server("loop-lag-shows-blocking", "ticks are late when handlers block", lag::loop_lag_shows_blocking),
    server("keeps-connections", "many requests a connection, until it is closed", wire::keeps_connections),
    server("speaks-http-1.0", "closed unless it is kept", wire::speaks_http_1_0),
    server("answers-head", "the length without the body", wire::answers_head),
    server("pipelines", "answers in order, however the requests come", wire::pipelines),
    server("takes-pieces", "a request may be cut anywhere", wire::takes_pieces),
    server(
        "answers-a-half-closed-client",
        "who has stopped sending still reads",
        wire::answers_a_half_closed_client,
    ),
    server("waits-overlap", "requests wait beside one another", flow::waits_overlap),
    server(
        "idle-connections-cost-no-worker",
        "idle ones keep nobody out",
        flow::idle_connections_cost_no_worker,
    ),
    server("slow-readers-get-everything", "in bounded memory", flow::slow_readers_get_everything),
    server("in-flight-limit", "N are served, k get 503 and Retry-After", limits::in_flight_limit),
    server("full-queue-answers-503", "and the rest completes", limits::full_queue_answers_503),
    server("connection-limit", "one too many gets 503 and is closed", limits::connection_limit),
    server("idle-connections-close", "after the idle time-out", timeouts::idle_connections_close),
    server(
        "slow-requests-are-answered-408",
        "also when they trickle",
        timeouts::slow_requests_are_answered_408,
    ),
    server(
        "untaken-answers-time-out",
        "who takes no answer is let go of",
        timeouts::untaken_answers_time_out,
    ),
    server("panics-are-answered-500", "connection and capacity live on", panics::panics_are_answered_500),
    pipeline(
        "pipeline-loses-nothing",
        "every image is accounted for, and no limit is passed",
        pipeline::load::pipeline_loses_nothing,
    ),
    pipeline(
        "pipeline-pushes-back",
        "bulk work waits and interactive work is refused by name",
        pipeline::load::pipeline_pushes_back,
    ),
    pipeline(
        "pipeline-uses-its-devices",
        "as many detect at one time as there are",
        pipeline::detectors::pipeline_uses_its_devices,
    ),
    pipeline(
        "pipeline-detects-on-the-cores",
        "a detector without a device burns CPU time",
        pipeline::detectors::pipeline_detects_on_the_cores,
    ),
    pipeline(
        "pipeline-keeps-order",
        "images of a lane leave as they came",
        pipeline::load::pipeline_keeps_order,
    ),
    pipeline(
        "pipeline-survives-panics",
        "a panic in a stage fails its own images",
        pipeline::faults::pipeline_survives_panics,
    ),
    pipeline(
        "pipeline-counts-what-is-stuck",
        "what a drain leaves is told by count",
        pipeline::faults::pipeline_counts_what_is_stuck,
    ),
    pipeline("pipeline-drains", "what is in flight at a stop is finished", pipeline::ending::pipeline_drains),
    pipeline(
        "pipeline-gives-up",
        "what is stuck at a stop is told by count",
        pipeline::ending::pipeline_gives_up,
    ),
    pipeline(
        "pipeline-may-never-begin",
        "a stop before the start has its result",
        pipeline::ending::pipeline_may_never_begin,
    ),
    always(
        "survives-without-standard-error",
        "what it says is lost, and nothing else",
        unheard::survives_without_standard_error,
    ),
    server("server-drains", "what was accepted is answered", ending::server_drains),
    handler("burst-drains", "what was dispatched completes", ending::burst_drains),
    always("deadline-is-kept", "a stuck request does not hold a stop", ending::deadline_is_kept),
    always("ends-with-its-input", "no runner outlives its harness", ending::ends_with_its_input),
    handler(
        "offload-threads-are-a-limit",
        "no more blocks at one time than it is given threads",
        strategies::offload_threads_are_a_limit,
    ),
    server("leaves-nothing-behind", "no process, no listener", ending::leaves_nothing_behind),
    server("interrupt-drains", "Ctrl-C on `serve` drains and exits 0", ending::interrupt_drains),
];

type Run = fn(&Subject<'_>) -> Seen;

const fn always(name: &'static str, what: &'static str, run: Run) -> Check {
    Check { name, what, needs: None, run }
}

const fn handler(name: &'static str, what: &'static str, run: Run) -> Check {
    Check { name, what, needs: Some(Ability::Handler), run }
}

const fn pipeline(name: &'static str, what: &'static str, run: Run) -> Check {
    Check { name, what, needs: Some(Ability::Pipeline), run }
}

const fn server(name: &'static str, what: &'static str, run: Run) -> Check {
    Check { name, what, needs: Some(Ability::Server), run }
}
