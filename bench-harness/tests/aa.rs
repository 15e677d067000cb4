//! `aa` against a fake runner, which takes exactly as long as its plan: equals are equal, and what is planted is found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const HARNESS: &str = env!("CARGO_BIN_EXE_bench-harness");

fn harness(arguments: &[&str], out: &Path) -> Output {
    let runners: PathBuf = Path::new(HARNESS).with_file_name("examples");
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/small.toml");
    let mut command = Command::new(HARNESS);
    command.args(arguments).arg("--no-progress").arg("--out").arg(out).arg("--runners").arg(runners);
    command.arg("--experiments").arg(small).output().expect("the harness can be started")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_slowdown_that_is_planted_in_the_plan_is_found_and_equals_are_equal() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("aa");
    let arguments =
        ["aa", "-m", "fake", "--pairs", "3", "--plant", "1.10", "--seed", "7", "--format", "json"];
    let output = harness(&arguments, &out);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told: Value = serde_json::from_slice(&output.stdout).expect("standard output is one JSON value");
    let written = fs::read_to_string(out.join("aa.json")).expect("a judgement");
    assert_eq!(serde_json::from_str::<Value>(&written).expect("JSON"), told);
    let metrics = told["metrics"].as_array().expect("metrics");
    let elapsed = metrics.iter().find(|one| one["metric"] == "elapsed_ns").expect("it is measured");
    assert_eq!((&elapsed["pairs"], &elapsed["false_alarms"]), (&3.into(), &0.into()), "{elapsed:#}");
    assert_eq!((&elapsed["ratio"]["value"], &elapsed["floor"]), (&1.0.into(), &0.0.into()));
    assert_eq!(
        (&elapsed["planted"]["ratio"]["value"], &elapsed["planted"]["found"]),
        (&1.1.into(), &3.into())
    );
    assert_eq!(told["faults"], Value::Array(vec![]));
    // Rows are those of any run, and each side is a series of its own.
    let rows = fs::read_to_string(out.join("cells.jsonl")).expect("rows");
    assert_eq!(rows.lines().count(), 2 * 3 * 5 * 3, "two cells, three pairs of five, three sides");
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).expect("a row")).collect();
    let plan = |side: &str| {
        rows.iter()
            .find(|row| row["params"]["side"] == side && row["params"]["requests"] == 100)
            .expect("a row")["params"]["plan"]
            .clone()
    };
    assert_eq!(
        (plan("a"), plan("b"), plan("planted")),
        ("wait=5ms".into(), "wait=5ms".into(), "wait=5500us".into())
    );
    assert!(fs::read_to_string(out.join("report.md")).expect("a report").contains("fake (planted)"));

    // The floor is what a later run takes.
    let run = directory.path().join("run");
    let noise = out.to_str().expect("a name");
    let arguments =
        ["run", "--quick", "capacity.burst", "-m", "fake,fake:pool=200", "-n", "5", "--noise", noise];
    let output = harness(&arguments, &run);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = fs::read_to_string(run.join("report.md")).expect("a report");
    assert!(report.contains("`fake` and `fake:pool=200`"), "{report}");
}

#[test]
fn what_cannot_be_compared_is_said_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let ending = |arguments: &[&str]| {
        let output = harness(arguments, &directory.path().join(arguments.len().to_string()));
        (output.status.code(), stderr(&output))
    };
    let (code, said) = ending(&["aa", "-m", "fake:refuses"]);
    assert_eq!(
        (code, said.as_str()),
        (Some(2), "error: fake:refuses cannot be measured in process: it does not want to\n")
    );
    let (code, said) = ending(&["aa", "-m", "fake:loses", "--pairs", "1"]);
    assert!(code == Some(1) && said.contains("no pair has figures"), "{said}");
    let (code, said) = ending(&["aa", "-m", "fake", "--plant", "0.9", "--pairs", "1"]);
    assert!(code == Some(2) && said.contains("write a number above 1"), "{said}");
    let (code, said) = ending(&["aa", "-m", "fake", "--pairs", "201"]);
    assert!(code == Some(2) && said.contains("1005 runs a side"), "{said}");
    let (code, said) = ending(&["run", "--quick", "--noise", "/nowhere/aa.json", "-m", "fake"]);
    assert!(code == Some(2) && said.contains("/nowhere/aa.json has no noise floor"), "{said}");
}
