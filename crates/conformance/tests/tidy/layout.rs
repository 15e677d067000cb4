//! Where things are: runtime crates are alike, so that two can be read side by side.

use crate::Rule;
use crate::tree::{Tree, code};

const MAIN_LINES_MAX: usize = 28;
const FILES: [&str; 8] = [
    "README.md",
    "benches/primitives.rs",
    "src/blocking.rs",
    "src/handler.rs",
    "src/main.rs",
    "src/runtime.rs",
    "src/server.rs",
    "tests/conformance.rs",
];

pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "runtime crates have the same files",
        why: "the comparison of programming models is a diff of two folders",
        find: same_files,
        planted: &[
            ("crates/runtime-x/Cargo.toml", ""),
            ("crates/runtime-x/README.md", ""),
            ("crates/runtime-x/benches/primitives.rs", ""),
            ("crates/runtime-x/src/handler.rs", ""),
            ("crates/runtime-x/src/main.rs", ""),
            ("crates/runtime-x/src/runtime.rs", ""),
            ("crates/runtime-x/src/server.rs", ""),
            ("crates/runtime-x/tests/conformance.rs", ""),
        ],
    },
    Rule {
        name: "code that the README shows is the code",
        why: "the passage is read as the comparison of the models, and must not be an older one",
        find: shown_code,
        planted: &[
            ("README.md", "```rust\n// crates/runtime-x/src/handler.rs: it waits.\nsleep();\nwake();\n```\n"),
            ("crates/runtime-x/src/handler.rs", "    sleep();\n"),
        ],
    },
    Rule {
        name: "a runtime's main is short",
        why: "it names the abilities, and the reasons for those that are missing; the rest is elsewhere",
        find: short_mains,
        planted: &[("crates/runtime-x/Cargo.toml", ""), ("crates/runtime-x/src/main.rs", LONG_MAIN)],
    },
    Rule {
        name: "a runtime's conformance test is one line",
        why: "no runtime has checks of its own: the suite is the same for all",
        find: one_line_tests,
        planted: &[
            ("crates/runtime-x/Cargo.toml", ""),
            ("crates/runtime-x/tests/conformance.rs", "//! Good.\nuse a::b;\nb::suite!();\n"),
        ],
    },
];

/// 29 lines.
const LONG_MAIN: &str = "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n";

fn same_files(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (folder, _) in tree.runtime_crates() {
        let paths = FILES.iter().map(|file| format!("{folder}/{file}"));
        found.extend(
            paths.filter(|path| tree.text(path).is_none()).map(|path| format!("{path} is not there")),
        );
    }
    found
}

/// Lines of a Rust block below a comment that names a file, which are not in that file one after the other.
fn shown_code(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    let (mut is_rust, mut file) = (false, None);
    for line in tree.text("README.md").unwrap_or_default().lines().map(str::trim) {
        if line.starts_with("```") {
            (is_rust, file) = (line == "```rust", None);
        } else if let Some(path) = line.strip_prefix("// crates/").filter(|_| is_rust) {
            let path = format!("crates/{}", path.split(':').next().unwrap_or_default());
            file = Some((tree.text(&path).unwrap_or_default().lines().map(str::trim), path));
        } else if let (Some((rest, path)), false) = (&mut file, line.is_empty())
            && !rest.any(|code| code == line)
        {
            found.push(format!("README.md shows `{line}`, which {path} does not have there"));
        }
    }
    found
}

fn short_mains(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (folder, _) in tree.runtime_crates() {
        let path = format!("{folder}/src/main.rs");
        let lines = tree.text(&path).unwrap_or_default().lines().count();
        if lines > MAIN_LINES_MAX {
            found.push(format!("{path}: {lines} lines, and {MAIN_LINES_MAX} are the most"));
        }
    }
    found
}

fn one_line_tests(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (folder, _) in tree.runtime_crates() {
        let path = format!("{folder}/tests/conformance.rs");
        let Some(text) = tree.text(&path) else { continue };
        let lines = code(text).filter(|(_, line)| !line.trim().is_empty()).count();
        if lines != 1 {
            found.push(format!("{path}: {lines} lines of code"));
        }
    }
    found
}
