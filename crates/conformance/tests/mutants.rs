//! The suite finds what it is there to find: each mutant fails the check that its fault is for, and
//! one without a fault passes every check.

use std::path::PathBuf;
use std::thread;

use conformance::{CHECKS, CheckResult, Options, Verdict, run};

/// A mutant, the checks that must find its fault, and one beside them that must not.
const MUTANTS: [(&str, &[&str], &str); 13] = [
    ("skips-wait", &["waits-take-their-time", "answers-plans"], "checksums-are-right"),
    (
        "skips-compute",
        &["compute-burns-cpu", "checksums-are-right", "answers-plans"],
        "waits-take-their-time",
    ),
    ("loses-requests", &["burst-loses-nothing"], "answers-plans"),
    ("lies-about-checksum", &["checksums-are-right", "answers-plans"], "burst-loses-nothing"),
    ("hides-threads", &["threads-while-waiting"], "peak-is-the-limit"),
    ("swallows-panic", &["panics-are-told", "panics-are-answered-500"], "checksums-are-right"),
    ("ignores-its-own-limit", &["peak-is-the-limit", "waits-take-their-time"], "burst-loses-nothing"),
    ("ignores-in-flight-limit", &["in-flight-limit"], "connection-limit"),
    ("does-not-drain", &["server-drains", "interrupt-drains"], "in-flight-limit"),
    ("ignores-deadline", &["deadline-is-kept"], "server-drains"),
    ("closes-connections", &["keeps-connections"], "waits-overlap"),
    ("resets-long-heads", &["refuses-long-heads"], "pipelines"),
    ("leaves-a-process", &["leaves-nothing-behind"], "server-drains"),
];

/// The runner with faults. Cargo tells an example's path to nobody, but builds it beside the tests.
fn mutant() -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("tests are in target/PROFILE/deps");
    let mutant = profile.join("examples/mutant");
    assert!(
        mutant.exists(),
        "{} is not built: `cargo build -p conformance --example mutant`",
        mutant.display()
    );
    mutant
}

fn check(variant: &str, checks: &[&str]) -> Vec<CheckResult> {
    let options = Options {
        variants: vec![variant.into()],
        checks: checks.iter().map(|&check| check.to_owned()).collect(),
        ..Options::default()
    };
    run(&mutant(), &options, &|_| {}).expect("the mutant describes itself")
}

#[test]
fn without_a_fault_every_check_passes() {
    let results = check("none", &[]);
    let failed: Vec<_> = results.iter().filter(|result| result.failed()).map(ToString::to_string).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(results.len(), CHECKS.len());
    assert!(results.iter().all(|result| matches!(result.verdict, Verdict::Passed(_))));
}

#[test]
fn each_fault_fails_its_own_checks() {
    let wrong: Vec<String> = thread::scope(|scope| {
        let judged = MUTANTS.map(|mutant| scope.spawn(move || judge(mutant)));
        judged.into_iter().flat_map(|judging| judging.join().expect("judging does not panic")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the suite gets wrong about a mutant.
fn judge((variant, finding, beside): (&str, &[&str], &str)) -> Vec<String> {
    let results = check(variant, &[finding, &[beside]].concat());
    for result in &results {
        println!("{result}");
    }
    let wrong = |result: &&CheckResult| result.failed() != finding.contains(&result.check);
    results.iter().filter(wrong).map(|result| format!("misjudged: {result}")).collect()
}

#[test]
fn a_check_that_there_is_not_is_an_error() {
    let options = Options { checks: vec!["no-such-check".into()], ..Options::default() };
    let error = run(&mutant(), &options, &|_| {}).unwrap_err();
    assert!(error.contains("no-such-check"), "{error}");
}
