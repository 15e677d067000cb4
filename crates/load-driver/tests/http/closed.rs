//! The closed loop, on servers that behave well and badly.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use load_driver::http::{HttpLoad, HttpLoadError, HttpLoadSpec, run};

use crate::servers::{BODY, MS, More, Server, closed, measure, ns, ok, response};

#[test]
fn right_answers_are_completed_and_nothing_else_happens() {
    let server = Server::constant(ok());
    let result = measure(&closed(server.address));
    assert!(result.completed > 50, "{result:?}");
    assert_eq!(result.offered, result.completed);
    assert_eq!((result.connected, server.accepted()), (4, 4));
    assert_eq!(result.elapsed_ns, 200 * MS);
    assert_eq!(result.response.count(), result.completed);
    assert_eq!(result.send_lag.count(), 0);
    assert!(result.warmup_finished > 0);
    assert!(result.drain_finished <= 4);
    assert_eq!(result.in_flight_max, 4);
    assert!(result.cpu_ns > 0);
}

#[test]
fn an_answer_may_come_byte_by_byte() {
    let server = Server::responding(|stream| {
        for byte in ok() {
            if stream.write_all(&[byte]).is_err() {
                return More::No;
            }
            sleep(Duration::from_micros(100));
        }
        More::Yes
    });
    let result = measure(&closed(server.address));
    assert!(result.completed > 0);
    assert_eq!(result.offered, result.completed, "{result:?}");
    // 49 bytes, each followed by a pause of at least 100 us but for the last one's.
    assert!(result.response.min_ns().expect("a sample") > 4 * MS);
}

#[test]
fn a_moving_header_is_no_error() {
    let number = AtomicU64::new(0);
    let server = Server::responding(move |stream| {
        let header = format!("X-Number: {}\r\n", number.fetch_add(1, Ordering::Relaxed));
        if stream.write_all(&response("200 OK", &header, BODY)).is_ok() { More::Yes } else { More::No }
    });
    let result = measure(&closed(server.address));
    assert!(result.completed > 50);
    assert_eq!(result.offered, result.completed);
}

#[test]
fn each_wrong_answer_has_its_class() {
    for (bytes, class, example) in [
        (response("200 OK", "", "other"), "wrong-body", "other"),
        (response("404 Not Found", "", "no"), "status-404", "404"),
        (b"nonsense\r\n\r\n".to_vec(), "malformed", "nonsense"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_vec(),
            "chunked-unsupported",
            "chunked",
        ),
        ([ok(), b"more".to_vec()].concat(), "extra-bytes", "more"),
    ] {
        let server = Server::constant(bytes);
        let result = measure(&closed(server.address));
        assert!(result.errors[class] > 0, "{result:?}");
        assert_eq!(result.errors[class], result.offered, "{result:?}");
        assert!(result.first_errors[class].contains(example), "{:?}", result.first_errors);
        assert_eq!((result.response.count(), result.service.count()), (0, 0), "errors have no response time");
    }
}

#[test]
fn a_wrong_answer_among_right_ones_is_found() {
    let number = AtomicU64::new(0);
    let server = Server::responding(move |stream| {
        let wrong = number.fetch_add(1, Ordering::Relaxed) % 10 == 9;
        let body = if wrong { "{\"steps\":2}" } else { BODY };
        if stream.write_all(&response("200 OK", "", body)).is_ok() { More::Yes } else { More::No }
    });
    let result = measure(&closed(server.address));
    let wrong = result.errors["wrong-body"];
    assert!(wrong.abs_diff(result.offered / 10) <= 4, "{wrong} of {}", result.offered);
    assert_eq!(result.completed + wrong, result.offered);
    assert_eq!(server.accepted(), 4, "a wrong answer leaves the connection as it is");
}

#[test]
fn rejections_are_counted_apart() {
    let server = Server::constant(response("503 Service Unavailable", "Retry-After: 1\r\n", ""));
    let result = measure(&closed(server.address));
    assert!(result.rejected > 0);
    assert_eq!(result.rejected, result.offered);
    assert_eq!(result.response.count(), 0, "a rejection is no response time");
}

#[test]
fn a_server_that_says_so_and_closes_after_each_answer_costs_no_error() {
    let server = Server::responding(|stream| {
        let _sent = stream.write_all(&response("200 OK", "Connection: close\r\n", BODY));
        More::No
    });
    let result = measure(&closed(server.address));
    assert!(result.completed > 10, "{result:?}");
    assert_eq!(result.completed, result.offered, "{result:?}");
    assert!(result.connected >= result.completed);
}

#[test]
fn a_server_that_closes_without_a_word_costs_errors_but_no_hang() {
    let server = Server::responding(|stream| {
        let _sent = stream.write_all(&ok());
        More::No
    });
    let result = measure(&closed(server.address));
    assert!(result.completed > 0, "{result:?}");
    assert!(result.errors.keys().all(|class| class == "closed-early" || class == "reset"), "{result:?}");
    // Where the end of the stream comes with the answer, the client connects again at once; after an error it waits for
    // a millisecond at least.
    assert!(result.errors_total() <= 4 * 201, "{result:?}");
}

#[test]
fn a_server_that_cuts_its_answer_is_named() {
    let server = Server::responding(|stream| {
        let _sent = stream.write_all(&ok()[..20]);
        More::No
    });
    let result = measure(&closed(server.address));
    assert!(result.errors["closed-in-response"] > 0, "{result:?}");
    assert_eq!(result.completed, 0);
}

#[test]
fn a_server_that_never_answers_is_timed_out_and_the_run_ends() {
    let server = Server::responding(|_| {
        sleep(Duration::from_secs(3));
        More::No
    });
    let began = Instant::now();
    let result = measure(&HttpLoadSpec { timeout_ns: 60 * MS, drain_ns: 100 * MS, ..closed(server.address) });
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(result.timed_out >= 8, "{result:?}");
    assert_eq!(result.completed, 0);
    // All that is left is what timed out in the drain, or was cut at its end.
    assert_eq!(result.offered, result.timed_out + result.in_flight_at_end);
    assert_eq!(result.response.count(), result.offered, "unanswered requests count as at least this long");
    assert!(result.response.quantile_ns(0.5).expect("a sample") >= 59 * MS);
}

#[test]
fn requests_cut_by_a_short_drain_are_in_flight_at_the_end() {
    let server = Server::responding(|_| {
        sleep(Duration::from_secs(3));
        More::No
    });
    let result = measure(&HttpLoadSpec { drain_ns: 20 * MS, ..closed(server.address) });
    assert_eq!((result.offered, result.in_flight_at_end), (4, 4));
    assert!(result.response.min_ns().expect("a sample") >= 240 * MS);
    assert!((result.in_flight_integral_ns / (4.0 * 2e8) - 1.0).abs() < 0.01, "{result:?}");
}

/// An address where nobody listens.
fn dead() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    listener.local_addr().expect("its address")
}

#[test]
fn a_dead_server_is_neither_stormed_nor_waited_for() {
    let began = Instant::now();
    let result = measure(&HttpLoadSpec { connections: 100, ..closed(dead()) });
    assert!(began.elapsed() < Duration::from_secs(1));
    assert!(result.errors["connect-refused"] > 0, "{result:?}");
    assert!(result.offered <= 100 + 250, "at most 1,000 attempts a second in all: {}", result.offered);
    assert_eq!((result.connected, result.completed), (0, 0));
    assert!(result.first_errors["connect-refused"].contains("ECONNREFUSED"));
    assert_eq!(result.response.mean_ns(), None);
}

#[test]
fn a_server_that_dies_in_the_middle_leaves_a_bounded_run_with_classes() {
    let died = Instant::now() + Duration::from_millis(150);
    let server = Server::responding(move |stream| {
        sleep(Duration::from_millis(1));
        if Instant::now() < died && stream.write_all(&ok()).is_ok() { More::Yes } else { More::No }
    });
    let began = Instant::now();
    let result = measure(&closed(server.address));
    assert!(began.elapsed() < Duration::from_secs(2));
    assert!(result.completed > 0, "{result:?}");
    assert!(result.errors_total() > 0, "{result:?}");
    assert!(result.errors.keys().all(|class| class == "closed-early" || class == "reset"), "{result:?}");
}

#[test]
fn littles_law_holds_on_a_constant_server() {
    let wait = Duration::from_millis(20);
    let server = Server::responding(move |stream| {
        sleep(wait);
        if stream.write_all(&ok()).is_ok() { More::Yes } else { More::No }
    });
    let connections = 32;
    let result = measure(&HttpLoadSpec {
        connections,
        load: HttpLoad::Closed { warmup_ns: 100 * MS, duration_ns: 1_000 * MS },
        ..closed(server.address)
    });
    let elapsed_s = result.elapsed_ns as f64 / 1e9;
    let in_flight = result.in_flight_mean().expect("a window");
    assert!((in_flight / connections as f64 - 1.0).abs() < 0.01, "{in_flight} in flight");
    // At most one request more per connection than the whole waits that the window has.
    let throughput = result.throughput_per_s().expect("a window");
    let ceiling = connections as f64 / wait.as_secs_f64();
    assert!(throughput <= ceiling * (1.0 + wait.as_secs_f64() / elapsed_s), "{throughput} of {ceiling}");
    assert!(throughput > 0.5 * ceiling, "{throughput} of {ceiling}");
    let mean_ns = result.response.mean_ns().expect("samples");
    let by_littles_law = throughput * mean_ns / 1e9;
    assert!((by_littles_law / in_flight - 1.0).abs() < 0.05, "{by_littles_law} and {in_flight}");
    assert!(result.service_min_ns >= Some(ns(wait)), "no answer is faster than its wait");
    assert_eq!(result.residence_ns, result.in_flight_integral_ns);
    let from_ns = result.timeline.start_monotonic_ns + 100 * MS;
    let window = result.timeline.between(from_ns, from_ns + 1_000 * MS).expect("covered");
    assert!((window.in_flight_ns / result.in_flight_integral_ns - 1.0).abs() < 0.01, "{window:?}");
    assert!((window.completed / result.completed as f64 - 1.0).abs() < 0.05, "{window:?}");
    assert_eq!(result.drain_response.count(), result.drain_finished);
}

#[test]
fn a_stall_at_the_end_of_the_window_is_not_hidden() {
    let stall_from = Instant::now() + Duration::from_millis(150);
    let server = Server::responding(move |stream| {
        sleep(Duration::from_millis(if Instant::now() < stall_from { 1 } else { 400 }));
        if stream.write_all(&ok()).is_ok() { More::Yes } else { More::No }
    });
    let result = measure(&closed(server.address));
    assert!(result.completed > 0);
    assert_eq!(result.drain_finished, 4, "{result:?}");
    assert!(result.drain_response.min_ns().expect("samples") >= 400 * MS);
}

#[test]
fn errors_say_what_would_be_right() {
    let server = Server::constant(ok());
    let error = run(&HttpLoadSpec { start_at_monotonic_ns: Some(1), ..closed(server.address) });
    assert!(matches!(error, Err(HttpLoadError::StartPassed { late_ns }) if late_ns > 0), "{error:?}");
    let error = run(&HttpLoadSpec { cpus: vec![1_000], ..closed(server.address) });
    assert!(matches!(error, Err(HttpLoadError::Pin { .. })), "{error:?}");
    let error = run(&HttpLoadSpec { connections: 10_000_000, ..closed(server.address) });
    assert!(matches!(error, Err(HttpLoadError::Descriptors { need, .. }) if need > 10_000_000), "{error:?}");
}

#[test]
fn a_handshake_that_nobody_completes_does_not_hold_the_set_up() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    // Two fit, and are never accepted; the kernel leaves the others without a word.
    rustix::net::listen(&listener, 1).expect("a shorter queue");
    let address = listener.local_addr().expect("its address");
    let result =
        measure(&HttpLoadSpec { connections: 6, timeout_ns: 50 * MS, drain_ns: 100 * MS, ..closed(address) });
    assert_eq!(result.completed, 0);
    assert!(result.timed_out > 0, "{result:?}");
}
