//! Who depends on whom: what compares runtimes holds none of them, and each library has one home.

use std::collections::{BTreeMap, BTreeSet};

use crate::Rule;
use crate::tree::{Tree, code, has_token};

pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "the parent side links no runtime",
        why: "what is compared must not run inside what compares it",
        find: parent_links_no_runtime,
        planted: &[(
            "Cargo.lock",
            "[[package]]\nname = \"bench-harness\"\nversion = \"0.0.0\"\ndependencies = [\"harmless 1.0.0\"]\n\
             [[package]]\nname = \"harmless\"\nversion = \"1.0.0\"\ndependencies = [\"tokio\"]\n\
             [[package]]\nname = \"tokio\"\nversion = \"1.0.0\"\n",
        )],
    },
    Rule {
        name: "nothing depends on a runtime crate",
        why: "dependencies point one way; a runner is found as a program, not linked",
        find: nothing_depends_on_a_runtime_crate,
        planted: &[(
            "crates/load-driver/Cargo.toml",
            "[dev-dependencies]\nruntime-x.workspace = true\nworkload.workspace = true\n",
        )],
    },
    Rule {
        name: "a runtime's library has one home",
        why: "adding a runtime is adding a folder; no file outside crates/runtime-x names x's library",
        find: libraries_stay_at_home,
        planted: &[
            ("crates/runtime-smol/src/main.rs", concat!("smol", "::run();\n")),
            (
                "crates/workload/src/lib.rs",
                concat!("// tokio", "::spawn in a comment\nfn f() { tokio", "::spawn(g) }\n"),
            ),
        ],
    },
];

/// Crates that must hold no runtime: the parent side, and what children and parent share.
const WITHOUT_RUNTIME: [&str; 10] = [
    "bench-harness",
    "cell-control",
    "cell-protocol",
    "conformance",
    "execution-model",
    "load-driver",
    "prediction",
    "primitive-benches",
    "statistics",
    "workload",
];

/// Libraries that carry an execution model out, whether or not a crate here uses them yet.
const LIBRARIES: [&str; 14] = [
    "actix-rt",
    "async-executor",
    "async-global-executor",
    "async-std",
    "compio",
    "futures-executor",
    "glommio",
    "hyper",
    "may",
    "monoio",
    "rayon",
    "rayon-core",
    "smol",
    "tokio",
];

/// Walks Cargo.lock, which is what `cargo metadata` resolves to: it needs no network and no other process.
/// It holds development dependencies and those of every platform too, so this is the stricter question.
fn parent_links_no_runtime(tree: &Tree) -> Vec<String> {
    let graph = lock_graph(tree.text("Cargo.lock").unwrap_or_default());
    let forbidden = |name: &str| name.starts_with("runtime-") || LIBRARIES.contains(&name);
    let mut found = Vec::new();
    for start in WITHOUT_RUNTIME {
        // Each package that was reached, with the way to it.
        let mut open = vec![(start.to_owned(), start.to_owned())];
        let mut seen = BTreeSet::new();
        while let Some((name, way)) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            if forbidden(&name) {
                found.push(format!("Cargo.lock: {way}"));
                continue;
            }
            for next in graph.get(&name).into_iter().flatten() {
                open.push((next.clone(), format!("{way} -> {next}")));
            }
        }
    }
    found
}

/// Each package's dependencies, versions taken together: `name`, or `name version` where there are several.
fn lock_graph(lock: &str) -> BTreeMap<String, Vec<String>> {
    let lock: toml::Table = lock.parse().expect("Cargo.lock is TOML");
    let mut graph: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in lock.get("package").and_then(toml::Value::as_array).into_iter().flatten() {
        let name = package["name"].as_str().expect("a package has a name");
        let dependencies = package.get("dependencies").and_then(toml::Value::as_array);
        let names = dependencies.into_iter().flatten().filter_map(toml::Value::as_str);
        let names = names.filter_map(|dependency| dependency.split(' ').next()).map(str::to_owned);
        graph.entry(name.to_owned()).or_default().extend(names);
    }
    graph
}

fn nothing_depends_on_a_runtime_crate(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (folder, manifest) in tree.crates() {
        for name in dependencies(&manifest).into_iter().filter(|name| name.starts_with("runtime-")) {
            found.push(format!("{folder}/Cargo.toml: {name}"));
        }
    }
    found
}

fn libraries_stay_at_home(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (library, home) in libraries(tree) {
        let path_to = format!("{}::", library.replace('-', "_"));
        for (path, text) in tree.rust_files().filter(|(path, _)| !path.starts_with(&home)) {
            let lines = code(text).filter(|(_, line)| has_token(line, &path_to));
            found.extend(lines.map(|(number, line)| format!("{path}:{number}: {}", line.trim())));
        }
        for (folder, manifest) in tree.crates() {
            if !format!("{folder}/").starts_with(&home) && dependencies(&manifest).contains(&library) {
                found.push(format!("{folder}/Cargo.toml: {library}"));
            }
        }
    }
    found
}

/// Each library with the folder that may name it: the ones known here, and whatever a runtime crate pins.
fn libraries(tree: &Tree) -> BTreeMap<String, String> {
    let known = LIBRARIES.iter().map(|name| ((*name).to_owned(), format!("crates/runtime-{name}/")));
    let mut libraries: BTreeMap<String, String> = known.collect();
    for (folder, manifest) in tree.runtime_crates() {
        libraries.extend(pinned(&manifest).into_iter().map(|name| (name, format!("{folder}/"))));
    }
    libraries
}

/// The dependencies that a manifest pins with `=`: in a runtime crate, the library that it is about.
pub(crate) fn pinned(manifest: &toml::Table) -> Vec<String> {
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    let pinned = |value: &toml::Value| {
        let version = value.as_str().or_else(|| value.get("version")?.as_str());
        version.is_some_and(|version| version.starts_with('='))
    };
    let entries = dependencies.into_iter().flatten().filter(|(_, value)| pinned(value));
    entries.map(|(name, _)| name.clone()).collect()
}

/// The names of a manifest's dependencies of every kind.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = kinds.iter().filter_map(|kind| manifest.get(*kind)?.as_table());
    tables.flat_map(|table| table.keys().cloned()).collect()
}
