//! How the harness ends where something outside it fails: a disk, a reader, a directory, a terminal.

use std::process::Stdio;

use super::*;

/// Runs a command whose standard output, or error, has no reader.
fn unread(mut command: Command, of: fn(&mut Command, Stdio)) -> Output {
    let (reader, writer) = std::io::pipe().expect("there are descriptors");
    of(&mut command, writer.into());
    drop(reader);
    output(command)
}

fn to_stdout(command: &mut Command, pipe: Stdio) {
    command.stdout(pipe);
}

fn to_stderr(command: &mut Command, pipe: Stdio) {
    command.stderr(pipe);
}

#[test]
fn a_full_disk_leaves_whole_rows_and_the_runs_own_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    // A file may have 8 KiB, or 16 where the shell counts in KiB: that is run.json and a few rows.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"", HARNESS, "run", "--quick"]);
    command.args(["capacity.burst", "-m", "fake", "-n", "40", "--no-progress", "--out"]).arg(&out);
    command.arg("--experiments").arg(fixture("small.toml")).arg("--runners").arg(runners());
    let output = output(command);
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
    let told = stderr(&output);
    let last = told.lines().last().expect("it says why");
    assert!(last.starts_with("error: cannot write a row to ") && last.contains("File too large"), "{told}");
    let text = fs::read_to_string(out.join("cells.jsonl")).expect("there are rows");
    assert!(text.ends_with('\n'), "a cut row: {:?}", text.lines().last());
    let whole = rows(&out).len();
    assert!((1..40).contains(&whole), "{whole}");
    let names: Vec<_> =
        fs::read_dir(&out).expect("a directory").map(|entry| entry.expect("a name").file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{names:?}");
    assert_eq!(json(&out.join("run.json"))["partial"], true);
    // When there is room again, the report is that of what was finished.
    let again = outcome(&["report", out.to_str().expect("a name")]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    assert!(stderr(&again).contains("some cells are missing: cannot write a row"), "{}", stderr(&again));
}

#[test]
fn a_row_that_was_cut_costs_that_row_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let first = output(run(&out, &["capacity.burst", "-n", "2", "-m", "fake"]));
    assert_eq!(code(&first), Some(0), "{}", stderr(&first));
    let rows = out.join("cells.jsonl");
    let text = fs::read_to_string(&rows).expect("rows");
    fs::write(&rows, &text[..text.len() - 100]).expect("it can be written");
    let again = outcome(&["report", out.to_str().expect("a name")]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    assert!(stderr(&again).contains("line 2 of cells.jsonl, the last one, is cut"), "{}", stderr(&again));
    let report = fs::read_to_string(out.join("report.md")).expect("a report");
    assert!(report.contains("its rows were cut: some cells are missing"), "{report}");
    assert_eq!(json(&out.join("summary.json"))[0]["n"], 1);
}

#[test]
fn a_reader_that_is_gone_hides_no_failure() {
    let done = unread(harness(&["list"]), to_stdout);
    assert_eq!((code(&done), stderr(&done).as_str()), (Some(0), ""));
    let failed = unread(harness(&["cell", "fake:dies", "capacity.burst"]), to_stdout);
    assert_eq!((code(&failed), stderr(&failed).as_str()), (Some(1), ""));
    let unverified = ["verify", "-m", "fake:dies", "--checks", "burst-loses-nothing", "--no-progress"];
    let unverified = unread(harness(&unverified), to_stdout);
    assert_eq!(code(&unverified), Some(3), "{}", stderr(&unverified));
    let unmeasured =
        unread(harness(&["load", "http://127.0.0.1:1/", "-d", "50ms", "--warmup", "1ms"]), to_stdout);
    assert_eq!(code(&unmeasured), Some(1), "{}", stderr(&unmeasured));
}

#[test]
fn a_run_goes_on_where_nobody_reads_what_it_says() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let silent = run(&out, &["capacity.burst", "-m", "fake,fake:dies"]);
    let output = unread(silent, to_stderr);
    assert_eq!(code(&output), Some(0));
    assert_eq!(rows(&out).len(), 2);
    assert!(out.join("report.md").exists());
}

#[test]
fn a_ramp_that_nobody_reads_is_not_climbed() {
    let mut steps = harness(&["cell", "fake", "capacity.hold-tasks", "--quick", "wait=500ms"]);
    steps.args(["steps=1,2,3,4,5,6,7,8,9,10", "common_step=10", "--format", "json"]);
    let begin = Instant::now();
    let ended = unread(steps, to_stdout);
    assert_eq!((code(&ended), stderr(&ended).as_str()), (Some(0), ""));
    // Each of the ten steps takes half a second and more.
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
}

#[test]
fn results_go_into_a_directory_of_their_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let error = |out: &Path| {
        let output = output(run(out, &["capacity.burst", "-m", "fake"]));
        assert_eq!(code(&output), Some(2), "{}", stderr(&output));
        let said = stderr(&output);
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    assert!(
        error(Path::new("/etc/passwd")).contains("/etc/passwd is no directory; name a new one with --out")
    );
    assert!(error(Path::new("/etc/passwd/run")).contains("cannot make the directory /etc/passwd/run"));
    let report = directory.path().join("report.md");
    fs::write(&report, "of another run").expect("it can be written");
    assert!(error(directory.path()).contains("is not empty: it holds \"report.md\""));
    assert_eq!(fs::read_to_string(&report).expect("it is there"), "of another run");
}

#[test]
fn a_runners_words_reach_no_terminal_as_anything_but_text() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let output = output(run(&out, &["capacity.burst", "-m", "fake:garish"]));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let is_plain = |text: &str| !text.chars().any(|letter| letter.is_control() && letter != '\n');
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    for (what, text) in [("stdout", &stdout), ("stderr", &stderr(&output))] {
        assert!(
            is_plain(text) && text.contains(r"\u{1b}[31mred | \u{7}\u{9b}2J no more"),
            "{what}: {text:?}"
        );
    }
    for name in ["report.md", "summary.json", "cells.jsonl"] {
        let text = fs::read_to_string(out.join(name)).expect("it was written");
        assert!(is_plain(&text) && text.contains("2J no more"), "{name}: {text:?}");
    }
    // In a table of the report, a bar in its words ends no cell.
    let report = fs::read_to_string(out.join("report.md")).expect("a report");
    assert!(report.contains(r"\\u{1b}[31mred \| \\u{7}"), "{report}");
    // Rows of others are not trusted either.
    let rows = fs::read_to_string(out.join("cells.jsonl")).expect("rows");
    fs::write(out.join("cells.jsonl"), rows.replace("no more", r"\u001b[2J\nno <b>more"))
        .expect("it can be written");
    let again = outcome(&["report", out.to_str().expect("a name")]);
    let stdout = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(is_plain(&stdout) && stdout.contains(r"\u{1b}[2J\nno <b>more"), "{stdout:?}");
    let report = fs::read_to_string(out.join("report.md")).expect("a report");
    assert!(is_plain(&report) && report.contains(r"\\nno \<b>more"), "{report}");
}
