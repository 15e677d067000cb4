//! Runners beside an executable: the good one is taken, the others are named with a reason.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use cell_control::discover;
use cell_protocol::{Description, PROTOCOL, REVISION};

fn description(runtime: &str) -> Description {
    Description {
        protocol: PROTOCOL,
        revision: REVISION.into(),
        runtime: runtime.into(),
        library: "std".into(),
        library_version: "1".into(),
        execution_model: "none".into(),
        suspends_by: "not at all".into(),
        variants: vec![],
        refusals: vec![],
    }
}

/// A runner in `directory` that describes itself with `text`. It is a link, not a copy: a copy that
/// another test's fork holds open for writing could not be executed.
fn place(directory: &Path, name: &str, text: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fake-runner");
    symlink(script, directory.join(name)).expect("the name is free");
    fs::write(directory.join(format!("{name}.description")), text).expect("the directory is writable");
}

#[test]
fn only_trusted_runners_are_taken() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let text = |description: &Description| serde_json::to_string(description).unwrap() + "\n";
    place(at, "runtime-good", &text(&description("good")));
    place(at, "runtime-other-protocol", &text(&Description { protocol: 99, ..description("other") }));
    place(at, "runtime-other-build", &text(&Description { revision: "0000".into(), ..description("other") }));
    place(at, "runtime-incomplete", &format!("{{\"protocol\":{PROTOCOL},\"revision\":\"{REVISION}\"}}\n"));
    place(at, "runtime-silent", "");
    place(at, "runtime-talks", "usage: runtime-talks\n");
    place(at, "runtime-dies", "");
    place(at, "other-good", &text(&description("unseen")));
    fs::write(at.join("runtime-good.d"), "").unwrap();
    fs::write(at.join("runtime-notes"), "not executable").unwrap();

    let found = discover(at);
    let names: Vec<_> = found.runners.iter().map(|runner| runner.description.runtime.as_str()).collect();
    assert_eq!(names, ["good"]);
    let reason = |name: &str| {
        let problem = found.problems.iter().find(|problem| problem.path.ends_with(name));
        problem.unwrap_or_else(|| panic!("{name} is not among {:?}", found.problems)).reason.clone()
    };
    assert_eq!(found.problems.len(), 6);
    assert_eq!(
        reason("runtime-other-protocol"),
        format!("speaks protocol 99, and this harness protocol {PROTOCOL}")
    );
    assert!(reason("runtime-other-build").starts_with("was built at revision 0000"));
    assert!(reason("runtime-incomplete").contains("missing field"));
    assert!(reason("runtime-silent").contains("exited with status 0"));
    assert!(reason("runtime-talks").contains("usage: runtime-talks"));
    assert!(
        reason("runtime-dies").contains("exited with status 101")
            && reason("runtime-dies").contains("panicked")
    );
}

#[test]
fn a_runner_that_hangs_costs_its_limit_and_no_more() {
    let directory = tempfile::tempdir().unwrap();
    place(directory.path(), "runtime-hangs", "");
    let begin = Instant::now();
    let found = discover(directory.path());
    assert_eq!(found.problems[0].reason, "no sign of its description within 5s");
    assert!(begin.elapsed() < Duration::from_secs(7));
}

#[test]
fn a_directory_that_is_not_there_is_a_problem() {
    let found = discover("/nowhere".as_ref());
    assert!(found.runners.is_empty());
    assert!(found.problems[0].reason.contains("No such file"));
}
