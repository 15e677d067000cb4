//! Ctrl-C: once, a command stops, keeps what is finished and exits with 130; twice, it ends at once. Either way no process
//! of its own is left.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const HARNESS: &str = env!("CARGO_BIN_EXE_bench-harness");
/// Each command of a test has a value of its own in its environment, which all of its children have too.
const MARK: &str = "BENCH_HARNESS_TEST_MARK";
/// How long a command may take to end that was told to.
const LIMIT: Duration = Duration::from_secs(10);
/// What a command says when it was interrupted.
const HEARD: &str = "interrupted: ending what runs";

/// A command that goes on until it is interrupted.
struct Running {
    child: Child,
    mark: String,
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn start(directory: &Path, arguments: &[&str], stderr: Stdio) -> Running {
    let mark = directory.join("mark").display().to_string();
    let mut command = Command::new(HARNESS);
    command.args(arguments).arg("--runners").arg(Path::new(HARNESS).with_file_name("examples"));
    command.env(MARK, &mark).current_dir(directory).stdout(Stdio::piped()).stderr(stderr);
    Running { child: command.spawn().expect("the harness can be started"), mark }
}

impl Running {
    fn interrupt(&self) {
        // One that has ended needs no telling.
        let _ended = kill_process(Pid::from_child(&self.child), Signal::INT);
    }

    /// Waits until the command listens for signals: before that, one ends it as it ends any program.
    fn wait_until_it_listens(&self) {
        let caught = || {
            let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
            u64::from_str_radix(status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?.trim(), 16).ok()
        };
        let begin = Instant::now();
        while caught().is_none_or(|signals| signals >> (Signal::INT.as_raw() - 1) & 1 == 0) {
            assert!(begin.elapsed() < Duration::from_secs(30), "it never listened: {}", self.mark);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the command says that it was interrupted, which it does as soon as it has taken note of it.
    fn wait_until_it_heard(&mut self) {
        let stderr = self.child.stderr.as_mut().expect("it is a pipe");
        let mut line = [0; HEARD.len()];
        stderr.read_exact(&mut line).expect("it says so");
        assert_eq!(text(&line), HEARD);
    }

    /// Waits until a child of the command has `word` among its arguments.
    fn wait_for(&self, word: &str) {
        let is_it = |(pid, command): &(u32, String)| {
            *pid != self.child.id() && command.split('\0').any(|argument| argument == word)
        };
        let begin = Instant::now();
        while !self.processes().iter().any(is_it) {
            assert!(begin.elapsed() < Duration::from_secs(30), "it never came to {word}: {}", self.mark);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Those with its mark: itself, and what it started, each with its command line.
    fn processes(&self) -> Vec<(u32, String)> {
        let mark = format!("{MARK}={}", self.mark);
        let entries = fs::read_dir("/proc").expect("there are processes");
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        let of = |pid: u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let is_it = environment.split(|byte| *byte == 0).any(|one| one == mark.as_bytes());
            let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            is_it.then(|| (pid, String::from_utf8_lossy(&command).into_owned()))
        };
        pids.filter_map(of).collect()
    }

    /// Waits for its end, and for that of its children.
    fn end(mut self) -> Output {
        let begin = Instant::now();
        while self.child.try_wait().expect("a status").is_none() {
            if begin.elapsed() > LIMIT {
                self.child.kill().expect("it can be killed");
                panic!("{} did not end", self.mark);
            }
            thread::sleep(Duration::from_millis(5));
        }
        let status = self.child.wait().expect("a status");
        // Those that were killed with it are gone as soon as the kernel has come to it.
        let begin = Instant::now();
        while !self.processes().is_empty() {
            assert!(begin.elapsed() < Duration::from_secs(2), "left: {:?}", self.processes());
            thread::sleep(Duration::from_millis(5));
        }
        let read = |stream: Option<&mut dyn Read>| {
            let mut text = Vec::new();
            stream.into_iter().for_each(|stream| _ = stream.read_to_end(&mut text).expect("it can be read"));
            text
        };
        let stdout = read(self.child.stdout.as_mut().map(|stream| stream as &mut dyn Read));
        let stderr = read(self.child.stderr.as_mut().map(|stream| stream as &mut dyn Read));
        Output { status, stdout, stderr }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn interrupted(output: &Output) {
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
}

/// Commands in which a runner is at work that says nothing for a minute, each with what it leaves.
const HANGING: [(&[&str], &str); 4] = [
    (&["run", "capacity.burst", "--quick", "-m", "fake:hangs", "--out", "out"], "out/report.html"),
    (&["aa", "-m", "fake:hangs", "--out", "out"], "out/cells.jsonl"),
    (&["cell", "fake:hangs", "capacity.burst", "--quick"], ""),
    (&["verify", "-m", "fake:hangs", "--checks", "burst-loses-nothing"], ""),
];

#[test]
fn a_command_whose_runner_hangs_ends_when_it_is_told_once() {
    for (arguments, file) in HANGING {
        let directory = tempfile::tempdir().expect("a directory");
        let running = start(directory.path(), arguments, Stdio::piped());
        running.wait_for("cell");
        running.interrupt();
        let output = running.end();
        interrupted(&output);
        assert!(text(&output.stderr).contains(HEARD), "{arguments:?}");
        assert!(directory.path().join(file).exists(), "{arguments:?} left no {file}");
    }
}

#[test]
fn a_command_that_is_told_twice_leaves_no_process() {
    for (arguments, _) in HANGING {
        let directory = tempfile::tempdir().expect("a directory");
        let running = start(directory.path(), arguments, Stdio::piped());
        running.wait_for("cell");
        running.interrupt();
        thread::sleep(Duration::from_millis(10));
        running.interrupt();
        interrupted(&running.end());
    }
}

#[test]
fn the_checks_that_were_made_are_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments =
        ["verify", "-m", "fake:dies,fake:hangs", "--checks", "burst-loses-nothing", "--format", "json"];
    let running = start(directory.path(), &arguments, Stdio::piped());
    // The one that dies is gone after a moment, and the one that hangs is there for a minute.
    thread::sleep(Duration::from_millis(1_000));
    running.wait_for("cell");
    running.interrupt();
    let output = running.end();
    interrupted(&output);
    let made: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(made.as_array().map(Vec::len), Some(1), "{made:#}");
    assert_eq!((&made[0]["variant"], &made[0]["verdict"]), (&"fake:dies".into(), &"failed".into()));
}

#[test]
fn listening_to_the_machine_ends_and_tells_what_was_heard() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["doctor", "--duration", "60s", "--strict", "--format", "json"];
    let running = start(directory.path(), &arguments, Stdio::piped());
    running.wait_until_it_listens();
    thread::sleep(Duration::from_millis(200));
    running.interrupt();
    let output = running.end();
    interrupted(&output);
    let heard: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert!(heard["noise"]["duration_ns"].as_u64().is_some_and(|ns| ns < 20_000_000_000), "{heard:#}");
    // A run that has not begun makes no directory.
    let small = fixture("small.toml");
    let small = small.to_str().expect("a name");
    let strict = ["run", "--strict", "--quick", "-m", "fake", "--out", "out", "--experiments", small];
    let running = start(directory.path(), &strict, Stdio::piped());
    running.wait_until_it_listens();
    thread::sleep(Duration::from_millis(200));
    running.interrupt();
    interrupted(&running.end());
    assert!(!directory.path().join("out").exists());
}

/// A run whose rows are in a pipe, so that whoever reads it waits until they are written.
fn waiting(directory: &Path, name: &str) -> (PathBuf, String) {
    let out = directory.join(name);
    let small = fixture("small.toml");
    let small = small.to_str().expect("a name");
    let arguments = ["run", "capacity.burst", "--quick", "-m", "fake", "--out", name, "--experiments", small];
    let made = start(directory, &arguments, Stdio::null()).end();
    assert_eq!(made.status.code(), Some(0));
    let rows = fs::read_to_string(out.join("cells.jsonl")).expect("rows");
    for file in ["cells.jsonl", "report.md", "report.html", "summary.json", "cells.csv"] {
        fs::remove_file(out.join(file)).expect("it was written");
    }
    let made = Command::new("mkfifo").arg(out.join("cells.jsonl")).status().expect("every Linux has it");
    assert!(made.success());
    (out, rows)
}

#[test]
fn a_report_or_a_comparison_that_is_interrupted_writes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let runs = ["run", "other"].map(|name| waiting(directory.path(), name));
    let report: (&[&str], _) = (&["report", "run"], &runs[..1]);
    let compare: (&[&str], _) = (&["compare", "run", "other", "--html", "page.html"], &runs[..]);
    for (arguments, read) in [report, compare] {
        let mut once = start(directory.path(), arguments, Stdio::piped());
        once.wait_until_it_listens();
        once.interrupt();
        once.wait_until_it_heard();
        // It goes on reading.
        for (out, rows) in read {
            let mut pipe = fs::File::options().write(true).open(out.join("cells.jsonl")).expect("it is read");
            pipe.write_all(rows.as_bytes()).expect("it is read");
        }
        let output = once.end();
        interrupted(&output);
        assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
        assert!(!runs[0].0.join("report.md").exists() && !directory.path().join("page.html").exists());
        let mut twice = start(directory.path(), arguments, Stdio::piped());
        twice.wait_until_it_listens();
        twice.interrupt();
        twice.wait_until_it_heard();
        twice.interrupt();
        interrupted(&twice.end());
    }
}

#[test]
fn one_whose_standard_error_takes_nothing_hears_the_second_time() {
    let (reader, writer) = std::io::pipe().expect("there are descriptors");
    rustix::io::ioctl_fionbio(&writer, true).expect("a pipe can be told not to wait");
    while (&writer).write(&[b'x'; 4_096]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).expect("a pipe can be told to wait");
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["verify", "-m", "fake:dies,fake:hangs", "--checks", "burst-loses-nothing"];
    let running = start(directory.path(), &arguments, writer.into());
    running.wait_for("cell");
    thread::sleep(Duration::from_millis(500));
    running.interrupt();
    thread::sleep(Duration::from_millis(200));
    running.interrupt();
    let status = running.end().status;
    assert_eq!(status.code(), Some(130));
    drop(reader);
}
