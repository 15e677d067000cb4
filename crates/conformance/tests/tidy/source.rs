//! What source files must not hold.

use crate::Rule;
use crate::dependencies::pinned;
use crate::tree::{Tree, code, has_token};

const LINES_MAX: usize = 400;

pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "pure crates stay pure",
        why: "what is measured and what bounds it are values: no clock, no thread, no socket, no file",
        find: pure_crates_stay_pure,
        planted: &[
            ("crates/workload/src/lib.rs", "//! Reads no std::time::Instant.\nuse std::time::Instant;\n"),
            ("crates/runner/src/lib.rs", "use std::time::Instant;\n"),
        ],
    },
    Rule {
        name: "no thread-locals where handlers run",
        why: "a coroutine can move to another thread between two steps of a handler; suspend.rs, which is about the thread \
              that a coroutine leaves, may have them",
        find: no_thread_locals,
        planted: &[("crates/runtime-x/src/handler.rs", concat!("thread_", "local! { static A: u8 = 1 }\n"))],
    },
    Rule {
        name: "an exemption from the ban on blocking has a reason",
        why: "blocking belongs in blocking.rs; elsewhere a reader must be told why it does no harm",
        find: blocking_has_reasons,
        planted: &[(
            "crates/runtime-x/src/runtime.rs",
            concat!("#[expect(clippy::disallowed_", "methods)]\nfn f() {}\n"),
        )],
    },
    Rule {
        name: "blocking calls are banned where a library schedules",
        why: "a runtime on a library has a clippy.toml that forbids std::thread::sleep outside blocking.rs",
        find: blocking_is_banned,
        planted: &[("crates/runtime-x/Cargo.toml", "[dependencies]\nx = \"=1.0.0\"\n")],
    },
    Rule {
        name: "each file says what it is for",
        why: "a .rs file opens with //! and its responsibility",
        find: files_say_what_they_are_for,
        planted: &[("crates/x/src/a.rs", "// Not a document.\n"), ("crates/x/src/b.rs", "//! Good.\n")],
    },
    Rule {
        name: "files are short",
        why: "a file of more than 400 lines has more than one responsibility",
        find: files_are_short,
        planted: &[("crates/x/src/a.rs", LONG)],
    },
    Rule {
        name: "no allow",
        why: "`expect` says when it is no longer needed, `allow` does not",
        find: |tree| lines_with(tree, &[concat!("#[", "allow("), concat!("#![", "allow(")]),
        planted: &[("crates/x/src/a.rs", concat!("#[", "allow(dead_code)]\nfn f() {}\n"))],
    },
    Rule {
        name: "nothing is left unfinished",
        why: "what is not there is refused with a reason, not with a panic",
        find: |tree| lines_with(tree, &[concat!("to", "do!("), concat!("unimple", "mented!(")]),
        planted: &[("crates/x/src/a.rs", concat!("fn f() { to", "do!() }\n"))],
    },
];

/// 401 lines.
const LONG: &str = match std::str::from_utf8(&[b'\n'; LINES_MAX + 1]) {
    Ok(lines) => lines,
    Err(_) => unreachable!(),
};

const PURE: [&str; 3] = ["crates/workload/", "crates/prediction/", "crates/statistics/"];
const IMPURE: [&str; 14] = [
    "Instant",
    "SystemTime",
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "UnixStream",
    "env::",
    "fs::",
    "libc::",
    "process::",
    "rustix::",
    "std::net::{",
    "std::thread",
    "thread::",
];

/// Where handlers run, or code that they call.
const HANDLERS: [&str; 4] =
    ["crates/runtime-", "crates/execution-model/", "crates/workload/", "crates/readiness-loop/"];

fn pure_crates_stay_pure(tree: &Tree) -> Vec<String> {
    lines_in(tree, &PURE, |line| IMPURE.iter().any(|token| has_token(line, token)))
}

fn no_thread_locals(tree: &Tree) -> Vec<String> {
    let tokens = [concat!("thread_", "local!"), "LocalKey"];
    let found = lines_in(tree, &HANDLERS, |line| tokens.iter().any(|token| has_token(line, token)));
    found.into_iter().filter(|place| !place.contains("/src/suspend.rs:")).collect()
}

fn blocking_has_reasons(tree: &Tree) -> Vec<String> {
    let exemption = concat!("clippy::disallowed_", "methods");
    let mut found = Vec::new();
    for (path, text) in tree.rust_files().filter(|(path, _)| path.starts_with("crates/runtime-")) {
        for (at, _) in text.match_indices(exemption) {
            let attribute = text[at..].split(")]").next().unwrap_or_default();
            if !attribute.contains("reason") {
                found.push(format!("{path}:{}", text[..at].lines().count()));
            }
        }
    }
    found
}

fn blocking_is_banned(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (folder, manifest) in tree.runtime_crates() {
        let path = format!("{folder}/clippy.toml");
        let bans = || tree.text(&path).is_some_and(|text| bans_sleep(text).unwrap_or(false));
        if !pinned(&manifest).is_empty() && !bans() {
            found.push(path);
        }
    }
    found
}

fn bans_sleep(clippy: &str) -> Option<bool> {
    let clippy: toml::Table = clippy.parse().ok()?;
    let methods = clippy.get("disallowed-methods")?.as_array()?;
    let is_sleep = |method: &toml::Value| {
        let path = method.get("path").unwrap_or(method).as_str();
        path == Some("std::thread::sleep")
    };
    Some(methods.iter().any(is_sleep))
}

fn files_say_what_they_are_for(tree: &Tree) -> Vec<String> {
    let silent = tree.rust_files().filter(|(_, text)| !text.starts_with("//! "));
    silent.map(|(path, _)| path.to_owned()).collect()
}

fn files_are_short(tree: &Tree) -> Vec<String> {
    let lengths = tree.rust_files().map(|(path, text)| (path, text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > LINES_MAX);
    long.map(|(path, lines)| format!("{path}: {lines} lines")).collect()
}

fn lines_with(tree: &Tree, tokens: &[&str]) -> Vec<String> {
    lines_in(tree, &[""], |line| tokens.iter().any(|token| has_token(line, token)))
}

/// The lines of code under `folders` that are found, with their places.
fn lines_in(tree: &Tree, folders: &[&str], is_found: impl Fn(&str) -> bool) -> Vec<String> {
    let files = tree.rust_files().filter(|(path, _)| folders.iter().any(|folder| path.starts_with(folder)));
    let lines = files.flat_map(|(path, text)| code(text).map(move |(number, line)| (path, number, line)));
    let found = lines.filter(|(_, _, line)| is_found(line));
    found.map(|(path, number, line)| format!("{path}:{number}: {}", line.trim())).collect()
}
