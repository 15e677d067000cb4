//! What manifests must have, and what no file of the tree may hold: the machine it was written on.

use crate::Rule;
use crate::tree::Tree;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "a crate is named after its folder",
        why: "who knows the one finds the other",
        find: named_after_folders,
        planted: &[
            ("crates/a/Cargo.toml", "[package]\nname = \"b\"\n"),
            ("crates/c/Cargo.toml", "[package]\nname = \"c\"\n"),
        ],
    },
    Rule {
        name: "a crate says what it is and takes the workspace's lints",
        why: "a lint that one crate leaves out is no rule",
        find: described_and_linted,
        planted: &[
            ("crates/a/Cargo.toml", "[package]\ndescription = \"A\"\n[lints]\nworkspace = false\n"),
            ("crates/b/Cargo.toml", "[package]\ndescription = \"B\"\n[lints]\nworkspace = true\n"),
        ],
    },
    Rule {
        name: "no file tells of the machine it was written on",
        why: "another machine has other paths",
        find: no_machine_paths,
        planted: &[
            ("scripts/x", concat!("cd /ho", "me/somebody/here\n")),
            ("README.md", "see crates/home/x\n"),
        ],
    },
    Rule {
        name: "dependencies come from crates.io",
        why: "another machine does not reach a private registry or mirror",
        find: only_crates_io,
        planted: &[(
            "Cargo.lock",
            concat!(
                "source = \"registry+https://mir",
                "ror.example/index\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n"
            ),
        )],
    },
];

fn named_after_folders(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (folder, manifest) in tree.crates() {
        let name = manifest.get("package").and_then(|package| package.get("name")?.as_str());
        if name.is_some_and(|name| folder.rsplit('/').next() != Some(name)) {
            found.push(format!("{folder}/Cargo.toml: {}", name.unwrap_or_default()));
        }
    }
    found
}

fn described_and_linted(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (folder, manifest) in tree.crates() {
        let Some(package) = manifest.get("package") else { continue };
        let description = package.get("description").and_then(toml::Value::as_str);
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace")?.as_bool());
        if description.is_none_or(str::is_empty) || lints != Some(true) {
            found
                .push(format!("{folder}/Cargo.toml: description {description:?}, workspace lints {lints:?}"));
        }
    }
    found
}

fn no_machine_paths(tree: &Tree) -> Vec<String> {
    let machines =
        [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];
    let begins_path = |line: &str, at: usize| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && !"_-./".contains(before))
    };
    let tells = |line: &str| {
        machines.iter().any(|path| line.match_indices(path).any(|(at, _)| begins_path(line, at)))
    };
    let mut found = Vec::new();
    for (path, text) in tree.files() {
        let lines = text.lines().enumerate().filter(|(_, line)| tells(line));
        found.extend(lines.map(|(index, line)| format!("{path}:{}: {}", index + 1, line.trim())));
    }
    found
}

fn only_crates_io(tree: &Tree) -> Vec<String> {
    let elsewhere = |path: &str, line: &str| {
        let line = line.trim();
        if path.ends_with("Cargo.lock") {
            return line.strip_prefix("source = \"").is_some_and(|source| !source.starts_with(CRATES_IO));
        }
        // In cargo's configuration and in manifests, these name another registry.
        let keys = ["replace-with", "registry =", "registry-index", "[source.", "[registries."];
        path.ends_with(".toml") && keys.iter().any(|key| line.starts_with(key))
    };
    let mut found = Vec::new();
    for (path, text) in tree.files() {
        let lines = text.lines().enumerate().filter(|(_, line)| elsewhere(path, line));
        found.extend(lines.map(|(index, line)| format!("{path}:{}: {}", index + 1, line.trim())));
    }
    found
}
