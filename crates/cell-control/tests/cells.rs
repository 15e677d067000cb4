//! Cells whose runner misbehaves: each ends in bounded time, with one line that says how.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cell_control::{CellError, CellProcess, Exit, Limits};
use cell_protocol::{ArrivalsTask, CellSpec, PROTOCOL, Task};
use workload::arrivals::Pattern;

const SHORT: Duration = Duration::from_millis(300);

fn start_with(variant: &str, limits: Limits) -> Result<CellProcess, CellError> {
    let spec = CellSpec {
        cpus: vec![],
        control_group: None,
        offload_threads: None,
        protocol: PROTOCOL,
        variant: variant.into(),
        workers: 1,
        task: Task::Arrivals(ArrivalsTask {
            plan: "wait=1ms".parse().expect("it is a plan"),
            strategy: workload::BlockingStrategy::Inline,
            seed: 1,
            arrivals: Pattern::burst(1),
            queue_capacity: 1,
            warm: false,
            time_limit_ns: 1,
        }),
        drain_ns: 1,
    };
    let runner = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fake-runner");
    CellProcess::start(&runner, &spec, limits)
}

fn start(variant: &str) -> CellProcess {
    start_with(variant, Limits::default()).expect("this runner is ready")
}

fn start_fails(variant: &str) -> String {
    start_with(variant, Limits { ready: SHORT, ..Limits::default() })
        .expect_err("it is not ready")
        .to_string()
}

fn is_alive(pid: u32) -> bool {
    // A zombie that nobody reaps, as in a container without an init, is not alive.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn is_gone_soon(pid: u32) -> bool {
    let deadline = Instant::now() + Duration::from_secs(2);
    while is_alive(pid) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    !is_alive(pid)
}

#[test]
fn a_good_cell_runs_to_its_end() {
    let mut cell = start("good");
    let pid = cell.pid();
    assert_eq!(cell.snapshot().unwrap().at_monotonic_ns, 1);
    cell.go().unwrap();
    assert_eq!(cell.result(SHORT * 10).unwrap().completed, 1);
    let end = cell.stop(SHORT * 10).unwrap();
    assert_eq!(end.stopped.unfinished, 0);
    assert!(end.rss_max_bytes > 0);
    assert!(!is_alive(pid));
}

#[test]
fn a_result_may_come_before_a_snapshot() {
    let mut cell = start("result-overtakes");
    cell.go().unwrap();
    cell.snapshot().unwrap();
    assert_eq!(cell.result(SHORT).unwrap().completed, 1);
}

#[test]
fn a_hang_before_ready_ends_at_the_limit() {
    let begin = Instant::now();
    assert_eq!(start_fails("hangs"), "no sign of ready within 300ms");
    assert!(begin.elapsed() < SHORT * 3);
}

#[test]
fn a_death_has_its_status_and_last_words() {
    let error = start_with("dies", Limits::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the runner exited with status 3 while ready was awaited; it said: cannot bind: address in use"
    );
    assert_eq!(error.exit(), Some(Exit::Status(3)));
    assert_eq!(error.last_words(), Some("cannot bind: address in use"));
}

#[test]
fn a_kill_in_mid_cell_names_the_signal() {
    let mut cell = start("killed");
    cell.go().unwrap();
    let error = cell.result(SHORT * 10).unwrap_err();
    assert_eq!(error.to_string(), "the runner was killed by SIGKILL while the result was awaited");
    assert!(error.exit().unwrap().is_sigkill());
}

#[test]
fn a_death_is_noticed_though_a_descendant_holds_the_pipe() {
    let mut cell = start("killed-beside-a-child");
    cell.go().unwrap();
    let begin = Instant::now();
    let error = cell.result(Duration::from_secs(60)).unwrap_err();
    assert_eq!(error.to_string(), "the runner was killed by SIGKILL while the result was awaited");
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(!cell.is_running());
}

#[test]
fn a_stopped_runner_is_named_at_once_and_can_be_ended() {
    let begin = Instant::now();
    let mut cell = start("stopped");
    assert!(cell.is_running());
    cell.go().unwrap();
    let expected = |awaited| {
        format!("the runner was stopped by SIGSTOP while {awaited} was awaited; it said: about to stop")
    };
    let error = cell.result(Duration::from_secs(60)).unwrap_err();
    assert_eq!(error.to_string(), expected("the result"));
    assert_eq!((error.exit(), error.last_words()), (None, Some("about to stop")));
    assert!(!cell.is_running());
    let pid = cell.pid();
    assert_eq!(cell.stop(Duration::from_secs(60)).unwrap_err().to_string(), expected("stopped"));
    assert!(!is_alive(pid));
    // SIGTERM waits for a stopped process to go on, and was not waited for.
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}

#[test]
fn nonsense_is_quoted() {
    let error = start_fails("nonsense");
    assert!(error.starts_with("nonsense while ready was awaited: \"Hello, I am a runner\""), "{error}");
    let error = start_fails("out-of-turn");
    assert!(error.ends_with("(out of turn)"), "{error}");
}

#[test]
fn an_endless_line_is_cut() {
    let error = start_with("endless", Limits::default()).unwrap_err().to_string();
    assert_eq!(error, "a line of more than 4194304 bytes while ready was awaited");
}

#[test]
fn a_closed_output_is_not_a_death() {
    let error = start_with("closes-output", Limits::default()).unwrap_err().to_string();
    assert_eq!(error, "the runner closed its standard output while ready was awaited");
}

#[test]
fn a_noisy_runner_is_not_blocked() {
    start("noisy").stop(SHORT * 10).unwrap();
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let spec = CellSpec {
        cpus: vec![],
        control_group: None,
        offload_threads: None,
        protocol: PROTOCOL,
        variant: String::new(),
        workers: 1,
        task: Task::Serve(cell_protocol::ServeTask {
            listen: "127.0.0.1:0".parse().unwrap(),
            backlog: 1,
            in_flight_limit: 1,
            connections_max: 1,
            queue_capacity: 1,
            idle_timeout_ns: 1,
            request_timeout_ns: 1,
        }),
        drain_ns: 1,
    };
    let error = CellProcess::start("/nowhere/runtime-none".as_ref(), &spec, Limits::default()).unwrap_err();
    assert!(error.to_string().starts_with("cannot start /nowhere/runtime-none: No such file"), "{error}");
}

#[test]
fn a_grandchild_does_not_survive_a_clean_stop() {
    let cell = start("leaves-a-child");
    let grandchild = cell.ready().pid;
    assert!(is_alive(grandchild));
    cell.stop(SHORT * 10).unwrap();
    assert!(is_gone_soon(grandchild));
}

#[test]
fn a_dropped_cell_takes_its_grandchild_along() {
    let cell = start("leaves-a-child");
    let (runner, grandchild) = (cell.pid(), cell.ready().pid);
    drop(cell);
    assert!(!is_alive(runner));
    assert!(is_gone_soon(grandchild));
}

#[test]
fn a_stop_that_never_ends_is_terminated() {
    let begin = Instant::now();
    let error = start("never-stops").stop(SHORT).unwrap_err();
    assert_eq!(error.to_string(), "no sign of stopped within 300ms");
    // SIGTERM was enough: the 2 s before SIGKILL were not used up.
    assert!(begin.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_stop_that_ignores_sigterm_is_killed() {
    let begin = Instant::now();
    let cell = start("deaf");
    let pid = cell.pid();
    cell.stop(SHORT).unwrap_err();
    assert!(begin.elapsed() >= Duration::from_secs(2));
    assert!(!is_alive(pid));
}

#[test]
fn an_unclean_exit_is_an_error() {
    let error = start("unclean").stop(SHORT * 10).unwrap_err().to_string();
    assert_eq!(
        error,
        "the runner exited with status 1 while its exit with status 0 was awaited; it said: a worker had died"
    );
}

#[test]
fn the_interrupt_flag_ends_a_wait() {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let mut cell = start_with("good", Limits { interrupt: Some(flag), ..Limits::default() }).unwrap();
    let raiser = thread::spawn(move || {
        thread::sleep(SHORT / 3);
        raised.store(true, Ordering::Relaxed);
    });
    let error = cell.result(Duration::from_secs(60)).unwrap_err();
    assert_eq!(error.to_string(), "interrupted while the result was awaited");
    raiser.join().unwrap();
}
