//! One test for each limit that can be named.

use super::*;

fn machine() -> MachineLimits {
    MachineLimits {
        descriptors: Some(20_000),
        mappings: Some(65_530),
        threads: Some((32_768, "kernel.pid_max")),
        memory_bytes: Some(1_000_000),
    }
}

fn sample() -> Sample {
    Sample {
        processes: 1,
        threads: 5,
        descriptors: 10,
        mappings: 100,
        rss_bytes: 1_000,
        machine_threads: Some(100),
        memory_available_bytes: Some(900_000),
    }
}

fn missed() -> Observed {
    Observed {
        offered: 1_000,
        in_flight_peak: 900,
        sample: Some(sample()),
        response_p99: Some(Duration::from_millis(1_600)),
        wait: Duration::from_secs(1),
        objective: Duration::from_millis(1_500),
        ..Observed::default()
    }
}

fn named(observed: &Observed) -> (String, bool) {
    let limit = name(observed, &machine());
    assert!(!limit.evidence.is_empty(), "{limit:?}");
    (limit.name, limit.censored)
}

fn limit_of(observed: &Observed) -> Limit {
    name(observed, &machine())
}

#[test]
fn a_missed_objective_is_the_models_own() {
    assert_eq!(named(&missed()), ("objective".into(), false));
    let evidence = limit_of(&missed()).evidence;
    assert_eq!(evidence["response_p99_ns"], 1_600_000_000_u64);
    assert_eq!(evidence["objective_ns"], 1_500_000_000_u64);
}

#[test]
fn a_client_that_was_late_itself_is_not_the_models_fault() {
    let late = Observed { client_lag_p99: Some(Duration::from_millis(300)), ..missed() };
    assert_eq!(named(&late), ("load client".into(), true));
    let in_time = Observed { client_lag_p99: Some(Duration::from_millis(299)), ..missed() };
    assert_eq!(named(&in_time).0, "objective");
}

#[test]
fn a_pool_that_is_full_is_named_before_its_slow_responses() {
    let full = Observed { model_limit: Some(200), in_flight_peak: 200, ..missed() };
    assert_eq!(named(&full), ("pool size".into(), false));
    // A pool that never filled was not what ended it.
    assert_eq!(named(&Observed { in_flight_peak: 199, ..full.clone() }).0, "objective");
    assert_eq!(named(&Observed { offered: 200, ..full }).0, "objective");
}

#[test]
fn descriptors_are_told_by_the_server_by_the_kernel_or_by_words() {
    let told = Observed { accept_out_of_descriptors: 3, ..missed() };
    let seen = Observed { sample: Some(Sample { descriptors: 19_999, ..sample() }), ..missed() };
    let said = Observed { said: vec!["Too many open files (os error 24)".into()], ..missed() };
    for observed in [told, seen, said] {
        assert_eq!(named(&observed), ("descriptors".into(), true));
    }
}

#[test]
fn what_the_client_lacks_is_not_blamed_on_the_server() {
    let with = |class: &str| Observed { failed: BTreeMap::from([(class.into(), 7)]), ..missed() };
    assert_eq!(named(&with("descriptors")), ("client descriptors".into(), true));
    assert_eq!(named(&with("connect-other:EADDRNOTAVAIL")), ("client ports".into(), true));
    assert_eq!(named(&Observed { response_p99: None, ..with("reset") }), ("failures".into(), false));
}

#[test]
fn a_refused_thread_is_explained_by_the_limit_that_is_near() {
    let refused = Observed {
        rejected: BTreeMap::from([("thread-limit".into(), 40)]),
        said: vec!["Resource temporarily unavailable (os error 11)".into()],
        ..missed()
    };
    let with = |sample| Observed { sample: Some(sample), ..refused.clone() };
    let mapped = with(Sample { mappings: 65_500, ..sample() });
    assert_eq!(named(&mapped), ("mappings".into(), true));
    let crowded = with(Sample { machine_threads: Some(32_700), ..sample() });
    assert_eq!(named(&crowded), ("process ids".into(), true));
    assert_eq!(limit_of(&crowded).evidence["threads_max_from"], "kernel.pid_max");
    assert_eq!(named(&refused), ("threads".into(), true));
    assert!(limit_of(&refused).evidence["said"].as_str().unwrap().contains("os error 11"));
}

#[test]
fn a_runner_that_died_of_its_mappings_is_explained_by_the_step_before() {
    let died = Observed {
        died: Some("the runner was killed by SIGABRT".into()),
        sample: None,
        threads_last: Some(16_000),
        mappings_per_thread: Some(4),
        ..missed()
    };
    assert_eq!(named(&died), ("mappings".into(), true));
    assert_eq!(limit_of(&died).evidence["mappings_inferred"], 64_000);
    assert_eq!(named(&Observed { threads_last: Some(9_000), ..died }), ("runner failed".into(), false));
}

#[test]
fn memory_is_told_by_a_kill_by_words_or_by_what_is_left() {
    let killed = Observed { killed: true, died: Some("killed".into()), ..missed() };
    let said = Observed { said: vec!["memory allocation of 32 bytes failed".into()], ..missed() };
    let none = Some(Sample { memory_available_bytes: Some(20_000), ..sample() });
    for observed in [killed, said, Observed { sample: none, ..missed() }] {
        assert_eq!(named(&observed), ("memory".into(), true));
    }
}

#[test]
fn an_accept_queue_a_dead_runner_and_nothing_at_all() {
    assert_eq!(named(&Observed { accept_queue_overflows: 5, ..missed() }), ("accept queue".into(), false));
    let died = Observed { died: Some("the runner exited with status 101".into()), ..missed() };
    assert_eq!(named(&died), ("runner failed".into(), false));
    let invalid = Observed { invalid: Some("check lost failed".into()), ..died };
    assert_eq!(named(&invalid), (FAILED_CHECK.into(), false));
    let nothing = Observed { response_p99: None, ..missed() };
    assert_eq!(named(&nothing), ("not told".into(), false));
    assert_eq!(end_of_the_ramp(2_000_000).evidence["last_step"], 2_000_000);
}
