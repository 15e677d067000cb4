//! Processes that are killed or stopped while a load of many seconds runs: each is a row with its reason, at once.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Value, code, harness, rows, stderr};

/// Runs a step of ten seconds, after which a ramp has no smaller one to try, sends a signal to the child whose command line
/// has `word`, and returns the row of the step.
fn struck(word: &str, signal: Signal) -> Value {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let file = directory.path().join("long.toml");
    let text = "[capacity.hold.quick]\nwait = \"10s\"\nsteps = [1]\ncommon_step = 1\n";
    fs::write(&file, text).expect("the directory can be written");
    let out = directory.path().join("run");
    let mut command = harness(&["run", "--quick", "capacity.hold", "-m", "fake:good"]);
    command.arg("--out").arg(&out).arg("--experiments").arg(&file);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let running = command.spawn().expect("the harness can be started");
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < Duration::from_secs(20), "no process with {word} was seen");
        if let Some(pid) = child_of(running.id(), word) {
            // The client begins when its connections are due. What has ended by then was there for something else.
            thread::sleep(Duration::from_millis(500));
            if kill_process(pid, signal).is_ok() {
                break;
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    let struck = Instant::now();
    let output = running.wait_with_output().expect("the harness ends");
    assert!(struck.elapsed() < Duration::from_secs(5), "it was noticed after {:?}", struck.elapsed());
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let rows = rows(&out);
    rows.iter().find(|row| row["params"]["requests"] == 1).expect("the step has a row").clone()
}

fn child_of(parent: u32, word: &str) -> Option<Pid> {
    let entries = fs::read_dir("/proc").ok()?;
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let of = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse::<u32>().ok());
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        of == Some(parent) && String::from_utf8_lossy(&line).split('\0').any(|argument| argument == word)
    };
    pids.into_iter().find(is_it).and_then(Pid::from_raw)
}

fn reason(word: &str, signal: Signal) -> String {
    let row = struck(word, signal);
    assert_eq!(row["status"], "failed", "{row:#}");
    row["reason"].as_str().expect("a reason").to_owned()
}

#[test]
fn a_client_that_is_killed_or_stopped_is_named_at_once() {
    assert_eq!(reason("load-shard", Signal::KILL), "the client was killed by SIGKILL");
    assert_eq!(reason("load-shard", Signal::STOP), "the client was stopped by SIGSTOP");
}

#[test]
fn a_server_that_is_killed_or_stopped_is_named_at_once() {
    let killed = reason("cell", Signal::KILL);
    assert!(killed.starts_with("the runner was killed by SIGKILL"), "{killed}");
    let stopped = reason("cell", Signal::STOP);
    assert!(stopped.starts_with("the runner was stopped by SIGSTOP"), "{stopped}");
}
