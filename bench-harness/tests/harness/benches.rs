//! Figures of the primitives are taken into a run's directory, and stay there.

use std::fs;
use std::path::Path;

use super::{code, harness, outcome, output, run, stderr};

const BENCHMARK: &str = r#"{"group_id":"fake","function_id":"wake"}"#;
const ESTIMATES: &str = r#"{"median":{"point_estimate":1712.5,
    "confidence_interval":{"confidence_level":0.95,"lower_bound":1650.0,"upper_bound":1800.0}}}"#;

#[test]
fn a_report_has_the_primitives_that_were_measured_apart_from_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let (out, criterion) = (directory.path().join("run"), directory.path().join("criterion"));
    let first = output(run(&out, &["capacity.burst", "-m", "fake"]));
    assert_eq!(code(&first), Some(0), "{}", stderr(&first));
    let name = |path: &Path| path.to_str().expect("a name").to_owned();
    let (out_name, criterion_name) = (name(&out), name(&criterion));
    let with_benches = ["report", &out_name, "--benches", &criterion_name];
    let refused = |told: &str| {
        let refused = outcome(&with_benches);
        assert_eq!(code(&refused), Some(2), "{}", stderr(&refused));
        assert!(
            stderr(&refused).contains(told) && stderr(&refused).lines().count() == 1,
            "{}",
            stderr(&refused)
        );
        assert!(!out.join("benches.json").exists());
    };
    refused("cannot read the benches in");
    let new = criterion.join("fake/wake/new");
    fs::create_dir_all(&new).expect("it can be made");
    refused("has none of the primitives' figures");
    fs::write(new.join("benchmark.json"), BENCHMARK).expect("it can be written");
    fs::write(new.join("estimates.json"), "{").expect("it can be written");
    refused("estimates.json is damaged");
    fs::write(new.join("estimates.json"), ESTIMATES).expect("it can be written");

    let taken = output(harness(&with_benches));
    assert_eq!(code(&taken), Some(0), "{}", stderr(&taken));
    assert!(String::from_utf8_lossy(&taken.stdout).contains("1.712 us"));
    // From the run's directory alone, the report can be made again.
    fs::remove_dir_all(&criterion).expect("it can be removed");
    let report = || fs::read_to_string(out.join("report.md")).expect("it was written");
    let before = report();
    assert!(before.contains("| wake across threads | fake | 1.712 us |"), "{before}");
    assert_eq!(code(&outcome(&["report", &out_name])), Some(0));
    assert_eq!(report(), before);

    fs::write(out.join("benches.json"), "{\"format\":99}").expect("it can be written");
    let damaged = outcome(&["report", &out_name]);
    assert_eq!(code(&damaged), Some(2));
    assert!(stderr(&damaged).contains("benches.json is of format 99"), "{}", stderr(&damaged));
}
