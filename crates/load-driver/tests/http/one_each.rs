//! Connections of one request each: pacing, shards, and what happens when they cannot be opened.

use std::io::Write;
use std::process::Command;
use std::thread::{self, sleep};
use std::time::Duration;

use load_driver::http::{HttpLoad, HttpLoadSpec};
use load_driver::pace::monotonic_ns;

use crate::servers::{MS, More, Server, measure, ns, ok, one_each, read_request};

/// Answers after `wait`, and closes the connection as it is asked to.
fn closing_after(wait: Duration) -> Server {
    Server::start(move |mut stream| {
        let request = read_request(&mut stream).expect("a request");
        assert!(request.windows(17).any(|part| part == b"Connection: close"));
        sleep(wait);
        let _sent = stream.write_all(&ok());
    })
}

#[test]
fn each_request_has_a_connection_and_starts_on_time_but_never_early() {
    let wait = Duration::from_millis(5);
    let server = closing_after(wait);
    let result = measure(&one_each(server.address, 100, 300 * MS));
    assert_eq!((result.offered, result.completed, result.connected), (100, 100, 100), "{result:?}");
    assert_eq!(server.accepted(), 100);
    // The last start is intended at 297 ms.
    assert!(result.elapsed_ns >= 297 * MS + ns(wait), "{result:?}");
    assert!(result.response.min_ns().expect("samples") >= ns(wait));
    // An early start would be an enormous lag: the difference has no sign.
    assert_eq!(result.send_lag.count(), 100);
    assert!(result.send_lag.max_ns().expect("samples") < 1_000 * MS, "{result:?}");
    // Response = lag + connecting + service, so its mean is above the mean of each.
    let mean = |histogram: &load_driver::recorder::Histogram| histogram.mean_ns().expect("samples");
    let parts = mean(&result.send_lag) + mean(&result.connect) + mean(&result.service);
    assert!((parts / mean(&result.response) - 1.0).abs() < 0.01, "{parts} {result:?}");
}

#[test]
fn a_burst_is_in_flight_together() {
    let server = closing_after(Duration::from_millis(300));
    let result = measure(&one_each(server.address, 100, 0));
    assert_eq!(result.completed, 100, "{result:?}");
    assert_eq!(result.in_flight_max, 100, "{result:?}");
    assert!(result.elapsed_ns >= 300 * MS);
}

#[test]
fn shards_interleave_to_the_whole_load() {
    let server = closing_after(Duration::from_millis(1));
    let start_ns = monotonic_ns() + 50 * MS;
    let shards: Vec<_> = (0..2)
        .map(|first| {
            let spec = HttpLoadSpec {
                load: HttpLoad::OneEach { requests: 41, spread_ns: 100 * MS, first, stride: 2 },
                start_at_monotonic_ns: Some(start_ns),
                spread_sources: true,
                ..one_each(server.address, 41, 0)
            };
            thread::spawn(move || measure(&spec))
        })
        .collect();
    let results: Vec<_> = shards.into_iter().map(|shard| shard.join().expect("a result")).collect();
    assert_eq!(results.iter().map(|result| result.completed).collect::<Vec<_>>(), [21, 20]);
    let mut whole = results[0].clone();
    whole.merge(&results[1]);
    whole.check_accounting().expect("balanced");
    assert_eq!((whole.completed, server.accepted()), (41, 41));
}

#[test]
fn a_server_that_stays_open_is_left_after_a_while() {
    let server = Server::constant(ok());
    // Slots of connections that wait for their server to close are used again.
    let result = measure(&HttpLoadSpec { connections: 4, ..one_each(server.address, 40, 200 * MS) });
    assert_eq!((result.completed, result.connected), (40, 40), "{result:?}");
}

#[test]
fn an_arrival_above_the_limit_is_an_error_and_not_a_delay() {
    let server = closing_after(Duration::from_millis(200));
    let result = measure(&HttpLoadSpec { connections: 3, ..one_each(server.address, 10, 50 * MS) });
    assert_eq!((result.completed, result.errors["connection-limit"]), (3, 7), "{result:?}");
    assert_eq!(result.in_flight_max, 3);
    assert_eq!(result.send_lag.count(), 10);
}

#[test]
fn a_refused_connection_fails_its_request_only() {
    let address = closing_after(Duration::ZERO).address;
    // The listener closes soon after the server is dropped.
    sleep(Duration::from_millis(100));
    let result = measure(&one_each(address, 20, 20 * MS));
    assert_eq!(result.errors["connect-refused"], 20, "{result:?}");
}

#[test]
fn no_answer_is_a_time_out_and_a_short_drain_cuts() {
    let server = Server::responding(|_| {
        sleep(Duration::from_secs(3));
        More::No
    });
    let timed_out = measure(&HttpLoadSpec { timeout_ns: 50 * MS, ..one_each(server.address, 10, 10 * MS) });
    assert_eq!((timed_out.timed_out, timed_out.response.count()), (10, 10), "{timed_out:?}");
    let cut = measure(&HttpLoadSpec { drain_ns: 30 * MS, ..one_each(server.address, 10, 10 * MS) });
    assert_eq!((cut.in_flight_at_end, cut.response.count()), (10, 10), "{cut:?}");
}

#[test]
fn a_shard_without_requests_has_an_empty_result() {
    let server = Server::constant(ok());
    let load = HttpLoad::OneEach { requests: 1, spread_ns: 0, first: 1, stride: 2 };
    let result = measure(&HttpLoadSpec { load, ..one_each(server.address, 1, 0) });
    assert_eq!((result.offered, result.elapsed_ns, result.in_flight_integral_ns), (0, 0, 0.0));
}

/// Set in the child process of the test below, to the address of the server in its parent.
const CHILD_SERVER: &str = "LOAD_DRIVER_TEST_SERVER";

#[test]
fn running_out_of_descriptors_is_a_class_of_error() {
    use rustix::process::{Resource, Rlimit, setrlimit};

    // The limit is a process's, so another process of this same test gets it.
    let Ok(address) = std::env::var(CHILD_SERVER) else {
        let server = closing_after(Duration::from_millis(200));
        let status = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "one_each::running_out_of_descriptors_is_a_class_of_error", "--test-threads=1"])
            .env(CHILD_SERVER, server.address.to_string())
            .status()
            .expect("a child");
        assert!(status.success());
        return;
    };
    let spec = one_each(address.parse().expect("an address"), 40, 100 * MS);
    setrlimit(Resource::Nofile, Rlimit { current: Some(40), maximum: Some(40) }).expect("lowered");
    let error = load_driver::http::run(&spec).expect_err("refused beforehand").to_string();
    assert!(error.contains("RLIMIT_NOFILE is 40") && error.contains("ulimit -n"), "{error}");

    // Enough beforehand, but something else in the process takes descriptors meanwhile.
    let few = HttpLoadSpec { connections: 25, ..spec };
    let taker = thread::spawn(|| {
        sleep(Duration::from_millis(20));
        let taken: Vec<_> = (0..10).filter_map(|_| std::fs::File::open("/dev/null").ok()).collect();
        sleep(Duration::from_millis(300));
        drop(taken);
    });
    let result = measure(&few);
    taker.join().expect("no panic");
    assert!(result.errors["descriptors"] > 0, "{result:?}");
    assert!(result.first_errors["descriptors"].contains("EMFILE"));
}
