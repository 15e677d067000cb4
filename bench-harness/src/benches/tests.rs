//! Criterion's directory is read as it is, and what is wrong with it is told in one line.

use super::*;

const BENCHMARK: &str = r#"{"group_id":"tokio","function_id":"wake","throughput":null}"#;
const ESTIMATES: &str = r#"{"mean":{},"median":{"point_estimate":1700.5,"standard_error":1.0,
    "confidence_interval":{"confidence_level":0.95,"lower_bound":1650.0,"upper_bound":1800.0}}}"#;
const REFUSED: &str = r#"{"runtime":"tokio","primitive":"offload","reason":"there is no pool"}"#;

fn write(directory: &Path, file: &str, text: &str) {
    let path = directory.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn error(directory: &Path) -> String {
    let error = Benches::collect(directory).unwrap_err();
    assert!(error.is::<crate::exit::Usage>(), "{error:#}");
    let text = format!("{error:#}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn figures_and_reasons_are_taken_and_other_benches_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    write(at, "tokio/wake/new/benchmark.json", BENCHMARK);
    write(at, "tokio/wake/new/estimates.json", ESTIMATES);
    write(at, "tokio/offload/refused.json", REFUSED);
    write(at, "somebody/elses/new/benchmark.json", "not for us");
    write(at, "a-file", "");
    let found = Benches::collect(at).unwrap();
    let told: Vec<_> = found
        .benches
        .iter()
        .map(|bench| (bench.primitive.as_str(), bench.figures.map(|f| f.median_ns), bench.reason.as_deref()))
        .collect();
    assert_eq!(told, [("offload", None, Some("there is no pool")), ("wake", Some(1700.5), None)]);
    assert!(found.benches.iter().all(|bench| bench.runtime == "tokio" && bench.measured_at.is_some()));
    assert_eq!(found.by_primitive().len(), 2);
}

#[test]
fn what_is_wrong_is_told_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    assert!(error(&at.join("nowhere")).contains("cannot read the benches in"));
    assert!(error(at).contains("has none of the primitives' figures; run cargo bench"));
    write(at, "tokio/wake/new/benchmark.json", BENCHMARK);
    assert!(error(at).ends_with("new has no estimates.json"));
    write(at, "tokio/wake/new/estimates.json", "{\"median\":");
    assert!(error(at).contains("estimates.json is damaged: EOF"));
    write(at, "tokio/wake/new/estimates.json", "{}");
    assert!(error(at).contains("is damaged: missing field `median`"));
}
