//! What the README says was found is what the committed run says, in the words that the report has now.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const RUN: &str = "reports/full";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate of the workspace").to_owned()
}

/// A copy of what a report reads and of the README.
fn copy() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().expect("a directory");
    let run = scratch.path().join(RUN);
    fs::create_dir_all(&run).expect("a directory in it");
    for name in ["run.json", "cells.jsonl"] {
        let from = workspace().join(RUN).join(name);
        fs::copy(&from, run.join(name)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
    fs::copy(workspace().join("README.md"), scratch.path().join("README.md")).expect("the README");
    scratch
}

fn report(at: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-harness"));
    command.current_dir(at).arg("report").args(arguments).output().expect("the harness can be started")
}

#[test]
fn the_findings_of_the_readme_are_those_of_the_committed_run() {
    let scratch = copy();
    let output = report(scratch.path(), &[RUN, "--into", "README.md"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = |at: &Path, name: &str| fs::read_to_string(at.join(name)).expect("a text");
    let (now, committed) = (text(scratch.path(), "README.md"), text(&workspace(), "README.md"));
    assert!(now == committed, "run `bench-harness report {RUN} --into README.md`");
    let generated = ["report.md", "cells.csv", "summary.json", "report.html"];
    for name in generated.map(|name| format!("{RUN}/{name}")) {
        assert!(
            text(scratch.path(), &name) == text(&workspace(), &name),
            "{name} is not what the report writes now"
        );
    }
}

#[test]
fn a_document_without_the_markers_is_refused_and_left_as_it_is() {
    let scratch = copy();
    let document = scratch.path().join("other.md");
    fs::write(&document, "# Other\n").expect("a text");
    for (file, expected) in [("other.md", "it must have the line"), ("nowhere.md", "cannot read it")] {
        let output = report(scratch.path(), &[RUN, "--into", file]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(file) && said.contains(expected), "{said}");
    }
    assert_eq!(fs::read_to_string(&document).expect("a text"), "# Other\n");
}
