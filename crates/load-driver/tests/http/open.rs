//! The open loop over real sockets: pacing, waiting for connections, and servers that fail. What its figures mean is
//! tested on a virtual clock, beside the code.

use std::io::Write;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use load_driver::honesty::honesty;
use load_driver::http::{HttpLoad, HttpLoadResult, HttpLoadSpec};
use load_driver::pace::monotonic_ns;
use workload::arrivals::Spacing;

use crate::servers::{MS, More, Server, closed, ns, ok, response};

/// 500 requests a second for 400 ms, after 100 ms of warm-up.
fn open(server: &Server, connections: usize) -> HttpLoadSpec {
    HttpLoadSpec { connections, load: load(500.0, Spacing::Constant, 0, 1), ..closed(server.address) }
}

fn load(rate_per_s: f64, arrivals: Spacing, first: usize, stride: usize) -> HttpLoad {
    HttpLoad::Open {
        rate_per_s,
        arrivals,
        seed: 5,
        warmup_ns: 100 * MS,
        duration_ns: 400 * MS,
        first,
        stride,
    }
}

fn answering_after(wait: Duration) -> Server {
    Server::responding(move |stream| {
        sleep(wait);
        if stream.write_all(&ok()).is_ok() { More::Yes } else { More::No }
    })
}

/// What holds for every open loop, whatever the server did.
fn measure_open(spec: &HttpLoadSpec) -> HttpLoadResult {
    let began = Instant::now();
    let result = run_checked(spec);
    assert!(began.elapsed() < Duration::from_millis(500) + Duration::from_nanos(spec.drain_ns) + SLACK);
    result
}

/// For set-up, and for threads that the machine does not run at once.
const SLACK: Duration = Duration::from_millis(1_500);

fn run_checked(spec: &HttpLoadSpec) -> HttpLoadResult {
    let result = load_driver::http::run(spec).expect("a result, whose accounts balance");
    assert_eq!(result.elapsed_ns, 400 * MS);
    assert_eq!((result.send_lag.count(), result.connection_wait.count()), (result.offered, result.offered));
    assert_eq!(result.errors.keys().collect::<Vec<_>>(), result.first_errors.keys().collect::<Vec<_>>());
    // An early start would be an enormous lag, for the difference has no sign.
    assert!(result.send_lag.max_ns().is_none_or(|lag_ns| lag_ns < 1_000 * MS), "{result:?}");
    result
}

#[test]
fn a_schedule_is_kept_over_connections_that_stay() {
    let wait = Duration::from_millis(5);
    let server = answering_after(wait);
    let result = measure_open(&open(&server, 50));
    assert_eq!((result.offered, result.completed, result.warmup_finished), (200, 200, 50), "{result:?}");
    assert_eq!((result.connected, server.accepted()), (50, 50), "no connection was opened later");
    assert_eq!(result.offered_rate_per_s(), Some(500.0));
    assert!(result.response.min_ns().expect("samples") >= ns(wait));
    let mean = |histogram: &load_driver::recorder::Histogram| histogram.mean_ns().expect("samples");
    let parts = mean(&result.send_lag) + mean(&result.connection_wait) + mean(&result.service);
    assert!((parts / mean(&result.response) - 1.0).abs() < 0.01, "{parts} {result:?}");
    assert_eq!(honesty(&result, None).len(), 3, "each check has its figures");
    assert!(result.spin_ns > 0);
}

#[test]
fn what_waits_for_a_connection_is_counted_apart() {
    // One connection carries less than 100 a second.
    let server = answering_after(Duration::from_millis(10));
    let result = measure_open(&HttpLoadSpec { drain_ns: 100 * MS, ..open(&server, 1) });
    assert_eq!(result.offered, 200);
    assert!(result.unsent_at_end > 100 && result.waiting_max > 150, "{result:?}");
    assert_eq!(result.in_flight_max, 1);
    assert!(result.connection_wait.quantile_ns(0.5) > Some(200 * MS), "{result:?}");
    assert!(result.throughput_per_s().expect("a window") <= 100.0);
}

#[test]
fn shards_of_a_poisson_process_interleave() {
    let server = Server::constant(ok());
    let start_at_monotonic_ns = Some(monotonic_ns() + 100 * MS);
    let shards: Vec<_> = (0..2)
        .map(|first| {
            let load = load(500.0, Spacing::Poisson, first, 2);
            let spec = HttpLoadSpec { load, start_at_monotonic_ns, ..open(&server, 10) };
            thread::spawn(move || run_checked(&spec))
        })
        .collect();
    let results: Vec<_> = shards.into_iter().map(|shard| shard.join().expect("a result")).collect();
    let mut whole = results[0].clone();
    whole.merge(&results[1]);
    whole.check_accounting().expect("balanced");
    assert_eq!(whole.completed, whole.offered);
    assert!(results[0].offered.abs_diff(results[1].offered) <= 1);
    assert_eq!(whole.rate_asked_per_s, 500.0);
}

#[test]
fn a_server_that_closes_after_each_answer_is_connected_again() {
    let server = Server::responding(|stream| {
        let _sent = stream.write_all(&response("200 OK", "Connection: close\r\n", "{\"steps\":1}"));
        More::No
    });
    let result = measure_open(&open(&server, 20));
    assert_eq!((result.offered, result.completed), (200, 200), "{result:?}");
    assert!(result.connected >= 250, "{result:?}");
}

#[test]
fn a_server_that_dies_leaves_a_bounded_run_in_which_each_request_has_an_outcome() {
    let dies = Instant::now() + Duration::from_millis(250);
    let server = Server::responding(move |stream| {
        sleep(Duration::from_millis(1));
        if Instant::now() < dies && stream.write_all(&ok()).is_ok() { More::Yes } else { More::No }
    });
    let result = measure_open(&HttpLoadSpec { timeout_ns: 300 * MS, ..open(&server, 4) });
    assert_eq!(result.offered, 200);
    assert!(result.completed > 0 && result.errors_total() > 0, "{result:?}");
}

#[test]
fn a_server_that_was_never_there_is_neither_stormed_nor_waited_for() {
    let address = Server::constant(ok()).address;
    // The listener closes soon after the server is dropped.
    sleep(Duration::from_millis(100));
    let spec = HttpLoadSpec {
        connections: 10,
        load: load(5_000.0, Spacing::Constant, 0, 1),
        timeout_ns: 50 * MS,
        ..closed(address)
    };
    let result = measure_open(&spec);
    assert_eq!(result.offered, 2_000);
    assert!(result.errors["connect-refused"] > 0, "{result:?}");
    assert!(result.errors["connect-refused"] < 1_000, "at most 1,000 attempts a second in all: {result:?}");
    assert_eq!(result.timed_out, result.timed_out_unsent);
    assert_eq!(result.timed_out + result.errors_total(), 2_000);
}

#[test]
fn a_server_that_never_answers_times_out_what_was_sent_and_what_was_not() {
    let server = Server::responding(|_| {
        sleep(Duration::from_secs(3));
        More::No
    });
    let result = measure_open(&HttpLoadSpec { timeout_ns: 60 * MS, ..open(&server, 2) });
    assert_eq!((result.timed_out, result.response.count()), (200, 200), "{result:?}");
    assert!(result.timed_out_unsent > 0 && result.timed_out_unsent < 200, "{result:?}");
    assert!(result.response.min_ns().expect("samples") >= 59 * MS);
    let cut = measure_open(&HttpLoadSpec { drain_ns: 20 * MS, ..open(&server, 2) });
    assert_eq!((cut.in_flight_at_end, cut.completed), (0, 0), "the warm-up's requests hold the connections");
    assert_eq!((cut.unsent_at_end, cut.response.count()), (200, 200), "{cut:?}");
}
