//! The memory experiments, against a runner whose memory is known.

use std::path::Path;

use super::{Command, HARNESS, Value, code, fixture, fs, output, rows, runners, stderr};

/// What the fake runner has for a request and for a connection.
const REQUEST_BYTES: f64 = 8_192.0;
const CONNECTION_BYTES: f64 = 65_536.0;

/// `run` with a runner that no other test runs: pages of a file that two processes have count half in each, and would
/// seem to come and go with the runners of other tests.
fn run(directory: &Path, experiment: &str, variants: &str) -> Command {
    let own = directory.join("runners");
    fs::create_dir(&own).expect("a new directory");
    fs::copy(runners().join("runtime-fake"), own.join("runtime-fake")).expect("a copy of the runner");
    let mut command = Command::new(HARNESS);
    command.args(["run", "--quick", experiment, "-m", variants, "--runners"]).arg(own);
    command.arg("--experiments").arg(fixture("small.toml")).arg("--out").arg(directory.join("run"));
    command
}

fn figure(row: &Value, name: &str) -> f64 {
    row["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {row:#}"))
}

#[test]
fn a_request_costs_what_the_runner_has_for_it() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let out = directory.path().join("run");
    let variants = "fake:good,fake:pool=64,fake:pool=2,fake:hurries,fake:refuses";
    let output = output(run(directory.path(), "memory.tasks", variants));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let rows = rows(&out);
    let row = |variant: &str, waiting: &str| {
        let is_it = |row: &&Value| row["variant"] == variant && row["params"]["waiting"] == waiting;
        rows.iter().find(is_it).unwrap_or_else(|| panic!("no row of {variant} {waiting} in {rows:#?}"))
    };
    for (variant, waiting, last) in [
        ("good", "in-service", 70),
        ("pool=64", "in-service", 64),
        ("pool=64", "queued", 70),
        ("pool=2", "queued", 70),
    ] {
        let row = row(variant, waiting);
        assert_eq!(row["status"], "ok", "{row:#}");
        assert_eq!(row["params"]["requests"], last);
        // A malloc of 8 KiB has a head of 16 bytes; private memory depends on nobody else's.
        let private = figure(row, "private_bytes_per_unit");
        assert!((private / REQUEST_BYTES - 1.0).abs() < 0.1, "{private} {row:#}");
        let [total, pss] = ["total_bytes_per_unit", "pss_bytes_per_unit"].map(|name| figure(row, name));
        assert!(total >= pss && figure(row, "kernel_stack_bytes_per_unit") == 0.0, "{row:#}");
        assert!(row["evidence"]["allocator"].as_str().is_some_and(|words| !words.is_empty()));
    }
    // What a pool of two has in service is no line, and says so.
    let few = row("pool=2", "in-service");
    assert_eq!(few["status"], "unsupported");
    assert!(few["reason"].as_str().is_some_and(|reason| reason.starts_with("2 at most are in service")));
    // Requests that are over before anybody looks: a longer wait was tried, and did not help.
    let hurries = row("hurries", "in-service");
    assert_eq!(hurries["status"], "invalid", "{hurries:#}");
    assert!(
        hurries["reason"]
            .as_str()
            .is_some_and(|reason| reason.starts_with("check in_service_before_look failed: 0"))
    );
    assert_eq!(hurries["evidence"]["wait_ns"], 2_800_000_000_u64);
    let refuses = rows.iter().find(|row| row["variant"] == "refuses").expect("a row");
    assert_eq!(refuses["status"], "unsupported");
    let report = fs::read_to_string(out.join("report.md")).expect("a report");
    assert!(report.contains("What does one more waiting request cost?"), "{report}");
    assert!(report.contains("* One more waiting request costs `fake` "), "{report}");
    // One repetition has the interval of its line.
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(out.join("summary.json")).expect("a summary"))
            .expect("JSON");
    let entry = summary
        .as_array()
        .expect("entries")
        .iter()
        .find(|entry| entry["variant"] == "good" && entry["metric"] == "private_bytes_per_unit");
    let entry = entry.expect("an entry");
    assert_eq!(
        (&entry["n"], &entry["ci_of_fit"], &entry["coverage"]),
        (&1.into(), &true.into(), &0.95.into())
    );
    // An interval of 95 % may miss what is true, and some pages that come meanwhile are nobody's; it is where the
    // figure is, and no wider than what is asked of the figure itself.
    let [low, median, high] =
        ["ci_low", "median", "ci_high"].map(|name| entry[name].as_f64().expect("a number"));
    assert!(low <= median && median <= high, "{entry:#}");
    assert!([low, high].iter().all(|end| (end / REQUEST_BYTES - 1.0).abs() < 0.1), "{entry:#}");
}

#[test]
fn a_connection_costs_what_the_runner_has_for_it_and_a_thread() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let out = directory.path().join("run");
    let output = output(run(directory.path(), "memory.connections", "fake:good,fake:unplugged"));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let rows = rows(&out);
    let row = |variant: &str| rows.iter().find(|row| row["variant"] == variant).expect("a row");
    let good = row("good");
    assert_eq!(good["status"], "ok", "{good:#}");
    assert_eq!(good["params"]["connections"], 70);
    let private = figure(good, "private_bytes_per_unit");
    assert!((CONNECTION_BYTES..CONNECTION_BYTES + 40_000.0).contains(&private), "{good:#}");
    assert_eq!(figure(good, "kernel_stack_bytes_per_unit"), 16_384.0, "a thread for each connection");
    let total = figure(good, "total_bytes_per_unit");
    let parts =
        ["pss", "page_table", "kernel_stack"].map(|part| figure(good, &format!("{part}_bytes_per_unit")));
    assert!((total - parts.iter().sum::<f64>()).abs() < 1.0, "{good:#}");
    let looks = good["evidence"]["looks"].as_array().expect("looks");
    assert_eq!(looks.iter().map(|look| &look["units"]).collect::<Vec<_>>(), [20, 30, 40, 50, 60, 70]);
    // A test may run without root; then the kernel's objects are not known, which is said.
    let objects = &good["evidence"]["slab_objects"];
    assert_eq!(objects.is_string(), good["metrics"]["slab_bytes_per_unit"].is_null(), "{good:#}");
    let unplugged = row("unplugged");
    assert_eq!(unplugged["status"], "failed", "{unplugged:#}");
    let reason = unplugged["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("20 of 20 connections have had no answer: 20 connect-refused (")
            && reason.contains("ECONNREFUSED"),
        "{reason}"
    );
}
