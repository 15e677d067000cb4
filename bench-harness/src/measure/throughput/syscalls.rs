//! Counts the system calls of a process and all its threads, where the kernel lets one: the tracepoint
//! `raw_syscalls:sys_enter` by `perf_event_open(2)`, which wants tracefs and the right to use it.

use std::fs;

use perf_event::events::Tracepoint;
use perf_event::{Builder, Counter as PerfCounter};

/// Where tracefs is mounted, the usual place first.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A counter for each thread that there is now; what those threads start is counted too.
pub(super) struct Counter {
    threads: Vec<PerfCounter>,
}

impl Counter {
    /// Starts to count.
    ///
    /// # Errors
    ///
    /// What the kernel does not let this process do.
    pub(super) fn start(leader: u32) -> Result<Counter, String> {
        let event = Tracepoint::with_id(tracepoint()?);
        let mut threads = Vec::new();
        for pid in crate::sample::members(leader) {
            for thread in tasks(pid) {
                let mut builder = Builder::new(event);
                builder.observe_pid(thread).any_cpu().inherit(true).include_kernel().include_hv();
                match builder.build() {
                    Ok(mut counter) => {
                        counter.enable().map_err(|error| error.to_string())?;
                        threads.push(counter);
                    }
                    // The thread has ended since.
                    Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
                    Err(error) => return Err(format!("perf_event_open: {error}")),
                }
            }
        }
        Ok(Counter { threads })
    }

    /// The calls so far.
    pub(super) fn read(&mut self) -> Result<u64, String> {
        let each = self.threads.iter_mut().map(|thread| thread.read().map_err(|error| error.to_string()));
        each.sum()
    }
}

/// The number that the kernel has for the event.
fn tracepoint() -> Result<u64, String> {
    let place = |root: &&str| format!("{root}/events/raw_syscalls/sys_enter/id");
    let text = TRACEFS.iter().find_map(|root| fs::read_to_string(place(root)).ok());
    let text = text.ok_or_else(|| {
        format!("cannot read {}: tracefs is not mounted, or not for this user", place(&TRACEFS[0]))
    })?;
    text.trim().parse().map_err(|error| format!("{}: {error}", place(&TRACEFS[0])))
}

fn tasks(pid: u32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}
