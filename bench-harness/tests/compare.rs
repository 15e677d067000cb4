//! `compare` and baselines, from runs of a fake runner whose rows are doctored.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const HARNESS: &str = env!("CARGO_BIN_EXE_bench-harness");

fn harness(arguments: &[&str]) -> Output {
    Command::new(HARNESS).args(arguments).output().expect("the harness can be started")
}

/// `run` of five repetitions of one cell, with more arguments.
fn run(out: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(HARNESS);
    command.args(["run", "--quick", "--seed", "7", "-n", "5", "-m", "fake", "--no-progress"]).args(arguments);
    command.arg("--out").arg(out).arg("--runners").arg(Path::new(HARNESS).with_file_name("examples"));
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/small.toml");
    command.arg("--experiments").arg(small).output().expect("the harness can be started")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON value")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a name")
}

/// A copy of a run, with each row and the record changed.
fn doctored(
    from: &Path,
    name: &str,
    row: impl Fn(usize, &mut Value),
    record: impl Fn(&mut Value),
) -> PathBuf {
    let to = from.with_file_name(name);
    fs::create_dir(&to).expect("a directory");
    let read = |name: &str| fs::read_to_string(from.join(name)).expect("the file is there");
    let mut run: Value = serde_json::from_str(&read("run.json")).expect("JSON");
    record(&mut run);
    fs::write(to.join("run.json"), run.to_string()).expect("it can be written");
    let mut rows = String::new();
    for (index, line) in read("cells.jsonl").lines().enumerate() {
        let mut value: Value = serde_json::from_str(line).expect("JSON");
        row(index, &mut value);
        rows.push_str(&format!("{value}\n"));
    }
    fs::write(to.join("cells.jsonl"), rows).expect("it can be written");
    to
}

/// Scales the time of a row, with the spread of a quiet machine, and takes away what it does not need.
fn scale(factor: f64) -> impl Fn(usize, &mut Value) {
    const SPREAD: [f64; 5] = [1.0, 0.99, 1.015, 1.004, 0.993];
    move |index, row| {
        let elapsed = row["metrics"]["elapsed_ns"].as_f64().expect("a figure");
        let spread = SPREAD[index % SPREAD.len()];
        row["metrics"] = serde_json::json!({"elapsed_ns": elapsed * factor * spread, "throughput_per_s": 1e5 * factor * spread});
    }
}

#[test]
fn a_run_is_compared_with_itself_with_a_slower_one_and_with_one_of_another_machine() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let made = run(&out, &["capacity.burst"]);
    assert_eq!(code(&made), Some(0), "{}", stderr(&made));

    // Against itself, by its directory or by a file in it.
    let rows = out.join("cells.jsonl");
    let same = harness(&["compare", text(&out), text(&rows), "--fail-on-regression", "--format", "json"]);
    assert_eq!(code(&same), Some(0), "{}", stderr(&same));
    let told = json(&same);
    let counts = &told["counts"];
    assert!(counts["unchanged"].as_u64() > Some(3), "{counts}");
    assert_eq!(counts["unchanged"], told["figures"].as_array().expect("figures").len(), "{told:#}");

    // A tenth slower, with noise.
    let base = doctored(&out, "base", scale(1.0), |_| {});
    let slower = doctored(&out, "slower", |index, row| scale(1.1)(index + 2, row), |_| {});
    let page = directory.path().join("page.html");
    let arguments = ["compare", text(&base), text(&slower), "--html", text(&page), "--format", "csv"];
    let found = harness(&arguments);
    assert_eq!(code(&found), Some(0), "{}", stderr(&found));
    let lines: Vec<String> =
        stdout(&found).lines().map(|line| line.split(',').take(6).collect::<Vec<_>>().join(",")).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines[1].starts_with("regressed,capacity.burst,fake,good,") && lines[1].ends_with(",elapsed_ns"),
        "{lines:?}"
    );
    assert!(lines[2].starts_with("improved,") && lines[2].ends_with(",throughput_per_s"), "{lines:?}");
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("Regressed: 1") && page.ends_with("</html>"));
    let failed = harness(&["compare", text(&base), text(&slower), "--fail-on-regression"]);
    assert_eq!((code(&failed), stderr(&failed).as_str()), (Some(4), "error: 1 of 2 figures regressed\n"));
    let text_told = stdout(&failed);
    assert!(text_told.contains("Of 2 figures in 1 cell, 1 regressed, 1 improved"), "{text_told}");
    // The floor of a noisy machine forgives it.
    let floor = directory.path().join("aa.json");
    let noisy = serde_json::json!({"noise_floor": {"measured_on": "x", "repetitions": 5, "by_metric": {"elapsed_ns": 0.2}}});
    fs::write(&floor, noisy.to_string()).expect("it can be written");
    let forgiven =
        harness(&["compare", text(&base), text(&slower), "--fail-on-regression", "--noise", text(&floor)]);
    assert_eq!(code(&forgiven), Some(0), "{}", stderr(&forgiven));

    // Another machine, and another kernel and lockfile.
    let other = doctored(&out, "other", scale(1.1), |run| {
        run["machine"]["cpu"] = "another".into();
        run["machine"]["kernel"] = "0.1".into();
        run["build"]["lock_hash"] = "abc".into();
    });
    let refused = harness(&["compare", text(&base), text(&other), "--format", "json"]);
    assert_eq!(code(&refused), Some(6));
    let told = json(&refused);
    let what: Vec<&str> = told["differences"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["what"].as_str())
        .collect();
    assert_eq!((what, &told["figures"]), (vec!["CPU", "kernel", "lockfile"], &Value::Array(vec![])));
    let said = stderr(&refused);
    assert!(
        said.starts_with("error: A and B cannot be compared: CPU: ") && said.lines().count() == 1,
        "{said}"
    );
    let anyway = harness(&["compare", text(&base), text(&other), "--anyway"]);
    assert_eq!(code(&anyway), Some(0), "{}", stderr(&anyway));
    assert!(stdout(&anyway).contains("NOT COMPARABLE") && stdout(&anyway).contains("differs: kernel: "));
}

#[test]
fn what_cannot_be_compared_is_said_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let made = run(&out, &["capacity.burst"]);
    assert_eq!(code(&made), Some(0), "{}", stderr(&made));
    let ending = |arguments: &[&str]| {
        let output = harness(&[&["compare"], arguments].concat());
        let said = stderr(&output);
        assert_eq!(said.lines().count(), 1, "{said}");
        (code(&output), said)
    };
    let (code, said) = ending(&[text(&out), "/nowhere"]);
    assert!(
        code == Some(2) && said == "error: there is no /nowhere; name the directory of a run\n",
        "{said}"
    );
    let (code, said) = ending(&[text(directory.path()), text(&out)]);
    assert!(code == Some(2) && said.contains(" holds no run: cannot read run.json"), "{said}");
    let report = out.join("report.md");
    let (code, said) = ending(&[text(&report), text(&out)]);
    assert!(
        code == Some(2) && said.contains("report.md is no run; name the directory of one, or its run.json"),
        "{said}"
    );
    let (code, said) = ending(&[text(&out)]);
    assert!(code == Some(2) && said.contains("name two runs, A and B, or one and a --baseline"), "{said}");
    let (code, said) = ending(&[text(&out), "--baseline", "main"]);
    assert!(code == Some(2) && said.contains("there is no baseline \"main\" in "), "{said}");
    let (code, said) = ending(&[text(&out), text(&out), "--html", "/nowhere/page.html"]);
    assert!(code == Some(1) && said.contains("cannot write /nowhere/page.html"), "{said}");
    let (code, said) = ending(&[text(&out), text(&out), "--noise", "/nowhere"]);
    assert!(code == Some(2) && said.contains("/nowhere has no noise floor"), "{said}");
    let (code, said) = ending(&[text(&out), text(&out), "--anyway", "--fail-on-regression"]);
    assert!(code == Some(2) && said.contains("cannot be used with"), "{said}");
    let alone = doctored(&out, "alone", |_, row| row["variant"] = "another".into(), |_| {});
    let (code, said) = ending(&[text(&out), text(&alone)]);
    assert!(code == Some(6) && said.ends_with("no cell is in both\n"), "{said}");
}

#[test]
fn a_run_becomes_a_baseline_and_the_next_is_held_against_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = |name: &str| directory.path().join(name);
    let first = run(&out("first"), &["capacity.burst", "--save-baseline", "main"]);
    assert_eq!(code(&first), Some(0), "{}", stderr(&first));
    let baseline = out("baselines").join("main");
    assert!(
        stderr(&first).contains(&format!("The baseline main is {}\n", baseline.display())),
        "{}",
        stderr(&first)
    );

    // Nothing has changed, and the baseline is replaced in so many words. The cell takes exactly as long as its plan.
    let arguments = ["capacity.burst", "--baseline", "main", "--save-baseline", "main", "--format", "json"];
    let second = run(&out("second"), &arguments);
    assert_eq!(code(&second), Some(0), "{}", stderr(&second));
    let told = json(&second);
    let elapsed =
        told["figures"].as_array().expect("figures").iter().find(|one| one["metric"] == "elapsed_ns");
    assert_eq!(elapsed.expect("it is measured")["verdict"], "unchanged");
    assert!(stderr(&second).contains(", in the place of that of 2"), "{}", stderr(&second));
    assert!(out("second/comparison.html").exists() && out("second/report.html").exists());

    // Against one that was twice as fast it regressed, and does not take its place.
    let rows = fs::read_to_string(baseline.join("cells.jsonl")).expect("rows");
    let halved = rows.lines().map(|line| {
        let mut row: Value = serde_json::from_str(line).expect("JSON");
        row["metrics"]["elapsed_ns"] =
            (row["metrics"]["elapsed_ns"].as_f64().expect("a figure") / 2.0).into();
        format!("{row}\n")
    });
    let halved: String = halved.collect();
    fs::write(baseline.join("cells.jsonl"), &halved).expect("it can be written");
    let worse = ["capacity.burst", "--baseline", "main", "--save-baseline", "main", "--fail-on-regression"];
    let third = run(&out("third"), &worse);
    assert_eq!(code(&third), Some(4), "{}", stderr(&third));
    assert!(stderr(&third).contains("warning: not saved as the baseline main\n"), "{}", stderr(&third));
    assert_eq!(fs::read_to_string(baseline.join("cells.jsonl")).expect("rows"), halved);
    let compared = harness(&["compare", "--baseline", "main", text(&out("third")), "--fail-on-regression"]);
    assert_eq!(code(&compared), Some(4), "{}", stderr(&compared));

    // What is wrong is said before anything is measured.
    let unknown = run(&out("unknown"), &["capacity.burst", "--baseline", "mian"]);
    assert_eq!(code(&unknown), Some(2));
    assert!(stderr(&unknown).contains("did you mean \"main\"?"), "{}", stderr(&unknown));
    let path = run(&out("unknown"), &["capacity.burst", "--save-baseline", "../main"]);
    assert!(code(&path) == Some(2) && stderr(&path).contains("a name has up to 64"), "{}", stderr(&path));
    assert!(!out("unknown").exists());
}
