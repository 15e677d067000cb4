//! Counts and integrals that follow from arithmetic.

use super::*;

fn times(at_ns: u64) -> Times {
    Times { intended_ns: at_ns, begun_ns: at_ns, sent_ns: at_ns }
}

#[test]
fn the_integral_counts_requests_cut_at_the_edges_in_part() {
    let mut tally = Tally::default();
    tally.set_window(100, 200);
    tally.begin(50); // 50 of its 100 ns lie in the window
    tally.begin(120); // all of its 30 ns
    tally.end(times(50), Verdict::Completed, 150, None);
    tally.end(times(120), Verdict::Completed, 150, None);
    tally.begin(190); // 10 of its 30 ns
    tally.end(times(190), Verdict::Completed, 220, None);
    let result = tally.into_result(Usage::default());
    assert_eq!((result.in_flight_integral_ns, result.residence_ns), (90.0, 90.0));
    assert_eq!(result.service_min_ns, Some(30));
    assert_eq!((result.completed, result.drain_finished, result.in_flight_max), (2, 1, 2));
    assert_eq!((result.elapsed_ns, result.offered), (100, 2));
    assert_eq!(result.drain_response.max_ns(), Some(30));
    result.check_accounting().expect("balanced");
}

#[test]
fn the_warm_up_enters_no_figure_of_the_window() {
    let mut tally = Tally::default();
    tally.set_window(100, 200);
    tally.begin(10);
    tally.end_and_begin(times(10), Verdict::Failed(Failure::Malformed), 99, None);
    tally.end_and_begin(times(99), Verdict::Completed, 100, None);
    tally.end(times(100), Verdict::TimedOut, 199, None);
    let result = tally.into_result(Usage::default());
    assert_eq!((result.offered, result.warmup_finished, result.completed, result.timed_out), (2, 1, 1, 1));
    assert!(result.errors.is_empty());
    assert_eq!(result.response.max_ns(), Some(99), "a time-out is at least this long");
    result.check_accounting().expect("balanced");
}

#[test]
fn what_is_never_answered_is_in_flight_at_the_end() {
    let mut tally = Tally::default();
    tally.set_window(0, 100);
    tally.begin(0);
    tally.begin(0);
    tally.end(times(0), Verdict::TimedOut, 150, None);
    tally.cut(times(0), 160);
    let result = tally.into_result(Usage::default());
    assert_eq!((result.offered, result.in_flight_at_end, result.timed_out), (2, 2, 0));
    assert_eq!(result.response.count(), 2);
    assert_eq!(result.in_flight_integral_ns, 200.0);
    result.check_accounting().expect("balanced");
}

#[test]
fn two_failures_of_one_class_are_one_error_class() {
    let mut tally = Tally::default();
    tally.set_window(0, 100);
    for failure in [Failure::Reset(libc::EPIPE), Failure::Reset(libc::ECONNRESET)] {
        tally.begin(1);
        tally.end(times(1), Verdict::Failed(failure), 2, None);
    }
    let result = tally.into_result(Usage::default());
    assert_eq!(result.errors["reset"], 2);
    assert_eq!(result.first_errors.len(), 1);
    result.check_accounting().expect("balanced");
}

#[test]
fn the_timeline_has_every_request_whichever_the_window() {
    let mut tally = Tally::default();
    tally.set_window(100_000, 200_000);
    tally.set_timeline(50_000, 150_000); // a point every 150 ns
    tally.begin(50_000);
    tally.end_and_begin(times(50_000), Verdict::Completed, 90_000, None);
    tally.begin(120_050);
    tally.end(times(90_000), Verdict::Failed(Failure::Malformed), 150_000, None);
    tally.end(times(120_050), Verdict::Completed, 230_000, None);
    let result = tally.into_result(Usage::default());
    let between = |from_ns, to_ns| result.timeline.between(from_ns, to_ns).expect("covered");
    let whole = between(50_000, 300_000);
    assert_eq!((whole.completed, whole.in_flight_ns, whole.waiting_ns), (2.0, 100_000.0 + 109_950.0, 0.0));
    let window = between(100_000, 200_000);
    assert!((window.in_flight_ns - result.in_flight_integral_ns).abs() < 150.0, "{window:?}");
    assert_eq!((window.completed, between(200_000, 230_300).completed), (0.0, 1.0));
    // The first half has one request, the second two for half of its time.
    assert_eq!(between(50_000, 120_050).in_flight_ns, 70_050.0);
    assert!(result.timeline.between(49_999, 100_000).is_none());
    assert_eq!(result.residence_ns, result.in_flight_integral_ns);
    assert_eq!(result.service_min_ns, Some(40_000), "that of the warm-up counts too");
}
