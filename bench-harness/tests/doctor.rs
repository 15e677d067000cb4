//! `doctor` tells of this machine, and a busy one is refused before anything is measured.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use serde_json::Value;

const HARNESS: &str = env!("CARGO_BIN_EXE_bench-harness");

fn harness(arguments: &[&str]) -> Output {
    Command::new(HARNESS).args(arguments).output().expect("the harness can be started")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON value")
}

/// Keeps every CPU at work until it is dropped.
struct Busy {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn begin() -> Busy {
        let stop = Arc::new(AtomicBool::new(false));
        let spin = |_| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || while !stop.load(Ordering::Relaxed) {})
        };
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let threads = (0..cpus).map(spin).collect();
        Busy { stop, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            assert!(thread.join().is_ok() || thread::panicking());
        }
    }
}

#[test]
fn limits_and_noise_are_told() {
    let output = harness(&["doctor", "--format", "json", "--duration", "1s"]);
    assert_eq!(output.status.code(), Some(0));
    let found = json(&output);
    let limits = found["limits"].as_array().expect("limits");
    let of = |name: &str| limits.iter().find(|limit| limit["name"] == name).expect("a limit of this name");
    let descriptors = of("open descriptors of a process");
    let soft = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    assert_eq!(descriptors["values"]["soft"].as_u64(), soft);
    assert!(of("CPU quota of a cell")["values"]["can be set"].is_boolean());
    for limit in limits {
        assert!(limit["caps"].is_string() && limit["raise"].is_string(), "{limit:#}");
    }
    assert!(found["noise"]["lateness_max_ns"].is_u64(), "{found:#}");
    let text = harness(&["doctor", "--duration", "200ms"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("mappings of a process: vm.max_map_count"), "{text}");
    assert!(text.contains("quiet enough to measure on") != text.contains("too busy to measure on"), "{text}");
}

#[test]
fn a_busy_machine_is_refused_with_the_reasons() {
    let busy = Busy::begin();
    let doctor = harness(&["doctor", "--strict", "--format", "json", "--duration", "500ms"]);
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let runners = Path::new(HARNESS).with_file_name("examples");
    let run = Command::new(HARNESS)
        .args(["run", "--strict", "--quick", "capacity.burst", "-m", "fake", "--runners"])
        .arg(runners)
        .arg("--out")
        .arg(&out)
        .output()
        .expect("the harness can be started");
    drop(busy);
    assert_eq!(doctor.status.code(), Some(5));
    let reasons = json(&doctor)["busy"].as_array().expect("reasons").clone();
    let used =
        |reason: &Value| reason.as_str().is_some_and(|reason| reason.contains("of the CPU time was used"));
    assert!(reasons.iter().any(used), "{reasons:?}");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(5), "{said}");
    assert!(said.starts_with("error: the machine is too busy to measure on: "), "{said}");
    assert!(!out.exists(), "nothing was measured");
}
