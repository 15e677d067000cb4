//! Runs whose figures follow from arithmetic.

use std::cell::Cell;

use workload::arrivals::Spacing;

use super::super::Shard;
use super::world::{MS, S, START_NS, World, world};
use crate::honesty::{generator_limited, honesty};
use crate::http::HttpLoadResult;
use crate::recorder::Histogram;

/// Asserts a quantile, to the histogram's precision of a thousandth.
#[track_caller]
fn assert_quantile(histogram: &Histogram, quantile: f64, expected_ns: u64) {
    let ns = histogram.quantile_ns(quantile).expect("a sample");
    assert!(ns.abs_diff(expected_ns) <= expected_ns / 1_000, "{ns} at {quantile}, not {expected_ns}");
}

fn at_least_ms(histogram: &Histogram, quantile: f64, ms: u64) -> bool {
    histogram.quantile_ns(quantile).is_some_and(|ns| ns >= ms * MS)
}

fn is_limited(result: &HttpLoadResult) -> bool {
    generator_limited(&honesty(result, None)).is_some()
}

#[test]
fn a_server_of_constant_20_ms_is_measured_as_one() {
    for spacing in [Spacing::Constant, Spacing::Poisson] {
        let result = World { spacing, ..world() }.run();
        assert_eq!((result.completed, result.sent), (result.offered, result.offered));
        for quantile in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
            assert_quantile(&result.service, quantile, 20 * MS);
        }
        assert_eq!(result.response, result.service);
        assert_eq!((result.send_lag.max_ns(), result.connection_wait.max_ns()), (Some(0), Some(0)));
        assert_eq!(result.dispatch_elapsed_ns, 5 * S);
        assert!(!is_limited(&result));
        // Little's law: 200 a second of 20 ms are 4 in flight, less what the first 20 ms still lack.
        let by_littles_law = result.offered_rate_per_s().expect("a window") * 0.020;
        assert!((result.in_flight_mean().expect("a window") / by_littles_law - 1.0).abs() < 0.01);
        assert_eq!(result.waiting_integral_ns, 0.0);
        assert_eq!(result.service_min_ns, Some(20 * MS));
        // Once the first have ended, one half is like the other.
        let from = START_NS + 100 * MS;
        let half =
            |n: u64| result.timeline.between(from + n * 2 * S, from + (n + 1) * 2 * S).expect("covered");
        let (first, second) = (half(0), half(1));
        if spacing == Spacing::Constant {
            assert!((first.completed - second.completed).abs() <= 1.0, "{first:?} {second:?}");
            assert!((first.in_system_mean().expect("time") - 4.0).abs() < 0.01, "{first:?}");
        }
    }
    assert_eq!(world().run().offered, 1_000);
}

#[test]
fn one_stall_of_a_second_shows_in_the_response_and_not_in_the_median() {
    // What would be answered in the third second is answered at its end.
    let stall = |sent_ns: u64| match sent_ns + 20 * MS {
        answer_ns if (2 * S..3 * S).contains(&answer_ns) => 3 * S,
        answer_ns => answer_ns,
    };
    let open = World { answers_ns: &stall, ..world() }.run();
    assert!(at_least_ms(&open.response, 0.99, 500), "{open:?}");
    assert_quantile(&open.service, 0.5, 20 * MS);
    assert_quantile(&open.response, 0.5, 20 * MS);
    // 200 requests wait for up to a second: a tenth of all waits half a second.
    assert_quantile(&open.response, 0.9, 520 * MS);

    // With eight connections the stall holds eight requests; the others wait for a connection. This is what a closed
    // loop leaves out: by service time alone, eight of a thousand were slow.
    let few = World { connections: 8, answers_ns: &stall, ..world() }.run();
    assert_quantile(&few.service, 0.99, 20 * MS);
    assert!(at_least_ms(&few.response, 0.99, 500), "{few:?}");
    assert!(at_least_ms(&few.connection_wait, 0.9, 400), "{few:?}");
    for result in [&open, &few] {
        assert_eq!(result.send_lag.max_ns(), Some(0));
        assert!(!is_limited(result), "the stall is the server's");
    }
}

#[test]
fn a_saturated_generator_is_caught_and_a_saturated_server_is_not_blamed_on_it() {
    // Two things to do for each request, 3 ms each, and 5 ms from one request to the next.
    let late = World { client_ns: 3 * MS, ..world() }.run();
    let failed: Vec<_> =
        honesty(&late, None).into_iter().filter(|check| !check.ok).map(|check| check.name).collect();
    assert_eq!(failed, ["sent_rate_per_s", "send_lag_p50_ns", "send_lag_p99_ns"], "{late:?}");
    assert_eq!(late.connection_wait.max_ns(), Some(0), "connections were not what was missing");
    // One that keeps up on average, and is as slow as its server at the median.
    let slow = World { client_ns: 2_400_000, ..world() }.run();
    assert!(is_limited(&slow), "{slow:?}");

    // One worker of 20 ms can do 50 a second of the 200.
    let worker_free_ns = Cell::new(0);
    let one_worker = |sent_ns: u64| {
        worker_free_ns.set(worker_free_ns.get().max(sent_ns) + 20 * MS);
        worker_free_ns.get()
    };
    for connections in [1_000, 10] {
        worker_free_ns.set(0);
        let saturated = World { connections, answers_ns: &one_worker, timeout_ns: 2 * S, ..world() }.run();
        assert!(saturated.timed_out > 500, "{saturated:?}");
        assert!(at_least_ms(&saturated.response, 0.5, 2_000));
        assert_eq!(honesty(&saturated, None).len(), 3);
        assert!(!is_limited(&saturated), "{saturated:?}");
        let throughput = saturated.throughput_per_s().expect("a window");
        assert!(throughput <= 50.0, "nothing beats its ceiling: {throughput}");
    }
}

#[test]
fn too_few_connections_show_as_waits_for_one_and_nowhere_else() {
    // Two connections of 20 ms carry 100 a second.
    let result = World { connections: 2, ..world() }.run();
    assert_eq!((result.completed, result.send_lag.max_ns()), (1_000, Some(0)));
    assert_quantile(&result.service, 0.999, 20 * MS);
    // Every 20 ms two are sent and four are due: request i waits for (i / 2) x 10 ms.
    assert_quantile(&result.connection_wait, 0.5, 2_490 * MS);
    assert_quantile(&result.connection_wait, 1.0, 4_990 * MS);
    assert_quantile(&result.response, 1.0, 5_010 * MS);
    assert_eq!((result.in_flight_max, result.waiting_max), (2, 500));
    assert!((result.throughput_per_s().expect("a window") - 100.0).abs() < 1.0);
    assert!(!is_limited(&result));
}

#[test]
fn a_response_is_send_lag_and_connection_wait_and_service() {
    let busy = World { connections: 5, client_ns: MS, rate_per_s: 230.0, ..world() };
    let result = World { spacing: Spacing::Poisson, ..busy }.run();
    assert!(result.send_lag.max_ns() > Some(0) && result.connection_wait.max_ns() > Some(0), "{result:?}");
    let mean = |histogram: &Histogram| histogram.mean_ns().expect("samples");
    let parts = mean(&result.send_lag) + mean(&result.connection_wait) + mean(&result.service);
    assert!((parts / mean(&result.response) - 1.0).abs() < 0.001, "{parts} {result:?}");
}

#[test]
fn time_outs_count_from_the_intended_start_whether_sent_or_not() {
    let hangs =
        World { connections: 2, timeout_ns: 500 * MS, reopens: false, answers_ns: &|_| u64::MAX, ..world() };
    let result = hangs.run();
    assert_eq!((result.timed_out, result.offered, result.completed), (1_000, 1_000, 0));
    assert_quantile(&result.response, 0.0, 500 * MS);
    assert_quantile(&result.response, 1.0, 500 * MS);
    assert_eq!((result.sent, result.timed_out_unsent), (2, 998));
    assert_eq!((result.service.count(), result.connection_wait.count()), (0, 1_000));

    let cut = World { drain_ns: 100 * MS, ..hangs }.run();
    // At 5,100 ms those intended before 4,600 ms have timed out.
    assert_eq!((cut.timed_out, cut.in_flight_at_end, cut.unsent_at_end), (920, 0, 80));
    assert_eq!(cut.response.count(), 1_000, "what was cut is at least this long");
    assert_quantile(&cut.response, 0.0, 105 * MS);

    let all_sent =
        World { drain_ns: 100 * MS, timeout_ns: 10 * S, answers_ns: &|_| u64::MAX, ..world() }.run();
    assert_eq!((all_sent.in_flight_at_end, all_sent.response.count()), (1_000, 1_000));
    assert_quantile(&all_sent.response, 1.0, 5_100 * MS);
}

#[test]
fn a_generator_that_never_comes_to_its_requests_is_cut_and_says_so() {
    let result = World { client_ns: S, drain_ns: S, ..world() }.run();
    assert!(result.unsent_at_end > 900, "{result:?}");
    assert_eq!(result.offered, 1_000);
    assert!(is_limited(&result));
}

#[test]
fn the_warm_up_is_in_no_figure() {
    // Answers of the warm-up's requests take a second, and some come in the window.
    let slow_start = |sent_ns: u64| sent_ns + if sent_ns < 2 * S { 1_000 * MS } else { 20 * MS };
    let result = World { warmup_ns: 2 * S, answers_ns: &slow_start, ..world() }.run();
    assert_eq!((result.offered, result.warmup_finished, result.completed), (1_000, 400, 1_000));
    assert_quantile(&result.response, 1.0, 20 * MS);
    assert_eq!(result.elapsed_ns, 5 * S);
    // 200 of the warm-up come in the window's first second; 4 of the window come after it.
    assert_eq!(result.completed_in_window, 200 + 1_000 - 4);
}

#[test]
fn no_request_and_one_request_have_no_undefined_figure() {
    let rare = World { rate_per_s: 0.1, ..world() };
    let none = World { shard: Shard { first: 1, stride: 2 }, ..rare }.run();
    assert_eq!((none.offered, none.response.mean_ns(), none.response.quantile_ns(0.99)), (0, None, None));
    assert_eq!(honesty(&none, Some(0)).len(), 0);
    let one = World { shard: Shard { first: 0, stride: 2 }, ..rare }.run();
    assert_eq!((one.offered, one.completed), (1, 1));
    for quantile in [0.0, 0.5, 0.999, 1.0] {
        assert_quantile(&one.response, quantile, 20 * MS);
    }
    assert!(!is_limited(&one));
    assert_eq!((none.rate_asked_per_s, one.rate_asked_per_s), (0.05, 0.05));
}

#[test]
fn shards_add_up_to_the_whole() {
    let shard =
        |first| World { shard: Shard { first, stride: 3 }, spacing: Spacing::Poisson, ..world() }.run();
    let mut sum = shard(0);
    sum.merge(&shard(1));
    sum.merge(&shard(2));
    let whole = World { spacing: Spacing::Poisson, ..world() }.run();
    assert_eq!((sum.offered, sum.completed), (whole.offered, whole.completed));
    assert_eq!(sum.response, whole.response);
    assert!((sum.rate_asked_per_s - 200.0).abs() < 1e-9);
    sum.check_accounting().expect("balanced");
}
