//! Records the version of the compiler, which is that of the standard library.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    // "rustc 1.95.0 (59807616e 2026-04-14)"
    let version = text.split_whitespace().nth(1).unwrap_or("unknown");
    println!("cargo::rustc-env=STD_VERSION={version}");
    println!("cargo::rerun-if-changed=build.rs");
}
