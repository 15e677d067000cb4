//! Ramps: what a step asks, and what the verdict says of the step that it stands on.

use super::*;

fn stretched(out: &Path, variant: &str) -> Vec<Value> {
    let mut command = harness(&["run", "--quick", "capacity.hold-tasks", "-m", variant]);
    command.arg("--experiments").arg(fixture("stretched.toml")).arg("--out").arg(out);
    let output = output(command);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    rows(out)
}

fn times(row: &Value, of: &str) -> [u64; 3] {
    ["wait_ns", "spread_ns", "objective_ns"].map(|name| row[of][name].as_u64().unwrap_or_default())
}

#[test]
fn a_verdict_says_how_long_the_step_waited_that_it_stands_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let rows = stretched(&out, "fake");
    assert_eq!(times(row(&rows, "good", Some(50)), "params"), [20_000_000, 16_000_000, 30_000_000]);
    let last = times(row(&rows, "good", Some(200)), "params");
    assert_eq!(last, [50_000_000, 40_000_000, 60_000_000]);
    let verdict = row(&rows, "good", None);
    assert_eq!(times(verdict, "metrics"), last, "{verdict:#}");
    assert!(verdict["metrics"]["response_p50_ns"].as_u64() >= Some(50_000_000));
    // The experiment's own wait tells cells apart, under a name that nobody takes for the step's.
    assert_eq!(verdict["params"], serde_json::json!({"base_wait_ns": 20_000_000}));
    let report = fs::read_to_string(out.join("report.md")).expect("a report");
    let line = report.lines().find(|line| line.contains("| >= 200 |")).expect("the verdict is in the report");
    assert!(line.contains("| 50.00 ms |") && line.contains("| 60.00 ms |"), "{line}");
}

#[test]
fn a_stretched_step_has_no_more_slack_than_another() {
    let directory = tempfile::tempdir().expect("a directory");
    // It takes 1.3 waits: 6 ms beyond a wait of 20 ms, which the slack of 10 ms allows, and 15 ms beyond one of 50 ms.
    let rows = stretched(&directory.path().join("run"), "fake:slow");
    assert!(row(&rows, "slow", Some(50))["limited_by"].is_null());
    assert!(row(&rows, "slow", Some(200))["limited_by"].is_string());
    let verdict = row(&rows, "slow", None);
    assert_eq!(
        (&verdict["metrics"]["in_flight_capacity"], &verdict["evidence"]["failed_at"]),
        (&50.into(), &200.into())
    );
    assert_eq!(times(verdict, "metrics"), [20_000_000, 16_000_000, 30_000_000]);
}

#[test]
fn a_kill_that_nobody_counted_is_not_called_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let rows = stretched(&directory.path().join("run"), "fake:killed");
    let verdict = row(&rows, "killed", None);
    assert_eq!(
        (&verdict["status"], &verdict["limited_by"]),
        (&"failed".into(), &"killed by signal 9".into())
    );
    assert_eq!(row(&rows, "killed", Some(50))["limited_by"], "killed by signal 9");
}
