//! `threads`, of this very process and of one that was started.

use std::io::Read;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

const HARNESS: &str = env!("CARGO_BIN_EXE_bench-harness");

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(HARNESS);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the harness can be started")
}

fn harness(arguments: &[&str]) -> Output {
    start(arguments).wait_with_output().expect("it ends")
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON value")
}

/// The CPU time of the calling thread.
fn own_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).expect("it is positive")
}

fn thread_of<'a>(seen: &'a Value, name: &str) -> &'a Value {
    let mut threads = seen["threads"].as_array().expect("threads").iter();
    threads.find(|thread| thread["name"] == name).unwrap_or_else(|| panic!("no {name} in {seen:#}"))
}

#[test]
fn who_burns_and_who_sleeps_in_this_process_are_told() {
    let over = Arc::new(AtomicBool::new(false));
    let burn = {
        let over = Arc::clone(&over);
        move || {
            let before = own_cpu_ns();
            while !over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            own_cpu_ns() - before
        }
    };
    let burner = thread::Builder::new().name("burner".into()).spawn(burn).expect("a thread");
    let (wake, sleeps) = std::sync::mpsc::channel::<()>();
    let sleep = move || {
        let _woken = sleeps.recv();
    };
    let sleeper = thread::Builder::new().name("sleeper".into()).spawn(sleep).expect("a thread");

    // The number of a thread stands for its process.
    let own = rustix::thread::gettid().as_raw_nonzero().to_string();
    let child = start(&["threads", &own, "-d", "400ms", "--format", "json"]);
    let looking = child.id();
    let seen = json(&child.wait_with_output().expect("it ends"));
    over.store(true, Ordering::Relaxed);
    let burnt_ns = burner.join().expect("it burns") as f64;
    drop(wake);
    sleeper.join().expect("it sleeps");

    let pids: Vec<u64> = seen["processes"]
        .as_array()
        .expect("processes")
        .iter()
        .map(|process| process["pid"].as_u64().expect("a number"))
        .collect();
    assert_eq!(pids.first(), Some(&u64::from(std::process::id())));
    assert!(!pids.contains(&u64::from(looking)), "it sees itself");
    let [burner, sleeper] = ["burner", "sleeper"].map(|name| thread_of(&seen, name));
    let share = |thread: &Value| thread["cpu_share"].as_f64().expect("a share");
    let interval_ns = seen["interval_ns"].as_f64().expect("an interval");
    assert!(interval_ns >= 400e6, "{interval_ns}");
    // By its own clock it burnt at least as much, also before and after; on a busy machine that is little.
    let share_ns = share(burner) * interval_ns;
    assert!(share_ns > 0.0 && share_ns <= burnt_ns * 1.05, "{share_ns} of {burnt_ns}");
    assert!(share(burner) > share(sleeper), "{seen:#}");
    assert_eq!((&burner["state"], &sleeper["state"]), (&"running".into(), &"sleeping".into()));
    assert_eq!((&burner["waits_in"], &burner["is_new"]), (&Value::Null, &false.into()));
    assert!(sleeper["voluntary_switches"].as_u64().is_some_and(|switches| switches > 0), "{sleeper:#}");
    // On a busy machine it may have fallen asleep as late as between the two looks.
    assert!(sleeper["voluntary_switches_per_s"].as_f64().is_some_and(|rate| rate < 10.0), "{sleeper:#}");

    let schema = json(&harness(&["schema", "threads"]));
    let schema = jsonschema::validator_for(&schema).expect("it can be used");
    let faults: Vec<String> = schema.iter_errors(&seen).map(|error| error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_child_is_shown_with_what_it_has_started() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "sleep 60 & sleep 60 & echo; read word; kill $(jobs -p)"]);
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
    shell.stdout.as_mut().expect("it is piped").read_exact(&mut [0]).expect("it has started both");
    let pid = shell.id().to_string();
    let seen = json(&harness(&["threads", &pid, "-d", "50ms", "--format", "json"]));
    let text = harness(&["threads", &pid, "-d", "50ms"]);
    let csv = harness(&["threads", &pid, "-d", "50ms", "--format", "csv"]);
    drop(shell.stdin.take());
    shell.wait().expect("it ends");

    let processes = seen["processes"].as_array().expect("processes");
    assert_eq!(processes.len(), 3, "{seen:#}");
    assert_eq!(
        (&processes[0]["pid"], &processes[0]["parent"]),
        (&shell.id().into(), &std::process::id().into())
    );
    assert!(processes[1..].iter().all(|process| process["parent"] == shell.id() && process["threads"] == 1));
    assert!(processes.iter().all(|process| process["main_stack_bytes"].as_u64() > Some(0)), "{seen:#}");
    let text = String::from_utf8(text.stdout).expect("text");
    assert!(
        text.starts_with(&format!("process {pid} \"sh\" of {}: 1 thread (1 sleeping)", std::process::id()))
    );
    assert!(text.contains("\npid") && text.contains("preempted/s"), "{text}");
    let csv = String::from_utf8(csv.stdout).expect("text");
    assert!(csv.starts_with("pid,tid,name,state,is_new,cpu_share,") && csv.lines().count() == 4, "{csv}");
}

#[test]
fn a_process_that_is_not_there_is_one_line() {
    for (arguments, told) in [
        (["threads", "4294967295"], "error: there is no process 4294967295; pgrep -a runtime- shows"),
        (["threads", "0"], "error: invalid value '0' for '<PID>'"),
        (["threads", "tokio"], "error: invalid value 'tokio' for '<PID>'"),
    ] {
        let output = harness(&arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with(told) && said.lines().count() == 1 && output.stdout.is_empty(), "{said}");
    }
    let own = std::process::id().to_string();
    let short = harness(&["threads", &own, "-d", "1ms"]);
    assert_eq!(short.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&short.stderr).contains("from 10ms"));
}
