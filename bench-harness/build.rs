//! Records what the binary was built with, for `run.json`.

use std::env;
use std::process::Command;

fn main() {
    let output = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let set =
        |name: &str, value: Option<String>| println!("cargo::rustc-env={name}={}", value.unwrap_or_default());
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    set("BUILD_RUSTC", output(&rustc, &["--version"]));
    set("BUILD_PROFILE", env::var("PROFILE").ok());
    // The name that git has for the file's contents: a hash that anyone can recompute.
    set("BUILD_LOCK_HASH", output("git", &["hash-object", "../Cargo.lock"]));
    println!("cargo::rerun-if-changed=../Cargo.lock");
    println!("cargo::rerun-if-changed=build.rs");
}
