//! What the calling thread has used so far: CPU time and context switches.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::HttpLoadError;
use crate::pace::thread_cpu_ns;

/// The file of the process would give the counts of its main thread.
const FILE: &str = "/proc/thread-self/status";
/// More than the file has on any kernel.
const FILE_BYTES_MAX: usize = 16 * 1024;

/// Reads the counters of the thread that made it.
#[derive(Debug)]
pub(super) struct UsageMeter {
    status: File,
}

impl UsageMeter {
    /// Opens the counters once, so that a later reading needs no descriptor where none may be left.
    pub(super) fn new() -> Result<Self, HttpLoadError> {
        let status = File::open(FILE).map_err(failed)?;
        Ok(Self { status })
    }

    /// Reads the counters; it takes some ten microseconds.
    pub(super) fn read(&self) -> Result<Usage, HttpLoadError> {
        let mut bytes = vec![0; FILE_BYTES_MAX];
        let length = self.status.read_at(&mut bytes, 0).map_err(failed)?;
        let status = String::from_utf8_lossy(&bytes[..length]);
        Ok(Usage {
            cpu_ns: thread_cpu_ns(),
            voluntary_switches: field(&status, "voluntary_ctxt_switches:"),
            involuntary_switches: field(&status, "nonvoluntary_ctxt_switches:"),
        })
    }
}

/// One reading: all since the thread began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) cpu_ns: u64,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
}

impl Usage {
    /// What was used since an earlier reading.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
        }
    }
}

fn failed(source: std::io::Error) -> HttpLoadError {
    HttpLoadError::System { call: FILE, source }
}

fn field(status: &str, name: &str) -> u64 {
    // Every kernel that this crate runs on has both lines.
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_a_voluntary_switch_and_no_cpu_time() {
        let meter = UsageMeter::new().expect("readable");
        let before = meter.read().expect("readable");
        std::thread::sleep(std::time::Duration::from_millis(20));
        let used = meter.read().expect("readable").since(before);
        assert!(used.voluntary_switches >= 1);
        assert!(used.cpu_ns < 15_000_000, "{used:?}");
    }

    #[test]
    fn one_name_is_not_taken_for_the_other() {
        let status = "voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(field(status, "voluntary_ctxt_switches:"), 12);
        assert_eq!(field(status, "nonvoluntary_ctxt_switches:"), 3);
    }
}
