//! The text of the workspace, by path from its root.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What is no part of the source: build output, history (a file in a linked work tree), and the results of runs.
const SKIPPED: [&str; 3] = ["target", ".git", "reports"];

/// The files of a workspace.
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// This workspace.
    pub(crate) fn load() -> Tree {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = BTreeMap::new();
        read_directory(&root, "", &mut files);
        Tree { files }
    }

    /// A made-up one.
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Tree { files: files.collect() }
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// Each package's folder, with its manifest.
    pub(crate) fn crates(&self) -> Vec<(&str, toml::Table)> {
        self.files()
            .filter_map(|(path, text)| {
                let folder = path.strip_suffix("/Cargo.toml")?;
                // One that is not TOML is cargo's to refuse, before any test runs.
                Some((folder, text.parse().ok()?))
            })
            .collect()
    }

    /// The runtime crates' folders, with their manifests.
    pub(crate) fn runtime_crates(&self) -> Vec<(&str, toml::Table)> {
        let mut crates = self.crates();
        crates.retain(|(folder, _)| folder.starts_with("crates/runtime-"));
        crates
    }
}

/// The lines that are code, with their numbers: comments may name anything.
pub(crate) fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Whether `line` has `token` where it is not the end of a longer name.
pub(crate) fn has_token(line: &str, token: &str) -> bool {
    line.match_indices(token).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && before != '_')
    })
}

fn read_directory(directory: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).expect("the workspace can be read") {
        let entry = entry.expect("the workspace can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().expect("a file has a type");
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            read_directory(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            files.insert(path, text);
        }
    }
}
