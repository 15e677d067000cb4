//! `predict`: the study's tables to the digit, and wrong values in one line.

use std::path::Path;
use std::process::{Command, Output};

const HARNESS: &str = env!("CARGO_BIN_EXE_bench-harness");

/// What the study's sizing came to.
const PIPELINE: &str = "\
target 120 img/s on 4 cores
fetch   : in flight = rate x time (Little) = 4.8 requests -> I/O workers >= 5, no CPU used
decode  : cores needed = 0.96
post    : cores needed = 0.72
CPU stages together    : 1.68 of 4 cores
batch  accel img/s  fill wait if the batcher idles  arrivals while one batch runs
    1       27.8             0.0 ms               4.3
    2       47.6             8.3 ms               5.0
    4       74.1            25.0 ms               6.5
    8      102.6            58.3 ms               9.4
   12      117.6            91.7 ms              12.2
   13      120.4           100.0 ms              13.0
   16      127.0           125.0 ms              15.1
   32      144.1           258.3 ms              26.6
smallest batch that reaches the target: 13
CPU-stage ceiling on 1 core(s): 71.4 img/s
CPU-stage ceiling on 2 core(s): 142.9 img/s
CPU-stage ceiling on 4 core(s): 285.7 img/s
decoded image 6.2 MB; 48 in flight = 299 MB
";

const AMDAHL: &str = "\
serial fraction f = 0.30, so throughput can never exceed 1/f = 3.3x the single-thread rate
stripes= 1  effective f=0.3000  bound on speedup with 8 threads: 2.6x
stripes= 4  effective f=0.0750  bound on speedup with 8 threads: 5.2x
stripes=16  effective f=0.0187  bound on speedup with 8 threads: 7.1x
stripes=64  effective f=0.0047  bound on speedup with 8 threads: 7.7x
";

fn predict(arguments: &[&str]) -> Output {
    Command::new(HARNESS).arg("predict").args(arguments).output().expect("it can be started")
}

fn told(arguments: &[&str]) -> String {
    let output = predict(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

/// The one line of a usage error.
fn refused(arguments: &[&str]) -> String {
    let output = predict(arguments);
    let line = String::from_utf8(output.stderr).expect("it is text");
    assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1), "{arguments:?}: {line}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    line
}

fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&told(&[arguments, &["--format", "json"]].concat())).expect("it is JSON")
}

fn figure<'a>(prediction: &'a serde_json::Value, name: &str, at: &str) -> &'a serde_json::Value {
    let figures = prediction["figures"].as_array().expect("there are figures");
    let is_asked =
        |of: &&serde_json::Value| of["figure"] == name && of["at"].as_str().unwrap_or_default() == at;
    &figures.iter().find(is_asked).unwrap_or_else(|| panic!("there is {name} at {at}: {figures:?}"))["value"]
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("it can be written");
    file
}

fn name(file: &tempfile::NamedTempFile) -> &str {
    file.path().to_str().expect("a name")
}

#[test]
fn the_studys_tables_hold_to_the_digit() {
    let text = told(&["pipeline"]);
    assert!(text.starts_with(PIPELINE), "{text}");
    assert_eq!(told(&["amdahl"]), AMDAHL);
    // 10,000 requests/s of 100 ms need 1,000 in flight; 200 threads carry 2,000/s, and need 5 s for 10,000 at once.
    let little = json(&["little"]);
    let figures = ["in_flight", "rate_ceiling_per_s", "burst_bound_s"].map(|name| figure(&little, name, ""));
    assert_eq!(figures, [1_000.0, 2_000.0, 5.0]);
    // 0.2 s at 200 jobs/s are 40 in the queue.
    let pool = json(&["pool"]);
    assert_eq!(figure(&pool, "service_rate_per_s", ""), 200.0);
    assert_eq!(figure(&pool, "queue_capacity", ""), 40.0);
}

#[test]
fn a_configuration_has_a_ceiling_and_what_sets_it() {
    let study = json(&["pipeline"]);
    assert_eq!([figure(&study, "in_flight_floor", ""), figure(&study, "in_flight_advised", "")], [22, 38]);
    assert_eq!(figure(&study, "bottleneck", ""), "detector");
    assert_eq!(figure(&study, "bottleneck", "in_flight_max=12"), "in-flight limit");
    let two = json(&["pipeline", "--cores", "2", "--detectors", "2"]);
    assert_eq!(figure(&two, "bottleneck", ""), "cores");
    let on_cores = told(&["pipeline", "--cores", "2", "--detector", "cpu", "--detectors", "2"]);
    assert!(on_cores.contains("ceiling: 91.4 img/s, set by the cores"), "{on_cores}");
    assert!(on_cores.contains("the target of 120 img/s is above it"), "{on_cores}");
    let never = told(&["pipeline", "--target", "170"]);
    assert!(never.contains("reaches the target: none, a detector does less than 166.7 img/s"), "{never}");
}

#[test]
fn a_flag_is_over_the_file_and_the_file_over_the_study() {
    let values =
        file("cores = 2\ntarget = 60.5\nfetch = \"20ms\"\nbatches = [3]\ndecode_workers = \"auto\"\n");
    let text = told(&["pipeline", "--values", name(&values), "--target", "80"]);
    assert!(text.starts_with("target 80 img/s on 2 cores\n"), "{text}");
    assert!(text.contains("(Little) = 1.6 requests -> I/O workers >= 2"), "{text}");
    let inputs = &json(&["pipeline", "--values", name(&values)])["inputs"];
    assert_eq!((&inputs["target"], &inputs["cores"]), (&60.5.into(), &2.into()));
    assert_eq!(inputs["batches"], serde_json::json!([3]));
    assert_eq!((&inputs["post"], &inputs["decode_workers"]), (&"6ms".into(), &"auto".into()));
}

#[test]
fn csv_has_a_line_a_figure() {
    let csv = told(&["pipeline", "--format", "csv", "--batches", "16"]);
    assert!(csv.starts_with("figure,at,value\r\nfetches_in_flight,,4.8\r\n"), "{csv}");
    assert!(
        csv.contains("\r\nsmallest_batch,,13\r\n") && csv.contains("\r\nbottleneck,,detector\r\n"),
        "{csv}"
    );
}

#[test]
fn a_wrong_flag_is_refused_in_one_line() {
    let cases: [(&[&str], &str); 10] = [
        (&["pipeline", "--cores", "0"], "\"0\" is not a whole number from 1 to 100000000"),
        (&["pipeline", "--target", "NaN"], "\"NaN\" is not a number above 0 and up to 1000000000"),
        (&["pipeline", "--target", "-5"], "\"-5\" is not a number above 0"),
        (&["pipeline", "--target", "1e300"], "is not a number above 0 and up to"),
        (&["pipeline", "--decode", "-8ms"], "\"-8ms\" is not a duration above 0 and up to 1day"),
        (&["pipeline", "--batches", "1,0"], "\"0\" is not a whole number"),
        (&["pipeline", "--detector", "gpu"], "\"gpu\" is neither device nor cpu"),
        (&["amdahl", "--locked", "2us"], "locked: 2us is longer than the operation, which takes 1us"),
        (&["pool", "--workers", "many"], "\"many\" is not a whole number from 1 to 100000000, or auto"),
        (&["little", "--speed", "3"], "unexpected argument '--speed'"),
    ];
    for (arguments, expected) in cases {
        let line = refused(arguments);
        assert!(line.contains(expected), "{arguments:?}: {line}");
    }
}

#[test]
fn a_wrong_file_is_refused_in_one_line() {
    let cases = [
        ("target = -1\n", "target: \"-1\" is not a number above 0"),
        ("target = nan\n", "target: \"nan\" is not a number above 0"),
        ("cores = 0\n", "cores: \"0\" is not a whole number from 1"),
        ("cores = 1.5\n", "cores: 1.5 is of the wrong type; write 4"),
        ("fetch = 40\n", "fetch: 40 is of the wrong type; write \"40ms\""),
        ("batches = [1, \"x\"]\n", "batches: \"x\" is not a whole number"),
        ("batches = []\n", "batches: \"\" is not a whole number"),
        ("core = 4\n", "unknown field `core`"),
        ("[pipeline]\ncores = 4\n", "unknown field `pipeline`"),
        ("cores = = 4\n", ", line 1: "),
    ];
    for (text, expected) in cases {
        let values = file(text);
        let line = refused(&["pipeline", "--values", name(&values)]);
        assert!(line.contains(name(&values)) && line.contains(expected), "{text}: {line}");
    }
    let nowhere = Path::new("/nowhere.toml").to_str().expect("a name");
    assert!(refused(&["pool", "--values", nowhere]).contains("cannot read the values of /nowhere.toml"));
}
