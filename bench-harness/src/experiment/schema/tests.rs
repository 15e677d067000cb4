//! The schema and the reader of experiments, held against each other.

use std::fs;

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::json;
use workload::PlanError;

use super::*;

/// A file of experiments, as both see it.
struct Judges {
    schema: Validator,
    directory: tempfile::TempDir,
}

impl Judges {
    fn new() -> Judges {
        let schema = schema_of_a_file().unwrap();
        let schema = jsonschema::validator_for(schema.as_value()).unwrap();
        Judges { schema, directory: tempfile::tempdir().unwrap() }
    }

    /// Whether both take a file, or neither does.
    fn agree_on(&self, text: &str, is_fine: bool) {
        let file = self.directory.path().join("mine.toml");
        fs::write(&file, text).unwrap();
        let read = Values::load(Some(&file), Size::Quick);
        assert_eq!(read.is_ok(), is_fine, "the reader of {text}: {:?}", read.err());
        let json = serde_json::to_value(text.parse::<Table>().unwrap()).unwrap();
        let faults: Vec<String> = self.schema.iter_errors(&json).map(|fault| fault.to_string()).collect();
        assert_eq!(faults.is_empty(), is_fine, "the schema of {text}: {faults:?}");
    }
}

#[test]
fn what_the_reader_takes_is_valid_and_what_it_refuses_is_not() {
    let judges = Judges::new();
    for text in [
        "",
        "[capacity]",
        "[capacity.burst.quick]\nrequests = 1\nplan = \"\"\nwarm = [true]",
        "[capacity.burst.full]\nrequests = 100_000_000\nbound_max = \"1day\"",
        "[capacity.hold.quick]\ntolerance = 1",
        "[memory.tasks.quick]\nunits = [1, 2, 3, 4, 5]",
        "[blocking.probe.full]\noffload_threads = [\"default\", \"1\", \"30000\"]\nstrategies = [\"in-place\"]",
        "[pipeline.policy.full]\nruntimes = []\nsettings = [\"\", \"batch=4 alone\"]",
        "[aa]\ncoverage = 0.5",
        "[aa.cells.wait]\nrequests = 5",
        "[aa.cells.mine]\nplan = \"panic\"\nrequests = 5\nbound_max = \"1s\"\ntime_limit = \"1m 30s\"",
    ] {
        judges.agree_on(text, true);
    }
    for text in [
        "capacity = 5",
        "[capacity]\nbrust = 5",
        "[capacity.burst]\nrequests = 5",
        "[capacity.burst]\nfull = 5",
        "[capacity.burst.slow]\nrequests = 5",
        "[capacity.burst.quick]\nrequest = 5",
        "[capacity.burst.quick]\nrequests = \"5\"",
        "[capacity.burst.quick]\nrequests = 1.5",
        "[capacity.burst.quick]\nplan = \"sleep=1s\"",
        "[capacity.burst.quick]\nplan = 5",
        "[capacity.burst.quick]\nwarm = true",
        "[capacity.burst.quick]\nwarm = [1]",
        "[capacity.burst.quick]\ntime_limit = \"0s\"",
        "[capacity.burst.quick]\ntime_limit = \"soon\"",
        "[capacity.burst.quick]\ntime_limit = 5",
        "[capacity.hold.quick]\nspread_share = nan",
        "[capacity.hold.full]\nsteps = [100, 0]",
        "[memory.tasks.quick]\nunits = [1, 2, 3, 4]",
        "[memory.tasks.quick]\nunits = [1, 2, 3, 4, 4]",
        "[blocking.probe.quick]\noffload_threads = [\"0\"]",
        "[blocking.probe.quick]\narrivals = \"often\"",
        "[blocking.pinning.quick]\nstrategies = [\"later\"]",
        "[pipeline.policy.quick]\nsettings = []",
        "[aa.cells.mine]\nrequests = 5",
        "[aa.cells.wait]\nwarm = [true]",
        "[servers]\nbacklog = 5",
    ] {
        judges.agree_on(text, false);
    }
}

/// Every value of a file: where it is, and its schema.
fn leaves(schema: &Value, definitions: &Value, at: &[String], found: &mut Vec<(Vec<String>, Value)>) {
    let told = referred(schema).map_or(schema, |name| &definitions[name]);
    let Some(properties) = told["properties"].as_object() else {
        found.push((at.to_vec(), told.clone()));
        return;
    };
    for (name, property) in properties {
        leaves(property, definitions, &[at, std::slice::from_ref(name)].concat(), found);
    }
}

/// What is just within the bounds of a schema, and what is just outside of them.
fn about(schema: &Value) -> (Vec<Value>, Vec<Value>) {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let whole = |key: &str| schema[key].as_i64().unwrap();
    match schema["type"].as_str() {
        Some("integer") => {
            let (least, most) = (whole("minimum"), whole("maximum"));
            (vec![json!(least), json!(most)], vec![json!(least - 1), json!(most + 1), json!(1.5), json!("5")])
        }
        Some("number") => {
            let least = bound("exclusiveMinimum").unwrap();
            let (most, over) = match (bound("maximum"), bound("exclusiveMaximum")) {
                (Some(most), None) => (most, most * (1.0 + f64::EPSILON)),
                (None, Some(over)) => (over * (1.0 - f64::EPSILON), over),
                neither => panic!("{neither:?} is no bound"),
            };
            let fine = vec![json!(f64::MIN_POSITIVE), json!(most)];
            (fine, vec![json!(least), json!(over), json!(-1.0), json!("5")])
        }
        Some("array") => {
            let wrong =
                if schema.get("minItems").is_some() { vec![json!([]), json!(5)] } else { vec![json!(5)] };
            (vec![], wrong)
        }
        Some("string") if schema.get("pattern").is_some() => (vec![], vec![json!(5), json!("/")]),
        Some("string") => (vec![], vec![json!(5)]),
        _ => (vec![], vec![json!(5), json!("/")]),
    }
}

#[test]
fn the_reader_and_the_schema_draw_the_same_line_for_every_value() {
    let judges = Judges::new();
    let schema = schema_of_a_file().unwrap().to_value();
    let mut found = Vec::new();
    leaves(&schema, &schema["$defs"], &[], &mut found);
    assert!(found.len() > 100, "{} values", found.len());
    for (at, schema) in &found {
        let (fine, wrong) = about(schema);
        let (name, table) = at.split_last().unwrap();
        let file = |value: &Value| format!("[{}]\n{name} = {value}\n", table.join("."));
        fine.iter().for_each(|value| judges.agree_on(&file(value), true));
        wrong.iter().for_each(|value| judges.agree_on(&file(value), false));
        judges.agree_on(&format!("[{}]\nnonsense = 5\n", table.join(".")), false);
    }
}

#[test]
fn the_patterns_take_what_the_readers_take() {
    let schema = schema_of_a_file().unwrap().to_value();
    let of = |name: &str| jsonschema::validator_for(&schema["$defs"][name]).unwrap();
    let (times, plans) = (of("Time"), of("Plan"));
    proptest!(|(
        time in r"([0-9]{1,3} ?(\.[0-9]{1,2})? ?(ns|us|ms|s|m|min|h|days|w|M|y|parsecs)? ?){0,3}",
        plan in r"((wait|block|compute|sleep|panic)(=\+?[0-9]{0,4}(ns|us|ms|s|m)?)?,?){0,3}",
    )| {
        let is_time = humantime::parse_duration(&time).is_ok_and(|time| !time.is_zero());
        // A part of a nanosecond is refused, which is more than a pattern can tell of 0.5ns and 0.5us.
        let is_like = times.is_valid(&json!(time)) && (is_time || !time.contains('.'));
        prop_assert_eq!(is_like, is_time, "{:?}", time);
        // How long all steps last together is more than a pattern can tell.
        let read = plan.parse::<workload::Plan>();
        let is_plan = matches!(read, Ok(_) | Err(PlanError::TooLong { .. }));
        prop_assert_eq!(plans.is_valid(&json!(plan)), is_plan, "{:?}", plan);
    });
}
