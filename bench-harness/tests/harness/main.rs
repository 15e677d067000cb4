//! The harness as a whole, against a fake runner: every outcome is a row, and the run goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

mod benches;
mod deaths;
mod endings;
mod forms;
mod memory;
mod quota;
mod ramps;
mod resume;
mod schema;
mod throughput;

const HARNESS: &str = env!("CARGO_BIN_EXE_bench-harness");

/// Examples are built with the tests, in a directory of their own beside the binary.
fn runners() -> PathBuf {
    let runners = Path::new(HARNESS).with_file_name("examples");
    assert!(
        runners.join("runtime-fake").exists(),
        "build the fake runner: cargo test -p bench-harness, without --test"
    );
    runners
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn harness(arguments: &[&str]) -> Command {
    let mut command = Command::new(HARNESS);
    command.args(arguments).arg("--runners").arg(runners());
    command
}

/// `run` with the small experiments, into `out`.
fn run(out: &Path, arguments: &[&str]) -> Command {
    let mut command = harness(&["run", "--quick", "--seed", "7"]);
    command.args(arguments).arg("--out").arg(out).arg("--experiments").arg(fixture("small.toml"));
    command
}

fn output(mut command: Command) -> Output {
    command.output().expect("the harness can be started")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("the file is there");
    serde_json::from_str(&text).expect("the file is JSON")
}

fn rows(out: &Path) -> Vec<Value> {
    let text = fs::read_to_string(out.join("cells.jsonl")).expect("there are rows");
    text.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

fn row<'a>(rows: &'a [Value], variant: &str, requests: Option<u64>) -> &'a Value {
    let is_it = |row: &&Value| row["variant"] == variant && row["params"]["requests"].as_u64() == requests;
    rows.iter().find(is_it).unwrap_or_else(|| panic!("no row of {variant} x{requests:?} in {rows:#?}"))
}

#[test]
fn a_runner_that_misbehaves_is_a_row_with_a_reason() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let variants = "fake,fake:dies,fake:killed,fake:nonsense,fake:loses,fake:hurries,fake:refuses";
    let output = output(run(&out, &["capacity.burst", "-m", variants]));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let rows = rows(&out);
    assert_eq!(rows.len(), 7);
    let told = |variant: &str| {
        let row = rows.iter().find(|row| row["variant"] == variant).expect("each variant has a row");
        (row["status"].as_str().expect("a status"), row["reason"].as_str().unwrap_or_default())
    };
    assert_eq!(told("good"), ("ok", ""));
    assert_eq!(
        told("dies"),
        ("failed", "the runner exited with status 7 while the result was awaited; it said: no more of this")
    );
    assert_eq!(told("killed"), ("failed", "the runner was killed by SIGKILL while the result was awaited"));
    assert!(told("nonsense").1.starts_with("nonsense while the result was awaited: \"all is well\""));
    assert_eq!(told("loses"), ("failed", "only 99 of 100 requests completed: 1 lost"));
    assert_eq!(told("hurries").0, "invalid");
    assert_eq!(told("refuses"), ("unsupported", "it does not want to"));
    for row in &rows {
        // An undefined figure is absent: JSON would show it as null.
        assert!(row["metrics"].as_object().expect("metrics").values().all(Value::is_number), "{row:#}");
        let has_figures = !row["metrics"].as_object().expect("metrics").is_empty();
        let may_have = matches!(row["status"].as_str(), Some("ok" | "censored" | "invalid"));
        assert_eq!(has_figures, may_have, "{row:#}");
    }
    let good = row(&rows, "good", Some(100));
    assert_eq!(
        (&good["metrics"]["bound_ns"], &good["metrics"]["in_flight_peak"]),
        (&5_000_000.into(), &100.into())
    );
    assert_eq!(good["metrics"]["efficiency"], 1);
}

#[test]
fn a_run_can_be_reported_again_from_its_rows() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let first = output(run(&out, &["capacity.burst", "-n", "3", "-m", "fake,fake:pool=10"]));
    assert_eq!(code(&first), Some(0), "{}", stderr(&first));
    let record = json(&out.join("run.json"));
    assert_eq!(
        (&record["seed"], &record["partial"], &record["format"]),
        (&7.into(), &false.into(), &1.into())
    );
    assert!(
        record["machine"]["cgroup"]["cpus_v2"].is_null()
            || record["machine"]["cgroup"]["cpus_v2"].is_number()
    );
    let [report, summary] = ["report.md", "summary.json"].map(|name| out.join(name));
    let before = [&report, &summary].map(|path| fs::read_to_string(path).expect("it was written"));
    for path in [&report, &summary] {
        fs::remove_file(path).expect("it can be removed");
    }
    let again = output(harness(&["report", out.to_str().expect("a name"), "--format", "csv"]));
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    assert_eq!([&report, &summary].map(|path| fs::read_to_string(path).expect("it was written")), before);
    assert!(
        String::from_utf8_lossy(&again.stdout).starts_with("experiment,runtime,variant,params,metric,median")
    );
    // The interval covers three repetitions, and the count of the pool's requests shrank to fit its bound.
    let entry = |variant: &str, metric: &str| {
        let entries = json(&summary);
        let all = entries.as_array().expect("an array").iter();
        let mut found = all.filter(|entry| entry["variant"] == variant && entry["metric"] == metric);
        found.next().expect("an entry").clone()
    };
    let bound = entry("pool=10", "bound_ns");
    assert_eq!(
        (&bound["median"], &bound["n"], &bound["coverage"]),
        (&50_000_000.into(), &3.into(), &0.75.into())
    );
    assert_eq!(bound["params"]["requests"], 100);
}

#[test]
fn a_ramp_ends_at_a_named_limit() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let output = output(run(&out, &["capacity.hold-tasks", "-m", "fake,fake:pool=20,fake:dies"]));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let rows = rows(&out);
    let free = row(&rows, "good", None);
    assert_eq!((&free["status"], &free["censored"]), (&"censored".into(), &true.into()));
    assert_eq!(
        (&free["metrics"]["in_flight_capacity"], &free["limited_by"]),
        (&200.into(), &"end of the ramp".into())
    );
    let pool = row(&rows, "pool=20", None);
    assert_eq!((&pool["status"], &pool["censored"]), (&"ok".into(), &false.into()));
    assert_eq!(
        (&pool["metrics"]["in_flight_capacity"], &pool["limited_by"]),
        (&20.into(), &"pool size".into())
    );
    assert_eq!(pool["evidence"]["pool_size"], 20);
    // The step at its own size was met, and the next one was not, for the right reason.
    assert!(row(&rows, "pool=20", Some(20))["limited_by"].is_null());
    assert_eq!(row(&rows, "pool=20", Some(50))["limited_by"], "pool size");
    let dead = row(&rows, "dies", None);
    assert_eq!((&dead["status"], &dead["limited_by"]), (&"failed".into(), &"runner failed".into()));
    assert!(rows.iter().all(|row| row["order"].is_u64()));
}

#[test]
fn over_http_client_and_server_agree() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let output = output(run(&out, &["capacity.hold", "-m", "fake,fake:unplugged"]));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let rows = rows(&out);
    let met = row(&rows, "good", Some(10));
    assert_eq!((&met["status"], &met["metrics"]["in_flight_peak"]), (&"ok".into(), &10.into()), "{met:#}");
    let checks = met["checks"].as_array().expect("checks");
    assert!(checks.iter().any(|check| check["name"] == "completed_on_both_sides" && check["ok"] == true));
    let unplugged = row(&rows, "unplugged", Some(10));
    assert_eq!(unplugged["status"], "failed");
    assert_eq!(unplugged["reason"], "none of 10 requests completed: 10 connect-refused");
}

#[test]
fn a_server_that_lies_has_no_ranked_figure() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let lies = "fake:skips-waits,fake:miscounts,fake:leaks";
    let output = output(run(&out, &["capacity.hold", "-m", lies]));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let rows = rows(&out);
    for (lie, check) in [
        ("skips-waits", "service_min_ns"),
        ("miscounts", "completed_on_both_sides"),
        ("leaks", "accepted_are_accounted_for"),
    ] {
        let row = row(&rows, lie, Some(10));
        assert_eq!(row["status"], "invalid", "{row:#}");
        let reason = row["reason"].as_str().expect("a reason");
        assert!(reason.starts_with(&format!("check {check} failed")), "{reason}");
    }
}

#[test]
fn a_small_descriptor_limit_ends_the_ramp_by_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let mut command = Command::new("sh");
    // The limit holds for the harness and for every child of it.
    command.args([
        "-c",
        "ulimit -n 100; exec \"$0\" \"$@\"",
        HARNESS,
        "run",
        "--quick",
        "capacity.hold",
        "-m",
        "fake",
    ]);
    command.arg("--out").arg(&out).arg("--experiments").arg(fixture("small.toml"));
    command.arg("--runners").arg(runners());
    let output = output(command);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let rows = rows(&out);
    let verdict = row(&rows, "good", None);
    assert_eq!(
        (&verdict["limited_by"], &verdict["censored"]),
        (&"descriptors".into(), &true.into()),
        "{verdict:#}"
    );
    assert_eq!(verdict["metrics"]["in_flight_capacity"], 10);
    assert_eq!(verdict["evidence"]["descriptors_max"], 100);
    assert!(
        fs::read_to_string(out.join("report.md"))
            .expect("a report")
            .contains("`fake` held 10 waiting connections")
    );
}

#[test]
fn an_interrupted_run_keeps_what_is_finished() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let mut command =
        run(&out, &["capacity.burst", "-n", "3", "-m", "fake,fake:hangs", "--save-baseline", "main"]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
    let child = child.expect("the harness can be started");
    let pid = rustix::process::Pid::from_child(&child);
    // The cell that hangs is the first of its pass or the second: by now the run is in it.
    thread::sleep(Duration::from_millis(1_500));
    let begin = Instant::now();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it is alive");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(code(&output), Some(130), "{}", stderr(&output));
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(json(&out.join("run.json"))["partial"], true);
    let rows = rows(&out);
    let last = rows.last().expect("the cell that was cut short has a row");
    assert_eq!((&last["variant"], &last["status"]), (&"hangs".into(), &"partial".into()));
    assert!(fs::read_to_string(out.join("report.md")).expect("a report").contains("the run was interrupted"));
    assert!(stderr(&output).contains("not saved as the baseline main"), "{}", stderr(&output));
    assert!(!directory.path().join("baselines").exists());
}

#[test]
fn one_cell_prints_its_row() {
    let output = output(harness(&[
        "cell",
        "fake",
        "capacity.burst",
        "requests=50",
        "plan=wait=2ms",
        "warm=false",
        "--format",
        "json",
    ]));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let row: Value = serde_json::from_slice(&output.stdout).expect("standard output is the row alone");
    assert_eq!((&row["params"]["requests"], &row["params"]["plan"]), (&50.into(), &"wait=2ms".into()));
    let failing = outcome(&["cell", "fake:dies", "capacity.burst", "warm=false"]);
    assert_eq!(code(&failing), Some(1));
    assert!(String::from_utf8_lossy(&failing.stdout).contains("it said: no more of this"));
}

fn outcome(arguments: &[&str]) -> Output {
    output(harness(arguments))
}

#[test]
fn bad_input_is_one_clear_line() {
    let error = |arguments: &[&str]| {
        let output = outcome(arguments);
        assert_eq!(code(&output), Some(2), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
        stderr(&output)
    };
    assert_eq!(error(&["run", "-m", "fakee"]), "error: unknown runtime \"fakee\"; did you mean \"fake\"?\n");
    assert!(error(&["run", "-m", "fake:goode"]).contains("no variant \"goode\"; did you mean \"good\"?"));
    assert!(error(&["run", "capacity.holt"]).contains("did you mean \"capacity.hold\"?"));
    assert!(error(&["cell", "fake", "capacity"]).contains("is more than one experiment"));
    assert!(error(&["report", "/nowhere"]).contains("holds no run"));
    assert!(error(&["run", "--experiments", "/nowhere.toml"]).contains("cannot read the experiments"));
    assert!(error(&["load", "ftp://x"]).contains("only http:// is spoken"));
    let formless =
        |command: &str| format!("error: {command} has no result to write in a format: leave --format out\n");
    assert_eq!(error(&["completions", "bash", "--format", "json"]), formless("completions"));
    assert_eq!(error(&["serve", "fake", "--format", "csv"]), formless("serve"));
}

#[test]
fn what_does_not_conform_is_exit_code_3() {
    let output = outcome(&["verify", "-m", "fake:dies", "--checks", "burst-loses-nothin"]);
    assert_eq!(code(&output), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("did you mean \"burst-loses-nothing\"?"), "{}", stderr(&output));
    // The fake runner dies of its first request, so whatever is asked of its handler fails.
    let output = outcome(&[
        "verify",
        "-m",
        "fake:dies",
        "--checks",
        "burst-loses-nothing",
        "--no-progress",
        "--format",
        "csv",
    ]);
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("variant,check,verdict,reason,seconds"));
}

#[test]
fn the_load_client_tells_what_it_met() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let url = format!("http://{address}/run/");
    let output = outcome(&["load", &url, "-c", "2", "-d", "100ms", "--warmup", "10ms", "--timeout", "100ms"]);
    assert_eq!(code(&output), Some(1));
    assert!(stderr(&output).contains("no request completed") && stderr(&output).contains("connect-refused"));
    let open = ["load", &url, "-r", "200", "-d", "200ms", "-w", "10ms", "--timeout", "100ms"];
    let output = outcome(&[&open[..], &["--arrivals", "constant", "--format", "json"]].concat());
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
    let told: Value = serde_json::from_slice(&output.stdout).expect("standard output is JSON alone");
    let of = |name: &str| told[name].as_u64().unwrap_or_else(|| panic!("no {name} in {told:#}"));
    assert_eq!(of("offered"), 40);
    let parts = ["completed", "rejected", "timed_out", "failed", "in_flight_at_end", "unsent_at_end"];
    assert_eq!(parts.map(of).iter().sum::<u64>(), 40, "{told:#}");
    assert_eq!(code(&outcome(&["load", &url, "-r", "-1"])), Some(2));
}

#[test]
fn a_dry_run_runs_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let output = output(run(&out, &["capacity", "--dry-run", "--format", "json"]));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let plan: Value = serde_json::from_slice(&output.stdout).expect("a plan");
    assert_eq!(plan["cells"].as_array().map(Vec::len), Some(3));
    assert!(plan["seconds"].as_f64().expect("a sum") > 0.0);
    assert!(!out.exists());
}

#[test]
fn a_listing_names_runtimes_and_experiments() {
    let output = output(harness(&["list"]));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(code(&output), Some(0));
    assert!(text.contains("fake") && text.contains("capacity.hold-tasks"), "{text}");
}
