//! Streams that nobody reads: the work is done all the same, and the exit code is the work's own.

use std::fs::{self, File};
use std::io::pipe;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const HARNESS: &str = env!("CARGO_BIN_EXE_bench-harness");

/// A stream of the harness that takes nothing.
#[derive(Clone, Copy, Debug)]
enum Deaf {
    /// `2>&-`
    Closed,
    /// `2>/dev/full`
    Full,
    /// `2> >(true)`
    ReaderGone,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The harness with the fake runner. The shell passes `redirection` on, such as `2>&-`.
fn harness(redirection: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec \"$0\" \"$@\" {redirection}"), HARNESS]).args(arguments);
    command.arg("--runners").arg(Path::new(HARNESS).with_file_name("examples"));
    command
}

fn run_arguments(out: &Path) -> Vec<String> {
    let text = |path: &Path| path.to_str().expect("a name").to_owned();
    let fixed = ["run", "capacity.burst", "--quick", "--seed", "7", "-m", "fake,fake:dies", "--out"];
    let mut arguments: Vec<String> = fixed.map(str::to_owned).into();
    arguments.extend([text(out), "--experiments".to_owned(), text(&fixtures().join("small.toml"))]);
    arguments
}

fn deaf(stream: Deaf) -> Stdio {
    match stream {
        Deaf::Closed => Stdio::null(),
        Deaf::Full => File::options().write(true).open("/dev/full").expect("every Linux has it").into(),
        Deaf::ReaderGone => pipe().expect("there are descriptors").1.into(),
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_run_whose_standard_error_nobody_reads_is_complete() {
    for stream in [Deaf::Closed, Deaf::Full, Deaf::ReaderGone] {
        let directory = tempfile::tempdir().expect("a directory");
        let out = directory.path().join("run");
        let arguments = run_arguments(&out);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let redirection = if matches!(stream, Deaf::Closed) { "2>&-" } else { "" };
        let status = harness(redirection, &arguments).stdout(Stdio::null()).stderr(deaf(stream)).status();
        assert_eq!(status.expect("it can be started").code(), Some(0), "{stream:?}");
        let rows = fs::read_to_string(out.join("cells.jsonl")).expect("there are rows");
        assert_eq!(rows.lines().count(), 2, "{stream:?}: {rows}");
        assert!(out.join("report.md").exists(), "{stream:?}");
        // A failure is the exit code's to tell where nobody hears it.
        let failing = harness(redirection, &["cell", "fake:dies", "capacity.burst"])
            .stdout(Stdio::null())
            .stderr(deaf(stream))
            .status();
        assert_eq!(failing.expect("it can be started").code(), Some(1), "{stream:?}");
        let wrong = harness(redirection, &["run", "-m", "nobody"]).stderr(deaf(stream)).status();
        assert_eq!(wrong.expect("it can be started").code(), Some(2), "{stream:?}");
    }
}

#[test]
fn a_reader_that_has_had_enough_does_not_change_the_exit_code() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let run = run_arguments(&out);
    let run: Vec<&str> = run.iter().map(String::as_str).collect();
    let report = ["report", out.to_str().expect("a name")];
    let fails = ["verify", "-m", "fake:dies", "--checks", "burst-loses-nothing", "--no-progress"];
    let same = ["compare", report[1], report[1]];
    let pid = std::process::id().to_string();
    let commands: [(&[&str], i32); 15] = [
        (&["--help"], 0),
        (&["list"], 0),
        (&["list", "--format", "json"], 0),
        (&run, 0),
        (&report, 0),
        (&["report", report[1], "--format", "csv"], 0),
        (&same, 0),
        (&["predict", "pipeline"], 0),
        (&["schema", "row"], 0),
        (&["completions", "bash"], 0),
        (&["threads", &pid, "--duration", "10ms"], 0),
        (&["doctor", "--duration", "20ms"], 0),
        (&["cell", "fake", "capacity.burst", "--quick", "requests=10", "plan=wait=1ms"], 0),
        (&["cell", "fake:dies", "capacity.burst"], 1),
        (&fails, 3),
    ];
    for (arguments, expected) in commands {
        let output = harness("", arguments).stdout(deaf(Deaf::ReaderGone)).output().expect("it starts");
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}: {}", told(&output));
        assert!(!told(&output).contains("panicked"), "{}", told(&output));
    }
    assert!(out.join("report.md").exists());
}

#[test]
fn a_full_disk_is_an_error() {
    let output = harness("", &["list"]).stdout(deaf(Deaf::Full)).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told(&output).starts_with("error: cannot write to standard output: No space left"),
        "{}",
        told(&output)
    );
}
