//! `scripts/new-runtime`: what it makes compiles, is listed, is refused until it is written, and conforms when it is.
//!
//! It works in a workspace of its own under the build directory, which has nothing but the script, the crate that it
//! copies, and this workspace's crates by their paths. Compiled dependencies are those of this workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{fs, io};

use serde_json::Value;

const NAME: &str = "made-up";
const FOLDER: &str = "crates/runtime-made-up/";
const NOT_WRITTEN: &str = "runner::Support::No(NOT_WRITTEN)";

#[test]
fn a_new_runtime_is_one_folder_that_conforms_once_it_is_written() {
    let scratch = Scratch::new("new-runtime").unwrap();
    let before = scratch.files();
    let made = scratch.new_runtime(&[NAME]);
    assert!(made.status.success(), "{made:?}");
    let steps = String::from_utf8_lossy(&made.stdout).into_owned();
    assert!(steps.contains(NOT_WRITTEN) && steps.contains("cargo test -p runtime-made-up"), "{steps}");

    let mut after = scratch.files();
    after.retain(|path, _| !path.starts_with(FOLDER));
    let lock = after.insert("Cargo.lock".into(), before["Cargo.lock"].clone());
    assert_eq!(after, before, "a file outside {FOLDER} has changed");
    assert!(lock.is_some_and(|lock| lock.contains("name = \"runtime-made-up\"")), "Cargo.lock lacks it");

    scratch.build();
    let listed = scratch.harness(&["list"]);
    let runtime = &listed["runtimes"][0];
    assert_eq!(runtime["runtime"], NAME, "{listed}");
    let refusals = runtime["refusals"].as_array().expect("refusals are a list");
    let not_written = |refusal: &&Value| {
        refusal["reason"].as_str().is_some_and(|reason| reason.starts_with("not written yet"))
    };
    assert_eq!(refusals.iter().filter(not_written).count(), 3, "{listed}");
    assert_eq!(scratch.verify(), ["passed", "refused"]);

    // What the steps say of main.rs.
    let main = scratch.root.join(FOLDER).join("src/main.rs");
    let written = fs::read_to_string(&main).unwrap();
    let written = written.replacen(NOT_WRITTEN, "runner::handler()", 1);
    let written = written.replacen(NOT_WRITTEN, "runner::server()", 1);
    let written = written.replacen(NOT_WRITTEN, "runner::pipeline()", 1);
    let written = written.lines().filter(|line| !line.starts_with("const NOT_WRITTEN"));
    fs::write(main, written.collect::<Vec<_>>().join("\n")).unwrap();
    scratch.build();
    assert_eq!(scratch.verify(), ["passed"]);
}

#[test]
fn a_bad_name_is_told_and_makes_nothing() {
    let scratch = Scratch::new("new-runtime-refused").unwrap();
    let before = scratch.files();
    for (arguments, told) in [
        (&[][..], "give one name"),
        (&["one", "two"], "give one name"),
        (&[""], "cannot be a name"),
        (&["Tokio"], "cannot be a name"),
        (&["a--b"], "cannot be a name"),
        (&["../x"], "cannot be a name"),
        (&["threads"], "crates/runtime-threads is there already"),
        (&["pool"], "a Pool of its own"),
    ] {
        let refused = scratch.new_runtime(arguments);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(told) && said.lines().count() == 1, "{arguments:?}: {said}");
        assert!(refused.stdout.is_empty(), "{arguments:?}: {refused:?}");
    }
    assert_eq!(scratch.files(), before);
}

/// A workspace in which the script can do no harm. Its place is always the same, so that what is compiled there once is
/// found again.
struct Scratch {
    root: PathBuf,
    /// Where the runner is put: apart from this workspace's own, lest the harness find it there.
    built: PathBuf,
}

impl Scratch {
    fn new(name: &str) -> io::Result<Scratch> {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _not_there = fs::remove_dir_all(root.join("crates"));
        let built = root.with_file_name(format!("{name}-built"));
        let scratch = Scratch { root, built };
        let workspace = workspace();
        let manifest = fs::read_to_string(workspace.join("Cargo.toml"))?;
        let members = "[\"bench-harness\", \"crates/*\"]";
        assert!(manifest.contains(members), "{manifest}");
        let path = |to: &Path| format!("path = \"{}/", to.display());
        let manifest = manifest.replace(members, "[\"crates/*\"]");
        let manifest = manifest.replace("path = \"", &path(&workspace));
        scratch.write("Cargo.toml", &manifest)?;
        for file in ["Cargo.lock", "rustfmt.toml", "clippy.toml", "scripts/new-runtime"] {
            scratch.write(file, &fs::read_to_string(workspace.join(file))?)?;
        }
        for (file, text) in files(&workspace, "crates/runtime-threads")? {
            scratch.write(&file, &text)?;
        }
        Ok(scratch)
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let path = self.root.join(file);
        fs::create_dir_all(path.parent().expect("a file has a folder"))?;
        fs::write(path, text)
    }

    fn files(&self) -> BTreeMap<String, String> {
        files(&self.root, "").expect("the scratch workspace can be read")
    }

    fn new_runtime(&self, arguments: &[&str]) -> Output {
        let script = self.root.join("scripts/new-runtime");
        Command::new("bash").arg(script).args(arguments).output().expect("bash can be started")
    }

    /// Compiles it in this workspace's build directory, where its dependencies are.
    fn build(&self) {
        let build_directory =
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the build directory");
        let built = Command::new("cargo")
            .args(["build", "--offline", "--locked", "--quiet", "-p", "runtime-made-up"])
            .args(["--bins", "--bench", "primitives"])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.built)
            .env("CARGO_BUILD_BUILD_DIR", build_directory)
            .output()
            .expect("cargo can be started");
        assert!(
            built.status.success() && built.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
    }

    fn harness(&self, arguments: &[&str]) -> Value {
        let runners = self.built.join("debug");
        let harness = env!("CARGO_BIN_EXE_bench-harness");
        let options = ["--format", "json", "--runners"];
        let output = Command::new(harness).args(arguments).args(options).arg(runners).output();
        let output = output.expect("the harness can be started");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).expect("it prints JSON")
    }

    /// The verdicts that there are, of all checks on one variant.
    fn verify(&self) -> Vec<String> {
        let results = self.harness(&["verify", "--no-progress", "-m", "made-up:per-request"]);
        let results = results.as_array().expect("results are a list");
        let mut verdicts: Vec<String> =
            results.iter().map(|result| result["verdict"].as_str().unwrap_or_default().to_owned()).collect();
        verdicts.sort_unstable();
        verdicts.dedup();
        verdicts
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the harness is in a workspace").to_owned()
}

/// The text of each file under a folder of `root`, by its path from `root`.
fn files(root: &Path, folder: &str) -> io::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = Path::new(folder).join(entry.file_name()).display().to_string();
        if entry.file_type()?.is_dir() {
            files.extend(self::files(root, &path)?);
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            files.insert(path, text);
        }
    }
    Ok(files)
}
