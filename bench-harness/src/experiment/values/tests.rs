//! What a file of experiments and a command line change, and what of them is refused.

use super::*;

fn load(text: &str) -> anyhow::Result<Values> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.toml");
    std::fs::write(&file, text).unwrap();
    Values::load(Some(&file), Size::Quick)
}

#[test]
fn a_file_changes_what_it_says_and_no_more() {
    let values = load("[capacity.burst.quick]\nrequests = 7\n").unwrap();
    assert_eq!(values.capacity.burst.requests, 7);
    assert_eq!(values.capacity.burst.plan.to_string(), "wait=100ms");
    assert_eq!(values.capacity.hold.steps, [500, 1_000, 2_000]);
    // What it is defined by is what was read, in the size that was asked for.
    let definition = values.definition(&["capacity.burst"]);
    assert_eq!(definition.keys().collect::<Vec<_>>(), ["capacity.burst", "server"]);
    let burst = &definition["capacity.burst"];
    assert_eq!((&burst["requests"], &burst["plan"]), (&7.into(), &"wait=100ms".into()));
    assert_eq!((burst.get("repetitions"), burst.get("full")), (None, None));
}

#[test]
fn the_long_file_differs_from_the_full_size_in_length() {
    let long = load(include_str!("../../../experiments/long.toml")).unwrap();
    let quick = Values::built_in(Size::Quick).unwrap();
    assert_eq!(long.capacity.hold.steps, quick.capacity.hold.steps);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("long.toml");
    std::fs::write(&file, include_str!("../../../experiments/long.toml")).unwrap();
    let long = Values::load(Some(&file), Size::Full).unwrap();
    // What p99.9 takes.
    let probe = &long.blocking.probe;
    assert!(probe.probes_per_s * probe.duration.as_secs_f64() > 10_000.0);
    assert!(long.capacity.hold_tasks.steps.contains(&2_000_000));
}

#[test]
fn a_value_out_of_range_is_named_in_one_line() {
    let cases = [
        ("burst.quick]\nbound_max = \"soon\"", "capacity.burst.bound_max: \"soon\" is not a duration"),
        ("burst.full]\nrequests = 0", "capacity.burst.requests: 0 is not a whole number from 1"),
        ("burst.quick]\nrequests = -1", "-1 is not a whole number"),
        ("burst.quick]\nwarm = []", "capacity.burst.warm: an empty list"),
        ("burst.quick]\ntime_limit = \"0s\"", "is not a duration above 0"),
        ("hold.quick]\nspread_share = nan", "capacity.hold.spread_share: NaN is not a number above 0"),
        ("hold.quick]\narrivals_per_s_max = 1e300", "is not a number above 0 and up to"),
        ("hold-tasks.full]\nsteps = [100, 0]", "capacity.hold-tasks.steps"),
        ("burst.quick]\nplan = \"sleep=1s\"", "the steps are wait"),
        ("burst.quick]\nrequest = 5", "unknown field `request`"),
        ("burst]\nrequests = 5", "capacity.burst: \"requests\" is no size; what is said of one stands in"),
    ];
    for (text, expected) in cases {
        let error = load(&format!("[capacity.{text}\n")).unwrap_err().to_string();
        assert!(error.contains("mine.toml: ") && error.contains(expected), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let error = load("[capacity.burst.quick]\nrequests = = 5\n").unwrap_err().to_string();
    assert!(error.contains("mine.toml, line 2: "), "{error}");
    let error = Values::load(Some(Path::new("/nowhere.toml")), Size::Full).unwrap_err().to_string();
    assert!(error.contains("cannot read the experiments of /nowhere.toml"), "{error}");
}

fn given(pairs: &[&str]) -> anyhow::Result<Values> {
    let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
    Values::with_given(None, Size::Quick, Experiment::Burst, &pairs)
}

#[test]
fn pairs_are_read_as_the_file_would_be() {
    let values = given(&["requests=2_000", "plan=wait=5ms", "warm=true"]).unwrap();
    let burst = values.capacity.burst;
    assert_eq!((burst.requests, burst.warm, burst.plan.to_string()), (2_000, vec![true], "wait=5ms".into()));
    let error = |pairs: &[&str]| given(pairs).unwrap_err().to_string();
    assert_eq!(error(&["request=5"]), "capacity.burst has no value \"request\"; did you mean \"requests\"?");
    assert!(error(&["requests=0"]).contains("requests=0: capacity.burst.requests: 0 is not a whole number"));
    assert!(error(&["requests=many"]).contains("requests=many: write it as requests=10000"));
    assert!(error(&["plan=sleep=1s"]).contains("the steps are wait"));
    assert!(error(&["fast"]).contains("is not KEY=VALUE"));
}
