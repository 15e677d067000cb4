//! The suite finds what it is there to find: each mutant fails the check that its fault is for, and
//! one without a fault passes every check.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::thread;

use conformance::{CHECKS, CheckResult, Options, Verdict, run};

/// A mutant, the checks that must find its fault, and one beside them that must not.
const MUTANTS: [(&str, &[&str], &str); 24] = [
    (
        "skips-wait",
        &[
            "waits-take-their-time",
            "answers-plans",
            "pipeline-loses-nothing",
            "pipeline-uses-its-devices",
            "pipeline-keeps-order",
            "pipeline-counts-what-is-stuck",
        ],
        "checksums-are-right",
    ),
    ("waits-one-by-one", &["pipeline-uses-its-devices"], "checksums-are-right"),
    (
        "skips-compute",
        &[
            "compute-burns-cpu",
            "checksums-are-right",
            "answers-plans",
            "pipeline-loses-nothing",
            "pipeline-detects-on-the-cores",
        ],
        "waits-take-their-time",
    ),
    (
        "loses-requests",
        &["burst-loses-nothing", "pipeline-loses-nothing", "pipeline-pushes-back"],
        "answers-plans",
    ),
    ("lies-about-checksum", &["checksums-are-right", "answers-plans"], "waits-take-their-time"),
    ("hides-threads", &["threads-while-waiting"], "peak-is-the-limit"),
    (
        "swallows-panic",
        &["panics-are-told", "panics-are-answered-500", "pipeline-survives-panics"],
        "checksums-are-right",
    ),
    ("dies-of-a-panic", &["pipeline-survives-panics"], "panics-are-told"),
    ("ignores-its-own-limit", &["peak-is-the-limit"], "burst-loses-nothing"),
    ("ignores-in-flight-limit", &["in-flight-limit"], "connection-limit"),
    ("does-not-drain", &["server-drains", "interrupt-drains", "pipeline-drains"], "in-flight-limit"),
    ("ignores-deadline", &["deadline-is-kept", "pipeline-gives-up"], "server-drains"),
    ("closes-connections", &["keeps-connections"], "waits-overlap"),
    ("resets-long-heads", &["refuses-long-heads"], "pipelines"),
    ("offloads-in-secret", &["blocks-keep-their-threads"], "strategies-over-http"),
    ("offloads-nothing", &["strategies-free-the-workers"], "strategies-over-http"),
    ("shows-no-lag", &["loop-lag-shows-blocking"], "metrics-agree"),
    ("shows-anothers-lag", &["loop-lag-shows-blocking"], "metrics-agree"),
    ("leaves-a-process", &["leaves-nothing-behind"], "server-drains"),
    ("writes-for-ever", &["untaken-answers-time-out"], "slow-requests-are-answered-408"),
    ("takes-any-limit", &["refuses-bad-limits"], "refuses-bad-specs"),
    ("needs-standard-error", &["survives-without-standard-error"], "keeps-connections"),
    ("ignores-offload-threads", &["offload-threads-are-a-limit"], "strategies-in-process"),
    ("waits-for-an-image", &["pipeline-may-never-begin"], "pipeline-drains"),
];

/// The runner with faults. `cargo test` has built it; `cargo test --test mutants` has not, or not lately,
/// because a test that is named is built without the examples.
fn mutant() -> PathBuf {
    static MUTANT: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = std::env::current_exe().expect("this test has a path");
        let profile = test.parent().and_then(Path::parent).expect("tests are in target/PROFILE/deps");
        let mutant = profile.join("examples/mutant");
        let built = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        if built(&mutant) < built(&test) {
            build(profile);
        }
        mutant
    });
    MUTANT.clone()
}

fn build(profile: &Path) {
    let name = profile.file_name().and_then(|name| name.to_str()).expect("a profile has a name");
    let name = if name == "debug" { "dev" } else { name };
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "conformance", "--example", "mutant", "--profile", name])
        .arg("--target-dir")
        .arg(profile.parent().expect("a profile is in the target directory"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "the mutant cannot be built");
}

fn check(variant: &str, checks: &[&str]) -> Vec<CheckResult> {
    let options = Options {
        variants: vec![variant.into()],
        checks: checks.iter().map(|&check| check.to_owned()).collect(),
        // The mutants are judged side by side.
        parallel: 6,
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
#[expect(clippy::print_stdout, reason = "cargo shows it with the test, or keeps it where the test passes")]
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
