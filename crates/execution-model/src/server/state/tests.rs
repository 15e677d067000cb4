//! Limits, counts and gauges of a server, and the state that other tests begin with.

use super::*;

pub(crate) fn state(in_flight: u64, connections: u64) -> Arc<ServerState> {
    let limits = ServerLimits {
        in_flight,
        connections,
        idle: Duration::from_secs(60),
        request: Duration::from_secs(10),
    };
    let variant = VariantInfo {
        name: "only".into(),
        summary: String::new(),
        in_flight_limit: None,
        thread_per_request: false,
        refuses_offload: None,
        refuses_in_place: Some("it cannot"),
    };
    ServerState::new(limits, variant)
}

#[test]
fn admission_ends_at_the_limit_and_every_plan_is_counted_once() {
    let state = state(3, 1);
    let first = state.admit().unwrap().begin();
    let second = state.admit().unwrap().begin();
    let queued = state.admit().unwrap();
    assert_eq!((state.counts().in_flight, state.counts().queued), (2, 1));
    assert!(state.admit().is_none());
    first.complete();
    drop(second);
    drop(queued);
    state.start_draining();
    assert!(state.admit().is_none());
    let counts = state.counts();
    let seen = (counts.accepted, counts.completed, counts.failed, counts.rejected, counts.in_flight_peak);
    assert_eq!(seen, (2, 1, 1, 3, 2));
    assert_eq!((counts.in_flight, counts.queued), (0, 0));
}

#[test]
fn the_integral_counts_what_is_still_in_flight() {
    let state = state(2, 1);
    let _stays = state.admit().unwrap().begin();
    std::thread::sleep(Duration::from_millis(20));
    let so_far = state.counts().in_flight_integral_ns;
    assert!((20_000_000..2_000_000_000).contains(&so_far), "{so_far}");
}

#[test]
fn a_reading_amid_begins_and_ends_is_whole() {
    let state = state(10, 1);
    let begin = state.counts();
    let over = AtomicBool::new(false);
    let (mut last, mut wrong) = (begin, None);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    state.admit().unwrap().begin().complete();
                }
            });
        }
        for reading in 0..10_000_000 {
            if wrong.is_some() || (reading > 20_000 && last.completed > 20_000) {
                break;
            }
            let counts = state.counts();
            let elapsed_ns = counts.at_monotonic_ns - begin.at_monotonic_ns;
            let possible = counts.in_flight <= 2
                && counts.in_flight_peak <= 2
                && counts.in_flight_integral_ns <= 2 * elapsed_ns + 4_000;
            if !possible {
                wrong = Some((counts, elapsed_ns));
            }
            last = counts;
        }
        over.store(true, Relaxed);
    });
    assert_eq!(wrong, None);
    let counts = state.counts();
    assert!(counts.completed > 0 && counts.accepted == counts.completed, "{counts:?}");
    assert_eq!((counts.in_flight, counts.queued), (0, 0));
}

#[test]
fn no_limit_is_above_what_can_be_counted() {
    assert_eq!(state(u64::MAX, 1).limits().in_flight, IN_FLIGHT_MAX);
}

#[test]
fn connections_end_at_their_limit() {
    let state = state(2, 1);
    let open = state.open_connection().unwrap();
    assert!(state.open_connection().is_none());
    drop(open);
    assert!(state.open_connection().is_some());
    assert_eq!(state.counts().connections_rejected, 1);
}

#[test]
fn processes_share_limits_and_counts_and_a_killed_one_is_settled() {
    let parts: &'static [Counts] = Box::leak(Box::new([Counts::default(), Counts::default()]));
    let one = state(2, 1);
    let share = |own| ServerState::shared(*one.limits(), one.variant.clone(), parts, own);
    let (first, second) = (share(0), share(1));
    let completes = first.admit().unwrap().begin();
    std::mem::forget(second.admit().unwrap().begin());
    assert!(first.admit().is_none() && second.admit().is_none());
    std::mem::forget(second.open_connection().unwrap());
    assert!(first.open_connection().is_none());
    completes.complete();
    second.settle_killed(1);
    let counts = first.counts();
    assert_eq!((counts.accepted, counts.completed, counts.failed, counts.in_flight_peak), (2, 1, 1, 2));
    assert_eq!((counts.in_flight, counts.queued, counts.connections), (0, 0, 0));
    assert!(counts.in_flight_integral_ns < 10_000_000_000);
    assert!(second.admit().is_some());
}

#[test]
fn a_lack_of_descriptors_is_told_from_other_failures() {
    let state = state(1, 1);
    let fail = |errno: rustix::io::Errno| state.accept_failed(&errno.into());
    assert!(!fail(rustix::io::Errno::MFILE).is_zero());
    assert!(!fail(rustix::io::Errno::NOMEM).is_zero());
    assert!(fail(rustix::io::Errno::CONNABORTED).is_zero());
    let counts = state.counts();
    assert_eq!((counts.accept_out_of_descriptors, counts.accept_failed), (1, 1));
}
