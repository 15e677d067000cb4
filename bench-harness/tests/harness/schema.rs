//! Every file that a run leaves or reads is what its schema says, and one that was doctored is not.

use std::fs;
use std::path::Path;
use std::process::Command;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{code, fixture, harness, json as json_of, output, rows, run, runners, stderr};

/// The schema of a name, as the command prints it.
fn schema(name: &str) -> Validator {
    let printed = output(harness(&["schema", name]));
    assert_eq!(code(&printed), Some(0), "{}", stderr(&printed));
    let schema: Value = serde_json::from_slice(&printed.stdout).expect("a schema is JSON");
    jsonschema::meta::validate(&schema).expect("it is a schema by the rules of schemas");
    jsonschema::validator_for(&schema).expect("it can be used")
}

/// What is wrong with a value, by where it is.
fn faults(schema: &Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn assert_valid(schema: &Validator, value: &Value, what: &str) {
    let faults = faults(schema, value);
    assert!(faults.is_empty(), "{what}: {faults:#?}");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a name")
}

/// What a command prints as JSON.
fn printed(arguments: &[&str]) -> Value {
    let output = output(harness(arguments));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON value")
}

#[test]
fn every_file_of_a_run_is_what_its_schema_says() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = |name: &str| directory.path().join(name);
    let (row, record, summary) = (schema("row"), schema("run"), schema("summary"));
    let mut statuses = Vec::new();
    // Every outcome in process, and one variant over HTTP and with a line that is fitted.
    for (name, arguments) in [
        ("a", ["capacity.burst", "capacity.hold-tasks", "-m", "fake,fake:dies,fake:hurries,fake:refuses"]),
        ("b", ["capacity.hold", "memory.tasks", "-m", "fake"]),
    ] {
        let ended = output(run(&out(name), &arguments));
        assert_eq!(code(&ended), Some(0), "{}", stderr(&ended));
        for (one, number) in rows(&out(name)).iter().zip(1..) {
            assert_valid(&row, one, &format!("cells.jsonl line {number}"));
            statuses.extend(one["status"].as_str().map(str::to_owned));
        }
        assert_valid(&record, &json_of(&out(name).join("run.json")), "run.json");
        assert_valid(&summary, &json_of(&out(name).join("summary.json")), "summary.json");
    }
    for status in ["ok", "censored", "unsupported", "invalid", "failed"] {
        assert!(statuses.iter().any(|told| told == status), "no row is {status}");
    }
    let compared = printed(&["compare", text(&out("a")), text(&out("a")), "--format", "json"]);
    assert_valid(&schema("comparison"), &compared, "compare --format json");

    let described = Command::new(runners().join("runtime-fake")).arg("describe").output();
    let described = described.expect("the runner can be started").stdout;
    let described = serde_json::from_slice(&described).expect("a description is JSON");
    assert_valid(&schema("runner"), &described, "describe");
}

#[test]
fn what_aa_and_the_benches_leave_is_what_their_schemas_say() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("aa");
    let mut command = harness(&["aa", "-m", "fake", "--pairs", "2", "-n", "1", "--plant", "1.10"]);
    command.args(["--no-progress", "--experiments"]).arg(fixture("small.toml")).arg("--out").arg(&out);
    let ended = output(command);
    // So few runs have no interval, which is null in the file; what is judged of it is not asked here.
    assert!(matches!(code(&ended), Some(0 | 3)), "{}", stderr(&ended));
    assert_valid(&schema("aa"), &json_of(&out.join("aa.json")), "aa.json");
    assert_valid(&schema("run"), &json_of(&out.join("run.json")), "run.json");

    let criterion = directory.path().join("criterion");
    let write = |name: &str, value: Value| {
        let path = criterion.join("fake").join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
        fs::write(path, value.to_string()).expect("it can be written");
    };
    write("wake/new/benchmark.json", json!({"group_id": "fake"}));
    let interval = json!({"confidence_level": 0.95, "lower_bound": 1_650.0, "upper_bound": 1_800.0});
    let median = json!({"point_estimate": 1_712.5, "confidence_interval": interval});
    write("wake/new/estimates.json", json!({"median": median}));
    write("lateness/refused.json", json!({"runtime": "fake", "reason": "it has none"}));
    let reported = output(harness(&["report", text(&out), "--benches", text(&criterion)]));
    assert_eq!(code(&reported), Some(0), "{}", stderr(&reported));
    let benches = json_of(&out.join("benches.json"));
    assert_eq!(benches["benches"].as_array().map(Vec::len), Some(2), "{benches:#}");
    assert_valid(&schema("benches"), &benches, "benches.json");
}

#[test]
fn every_file_of_experiments_is_what_its_schema_says() {
    let schema = schema("experiments");
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for directory in ["experiments", "tests/fixtures"] {
        for entry in fs::read_dir(package.join(directory)).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let table: toml::Table =
                fs::read_to_string(&path).expect("a text").parse().expect("a file of experiments is TOML");
            let value = serde_json::to_value(table).expect("no value of it is a date");
            assert_valid(&schema, &value, text(&path));
            seen += 1;
        }
    }
    assert!(seen > 8, "{seen} files");
}

#[test]
fn a_doctored_file_is_not_what_its_schema_says() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let ended = output(run(&out, &["capacity.burst", "-m", "fake"]));
    assert_eq!(code(&ended), Some(0), "{}", stderr(&ended));
    let (row, run) = (schema("row"), schema("run"));
    let good = rows(&out).remove(0);
    let record = json_of(&out.join("run.json"));
    let doctored = |value: &Value, doctor: &dyn Fn(&mut Value)| {
        let mut value = value.clone();
        doctor(&mut value);
        value
    };
    let remove = |value: &mut Value, name: &str| value.as_object_mut().expect("an object").remove(name);
    let cases: [(&str, &Validator, Value); 8] = [
        ("unknown status", &row, doctored(&good, &|row| row["status"] = "fine".into())),
        ("text for a number", &row, doctored(&good, &|row| row["metrics"]["elapsed_ns"] = "7".into())),
        ("null for a figure", &row, doctored(&good, &|row| row["metrics"]["elapsed_ns"] = Value::Null)),
        ("a fraction of a repetition", &row, doctored(&good, &|row| row["repetition"] = json!(1.5))),
        ("no checks", &row, doctored(&good, &|row| drop(remove(row, "checks")))),
        ("a seed below 0", &run, doctored(&record, &|run| run["seed"] = (-1).into())),
        ("no machine", &run, doctored(&record, &|run| drop(remove(run, "machine")))),
        (
            "an ability",
            &run,
            doctored(&record, &|run| run["runtimes"][0]["refusals"][0]["ability"] = "x".into()),
        ),
    ];
    assert!(row.is_valid(&good) && run.is_valid(&record));
    for (what, schema, value) in &cases {
        assert!(!faults(schema, value).is_empty(), "{what} passes");
    }
    let entries = json_of(&out.join("summary.json"));
    let without = doctored(&entries, &|entries| drop(remove(&mut entries[0], "coverage")));
    assert!(schema("summary").is_valid(&entries) && !schema("summary").is_valid(&without));
}

#[test]
fn the_list_names_each_schema_and_a_wrong_name_is_one_line() {
    let listed = printed(&["schema", "--format", "json"]);
    let names: Vec<&str> =
        listed.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    for name in &names {
        assert_eq!(printed(&["schema", name])["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
    // What a run leaves, as JSON, has a schema each.
    let files: Vec<&str> =
        listed.as_array().expect("a list").iter().filter_map(|one| one["file"].as_str()).collect();
    for file in ["run.json", "cells.jsonl", "summary.json", "benches.json", "aa.json"] {
        assert!(files.contains(&file), "{files:?}");
    }
    let wrong = output(harness(&["schema", "rows"]));
    assert_eq!(code(&wrong), Some(2));
    assert!(stderr(&wrong).contains("a similar value exists: 'row'"), "{}", stderr(&wrong));
    let table = output(harness(&["schema", "row", "--format", "csv"]));
    assert_eq!(code(&table), Some(2));
    assert_eq!(stderr(&table).lines().count(), 1, "{}", stderr(&table));
}
