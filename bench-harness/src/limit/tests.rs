//! One test for each limit that can be named, with what is like its evidence and is none.

use super::*;

fn machine() -> MachineLimits {
    let limit = |max, of, source| ThreadLimit { max, of, source };
    MachineLimits {
        descriptors: Some(20_000),
        mappings: Some(65_530),
        threads: vec![
            limit(32_768, Threads::Machine, "kernel.pid_max"),
            limit(4_000, Threads::User, "RLIMIT_NPROC"),
            limit(2_000, Threads::ControlGroup, "cgroup pids.max"),
        ],
        memory_bytes: Some(1_000_000),
        accept_backlog: Some(4_096),
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
        cgroup_threads: Some(50),
        user_threads: None,
        memory_available_bytes: Some(900_000),
    }
}

/// CPUs of which half were idle.
fn calm() -> CpuUse {
    CpuUse {
        idle_share: 0.5,
        runner_share: 0.3,
        clients_share: 0.2,
        clients_idle_share: 0.5,
        client_of_one_cpu: Some(0.4),
    }
}

fn missed() -> Observed {
    Observed {
        offered: 1_000,
        in_flight_peak: 900,
        sample: Some(sample()),
        cpu: Some(calm()),
        oom_kills: Some(0),
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

fn with_failed(class: &str) -> Observed {
    Observed { failed: BTreeMap::from([(class.into(), 7)]), ..missed() }
}

fn refused() -> Observed {
    Observed {
        rejected: BTreeMap::from([("thread-limit".into(), 40)]),
        said: vec!["Resource temporarily unavailable (os error 11)".into()],
        ..missed()
    }
}

#[test]
fn a_missed_objective_is_the_models_own() {
    assert_eq!(named(&missed()), ("objective".into(), false));
    let evidence = limit_of(&missed()).evidence;
    assert_eq!(evidence["response_p99_ns"], 1_600_000_000_u64);
    assert_eq!(evidence["objective_ns"], 1_500_000_000_u64);
    // Where the kernel tells nothing of the CPUs, nothing is said of them.
    assert_eq!(named(&Observed { cpu: None, ..missed() }), ("objective".into(), false));
}

#[test]
fn a_client_that_was_late_itself_is_not_the_models_fault() {
    let late = Observed { client_lag_p99: Some(Duration::from_millis(300)), ..missed() };
    assert_eq!(named(&late), ("load client".into(), true));
    assert_eq!(limit_of(&late).evidence["cpu_idle_share"], 0.5);
    let in_time = Observed { client_lag_p99: Some(Duration::from_millis(299)), ..missed() };
    assert_eq!(named(&in_time).0, "objective");
}

#[test]
fn a_late_client_does_not_excuse_a_server_that_took_its_cpu() {
    let with = |cpu| Observed { client_lag_p99: Some(Duration::from_millis(600)), cpu, ..missed() };
    let hungry = CpuUse {
        idle_share: 0.01,
        runner_share: 0.7,
        clients_share: 0.28,
        clients_idle_share: 0.01,
        client_of_one_cpu: Some(0.56),
    };
    assert_eq!(named(&with(Some(hungry))), ("CPU".into(), false));
    assert_eq!(limit_of(&with(Some(hungry))).evidence["cpu_runner_share"], 0.7);
    // One that had a CPU to itself and used it up is a limit, however busy the other CPUs were.
    let busy = CpuUse { clients_share: 0.45, client_of_one_cpu: Some(0.9), runner_share: 0.54, ..hungry };
    assert_eq!(named(&with(Some(busy))), ("load client".into(), true));
    assert_eq!(named(&with(Some(CpuUse { client_of_one_cpu: Some(0.89), ..busy }))), ("CPU".into(), false));
    // A CPU that only the client may use was idle, and the client was late all the same.
    assert_eq!(
        named(&with(Some(CpuUse { clients_idle_share: 0.5, ..hungry }))),
        ("load client".into(), true)
    );
    // Without evidence there is no excuse.
    assert_eq!(named(&with(None)), ("objective".into(), false));
}

#[test]
fn cpus_that_others_used_are_the_machines_limit() {
    let others = CpuUse { idle_share: 0.0, runner_share: 0.3, clients_share: 0.1, ..calm() };
    let with = |cpu| Observed { cpu: Some(cpu), ..missed() };
    assert_eq!(named(&with(others)), ("CPU taken by others".into(), true));
    assert_eq!(named(&with(CpuUse { clients_share: 0.2, ..others })), ("CPU".into(), false));
    assert_eq!(named(&with(CpuUse { idle_share: 0.1, ..others })), ("objective".into(), false));
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
    for observed in [told, seen.clone(), said] {
        assert_eq!(named(&observed), ("descriptors".into(), true));
    }
    // All of them were in flight: however few descriptors were left, none was wanting.
    assert_eq!(named(&Observed { in_flight_peak: 1_000, ..seen }).0, "objective");
}

#[test]
fn what_the_client_lacks_is_not_blamed_on_the_server() {
    assert_eq!(named(&with_failed("descriptors")), ("client descriptors".into(), true));
    assert_eq!(named(&with_failed("connect-other:EADDRNOTAVAIL")), ("client ports".into(), true));
    let reset = Observed { response_p99: None, ..with_failed("reset") };
    assert_eq!(named(&reset), ("failures".into(), false));
}

#[test]
fn a_refused_thread_is_explained_by_a_limit_that_counts_the_same_threads() {
    let with = |sample| Observed { sample: Some(sample), ..refused() };
    assert_eq!(named(&with(Sample { mappings: 65_500, ..sample() })), ("mappings".into(), true));
    let source = |observed: &Observed| limit_of(observed).evidence["threads_max_from"].clone();
    let crowded = with(Sample { machine_threads: Some(32_700), ..sample() });
    assert_eq!((named(&crowded), source(&crowded)), (("process ids".into(), true), "kernel.pid_max".into()));
    let boxed = with(Sample { cgroup_threads: Some(1_999), ..sample() });
    assert_eq!((named(&boxed), source(&boxed)), (("process ids".into(), true), "cgroup pids.max".into()));
    let user = with(Sample { user_threads: Some(3_999), ..sample() });
    assert_eq!((named(&user), source(&user)), (("process ids".into(), true), "RLIMIT_NPROC".into()));
    // As many threads of the machine are far from what the machine allows, and say nothing of one user or one group.
    let others = with(Sample { machine_threads: Some(4_000), ..sample() });
    assert_eq!(named(&others), ("threads".into(), true));
    assert!(limit_of(&others).evidence["said"].as_str().unwrap().contains("os error 11"));
}

#[test]
fn threads_that_were_all_had_are_no_limit() {
    let crowded = Sample { machine_threads: Some(32_700), cgroup_threads: Some(2_000), ..sample() };
    let had = Observed { sample: Some(crowded.clone()), ..missed() };
    assert_eq!(named(&had), ("objective".into(), false));
    let mapped = Observed { sample: Some(Sample { mappings: 65_500, ..sample() }), ..missed() };
    assert_eq!(named(&mapped), ("objective".into(), false));
    // A connection that could not be started is evidence, and what it lacked may have been something else.
    let unstartable = Observed { connections_unstartable: 3, ..missed() };
    assert_eq!(named(&unstartable), ("unstartable connections".into(), true));
    assert_eq!(named(&Observed { sample: Some(crowded), ..unstartable }), ("process ids".into(), true));
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
    assert_eq!(
        named(&Observed { threads_last: Some(9_000), ..died.clone() }),
        ("runner failed".into(), false)
    );
    // One that lived on with so many threads was at no limit.
    assert_eq!(named(&Observed { died: None, ..died }), ("objective".into(), false));
}

#[test]
fn memory_is_told_by_the_killers_count_by_words_or_by_what_is_left() {
    let killed = Observed { killed: true, died: Some("killed".into()), oom_kills: Some(1), ..missed() };
    let said = Observed { said: vec!["memory allocation of 32 bytes failed".into()], ..missed() };
    let none = Some(Sample { memory_available_bytes: Some(20_000), ..sample() });
    for observed in [killed, said, Observed { sample: none, ..missed() }] {
        assert_eq!(named(&observed), ("memory".into(), true));
    }
    // Another process's death is no reason why this one took long.
    assert_eq!(named(&Observed { oom_kills: Some(1), ..missed() }), ("objective".into(), false));
}

#[test]
fn a_kill_without_a_count_is_a_kill_and_no_more() {
    for oom_kills in [Some(0), None] {
        let killed = Observed { killed: true, died: Some("killed".into()), oom_kills, ..missed() };
        assert_eq!(named(&killed), ("killed by signal 9".into(), true));
    }
}

#[test]
fn an_accept_queue_needs_connections_that_were_lost_and_a_queue_that_was_full() {
    let overflown = |class| Observed {
        accept_queue_overflows: 5,
        accept_queue_peak: Some(4_000),
        accept_backlog: Some(65_535),
        ..with_failed(class)
    };
    for class in ["timed-out", "connect-refused", "connect-other:ETIMEDOUT"] {
        assert_eq!(named(&overflown(class)), ("accept queue".into(), false));
    }
    assert_eq!(limit_of(&overflown("timed-out")).evidence["accept_backlog"], 4_096);
    // All connections came through, some of them late.
    let late = Observed { failed: BTreeMap::new(), ..overflown("timed-out") };
    assert_eq!(named(&late), ("objective".into(), false));
    assert_eq!(limit_of(&late).evidence["accept_queue_overflows"], 5);
    // They were lost for another reason, or the queue that overflowed is another listener's.
    assert_eq!(named(&overflown("reset")).0, "objective");
    assert_eq!(named(&Observed { accept_queue_peak: Some(3), ..overflown("timed-out") }).0, "objective");
    assert_eq!(named(&Observed { accept_queue_overflows: 0, ..overflown("timed-out") }).0, "objective");
    // A queue so short fills and empties between two looks.
    let short = Observed {
        accept_queue_peak: Some(3),
        accept_queue_unseen: 125,
        accept_backlog: Some(128),
        ..overflown("timed-out")
    };
    assert_eq!(named(&short).0, "accept queue");
    assert_eq!(named(&Observed { accept_queue_unseen: 124, ..short }).0, "objective");
    // Where the kernel does not show the queue, its counter is all there is.
    let unseen = Observed { accept_queue_peak: None, ..overflown("timed-out") };
    assert_eq!(named(&unseen), ("accept queue".into(), false));
}

#[test]
fn a_dead_runner_a_failed_check_and_nothing_at_all() {
    let died = Observed { died: Some("the runner exited with status 101".into()), ..missed() };
    assert_eq!(named(&died), ("runner failed".into(), false));
    let invalid = Observed { invalid: Some("check lost failed".into()), ..died };
    assert_eq!(named(&invalid), (FAILED_CHECK.into(), false));
    let nothing = Observed { response_p99: None, ..missed() };
    assert_eq!(named(&nothing), ("not told".into(), false));
    assert_eq!(end_of_the_ramp(2_000_000).evidence["last_step"], 2_000_000);
}
