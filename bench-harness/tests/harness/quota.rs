//! Cells with a quota of CPU time. Where no group can be made, one line says so, and what wants one is not tested.

#![expect(clippy::print_stdout, reason = "a test that is not carried out says so")]

use std::process::Stdio;

use super::*;

/// CPU time of a request, and how many there are: long enough for some periods.
const REQUEST_US: f64 = 50_000.0;
const REQUESTS: u32 = 24;

/// Whether groups can be made here, and where.
fn directory_of_groups() -> Option<PathBuf> {
    let told = outcome(&["doctor", "--format", "json", "--duration", "1ms"]);
    let found: Value = serde_json::from_slice(&told.stdout).expect("standard output is JSON alone");
    let mut limits = found["limits"].as_array().expect("limits").iter();
    let quota = limits.find(|limit| limit["name"] == "CPU quota of a cell").expect("it is examined");
    let directory = quota["values"]["groups in"].as_str().map(PathBuf::from);
    if directory.is_none() {
        println!("skipped: {}", quota["caps"]);
    }
    directory
}

/// The groups that a harness has made, or has left.
fn groups_of(directory: &Path, harness: u32) -> Vec<PathBuf> {
    let of_it = format!("bench-harness-{harness}-");
    let entries = fs::read_dir(directory).expect("it was found").map(|entry| entry.expect("a name").path());
    entries
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&of_it)))
        .collect()
}

/// The row of a burst of computing by two workers, and the groups that are left of it.
fn burst(directory: &Path, variant: &str, place: &[&str]) -> (Value, Vec<PathBuf>) {
    let rounds = format!("{:.0}", conformance::rounds_per_us() * REQUEST_US);
    let (plan, requests) = (format!("plan=compute={rounds}"), format!("requests={REQUESTS}"));
    let mut command = harness(&["cell", variant, "capacity.burst", &plan, &requests, "warm=false"]);
    command.args(["time_limit=60s", "--workers", "2", "--format", "json"]).args(place);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
    let pid = child.id();
    let output = child.wait_with_output().expect("it ends");
    let row =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    (row, groups_of(directory, pid))
}

fn check(row: &Value, name: &str) -> Value {
    let checks = row["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["name"] == name).map_or(Value::Null, |check| check["ok"].clone())
}

const ONE: [&str; 4] = ["--cpus", "1", "--cpus-by", "quota"];

#[test]
fn a_quota_of_one_cpu_makes_two_take_turns() {
    let Some(directory) = directory_of_groups() else { return };
    let figure = |row: &Value, name: &str| row["metrics"][name].as_f64().expect("it was measured");
    let elapsed = |row: &Value| figure(row, "elapsed_ns");
    let used = |row: &Value| figure(row, "cpu_ns_per_request") * f64::from(REQUESTS);
    let free = || {
        let (row, _) = burst(&directory, "fake:burns", &[]);
        let no_check = check(&row, "cpu_within_quota_ns").is_null();
        assert!(row["params"]["cpus_by"].is_null() && no_check, "{row:#}");
        used(&row) / elapsed(&row)
    };
    // Others may have the CPUs, so that there is nothing to be held back from: of that, the bursts before and after tell.
    let mut before = free();
    for _ in 0..5 {
        let (held, left) = burst(&directory, "fake:burns", &ONE);
        assert!(left.is_empty(), "{left:?}");
        let params = &held["params"];
        assert_eq!((&params["cpus"], &params["cpus_by"]), (&1.into(), &"quota".into()), "{held:#}");
        for name in ["processes_in_quota_group", "quota_of_period_ns", "cpu_within_quota_ns"] {
            assert_eq!(check(&held, name), true, "{name}: {held:#}");
        }
        // Whatever else goes on: what it used took as long as the quota makes it, but for two periods.
        assert!(elapsed(&held) >= used(&held) - 200e6, "{held:#}");
        let after = free();
        if before.min(after) > 1.6 {
            assert!(held["evidence"]["quota_throttled_periods"].as_u64() > Some(0), "{held:#}");
            return;
        }
        before = after;
    }
    println!("skipped: two CPUs were never free at one time, so that a quota of one would hold a burst back");
}

#[test]
fn a_runner_that_does_not_join_has_no_ranked_figure() {
    let Some(directory) = directory_of_groups() else { return };
    let (row, left) = burst(&directory, "fake:strays", &ONE);
    assert_eq!(row["status"], "invalid", "{row:#}");
    assert_eq!(check(&row, "processes_in_quota_group"), false);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_group_goes_with_its_cell_however_that_ends() {
    let Some(directory) = directory_of_groups() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let mut command = run(&place.path().join("dead"), &["capacity.burst", "-m", "fake:dies,fake:killed"]);
    command.args(ONE).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it can be started");
    let pid = child.id();
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(groups_of(&directory, pid), [""; 0].map(PathBuf::from));
    // Interrupted once, and twice; and killed, so that nobody removes it before the next harness does.
    for signals in [&[2][..], &[2, 2], &[9]] {
        let mut command =
            run(&place.path().join(format!("{signals:?}")), &["capacity.burst", "-m", "fake:hangs"]);
        command.args(ONE).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it can be started");
        let (pid, deadline) = (child.id(), Instant::now() + Duration::from_secs(20));
        let has_joined = || {
            let of = |path: &PathBuf| fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
            groups_of(&directory, pid).iter().any(|path| !of(path).is_empty())
        };
        while !has_joined() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(has_joined(), "the cell has joined no group");
        for signal in signals {
            let signal = rustix::process::Signal::from_named_raw(*signal).expect("it has a name");
            let harness = rustix::process::Pid::from_child(&child);
            // The first may have been enough.
            let _gone = rustix::process::kill_process(harness, signal);
        }
        child.wait().expect("it ends");
        if signals == [9] {
            assert_eq!(groups_of(&directory, pid).len(), 1);
            // The kernel ends the runner, and then the group is empty.
            while has_joined() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
            let next = output(run(&place.path().join("next"), &["capacity.burst", "-m", "fake:good"]));
            assert_eq!(code(&next), Some(0), "{}", stderr(&next));
        }
        assert!(groups_of(&directory, pid).is_empty(), "after {signals:?}");
    }
}

#[test]
fn what_cannot_be_had_is_refused_before_any_cell() {
    let without = outcome(&["run", "--cpus-by", "quota"]);
    assert_eq!(code(&without), Some(2), "{}", stderr(&without));
    assert!(stderr(&without).contains("--cpus"), "{}", stderr(&without));
    if directory_of_groups().is_some() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let mut command = run(&place.path().join("run"), &["capacity.burst", "-m", "fake:good"]);
    command.args(ONE);
    let refused = output(command);
    assert_eq!(code(&refused), Some(5), "{}", stderr(&refused));
    assert!(stderr(&refused).starts_with("error: --cpus-by quota: "), "{}", stderr(&refused));
    assert!(!place.path().join("run").exists());
}
