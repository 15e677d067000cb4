//! What the kernel says of a cell, seen from outside: the process group's threads, descriptors and
//! mappings, and the counters of the machine that tell which limit was met.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use rustix::process::getuid;
use serde::{Deserialize, Serialize};

use crate::cgroup::Group;

mod accept_queue;
mod allocator;
mod cpu;
mod slab;
mod tree;

pub(crate) use accept_queue::{AcceptQueues, waiting as waiting_to_be_accepted};
pub(crate) use allocator::allocator;
pub(crate) use cpu::{CpuAccount, CpuUse};
#[cfg(test)]
pub(crate) use slab::Cache;
pub(crate) use slab::{Slab, slab};
pub(crate) use tree::{Tree, descriptors, tree};

/// One look at a process group and at the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) processes: u64,
    /// Of all processes of the group.
    pub(crate) threads: u64,
    /// Open descriptors of the process that has most: the limit is per process.
    pub(crate) descriptors: u64,
    /// Mappings of the process that has most: the limit is per process.
    pub(crate) mappings: u64,
    /// Of all processes of the group; shared pages count in each.
    pub(crate) rss_bytes: u64,
    /// Threads of the whole machine.
    pub(crate) machine_threads: Option<u64>,
    /// Threads of the control group, which those of the harness are in too.
    pub(crate) cgroup_threads: Option<u64>,
    /// Threads of the user who runs this; none of root, whom the limit on them does not bind.
    pub(crate) user_threads: Option<u64>,
    pub(crate) memory_available_bytes: Option<u64>,
}

/// Looks at the process group that `leader` leads. What cannot be read counts as none: a process may end meanwhile.
pub(crate) fn group(leader: u32) -> Sample {
    let mut sample = Sample {
        machine_threads: machine_threads(),
        cgroup_threads: Group::read(Path::new("/")).pids_now,
        user_threads: user_threads(),
        memory_available_bytes: memory_available_bytes(),
        ..Sample::default()
    };
    for pid in members(leader) {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok())
        };
        sample.processes += 1;
        sample.threads += field("Threads:").unwrap_or(0);
        sample.rss_bytes += field("VmRSS:").unwrap_or(0) * 1024;
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        sample.descriptors = sample.descriptors.max(as_u64(descriptors));
        sample.mappings = sample.mappings.max(lines(&format!("/proc/{pid}/maps")));
    }
    sample
}

/// Whether a child has neither ended, whether it was waited for or not, nor been stopped by a signal.
pub(crate) fn is_running(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X', 'T']))
}

/// The threads of one process: a look that costs next to nothing.
pub(crate) fn threads(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok())
}

/// The processes of a group, by the fifth field of their `stat`.
pub(crate) fn members(leader: u32) -> Vec<u32> {
    let in_group = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name, in parentheses, may hold anything.
        let group = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(2));
        group.and_then(|group| group.parse().ok()) == Some(leader)
    };
    every_process().filter(in_group).collect()
}

fn every_process() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
}

/// The threads that count against RLIMIT_NPROC of this user.
fn user_threads() -> Option<u64> {
    let own = getuid();
    if own.is_root() {
        return None;
    }
    let of = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let user: u32 = field("Uid:")?.split_whitespace().next()?.parse().ok()?;
        if user == own.as_raw() { field("Threads:")?.trim().parse::<u64>().ok() } else { None }
    };
    Some(every_process().filter_map(of).sum())
}

/// `0.20 0.18 0.12 1/80 11206`: the number after the slash.
fn machine_threads() -> Option<u64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').nth(3)?.split_once('/')?.1.parse().ok()
}

/// Processes that the out-of-memory killer has killed: of this control group, or of the machine where the group does not
/// count them.
pub(crate) fn oom_kills() -> Option<u64> {
    let of_the_machine = || {
        let text = fs::read_to_string("/proc/vmstat").ok()?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    };
    Group::read(Path::new("/")).oom_kills.or_else(of_the_machine)
}

pub(crate) fn memory_available_bytes() -> Option<u64> {
    memory_field("MemAvailable:")
}

/// One field of `/proc/meminfo`, in bytes.
pub(crate) fn memory_field(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib: u64 =
        text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())?;
    Some(kib * 1024)
}

/// Counts lines without keeping them: a process may have 65,000 mappings.
fn lines(path: &str) -> u64 {
    let Ok(mut file) = File::open(path) else { return 0 };
    let mut buffer = [0; 64 * 1024];
    let mut count = 0;
    while let Ok(length @ 1..) = file.read(&mut buffer) {
        count += as_u64(buffer[..length].iter().filter(|byte| **byte == b'\n').count());
    }
    count
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_with_its_group() {
        let own = rustix::process::getpgrp().as_raw_nonzero().get().unsigned_abs();
        let sample = group(own);
        assert!(sample.processes >= 1 && sample.threads >= sample.processes, "{sample:?}");
        assert!(sample.descriptors >= 3 && sample.mappings > 10 && sample.rss_bytes > 0, "{sample:?}");
        assert!(sample.machine_threads >= Some(sample.threads), "{sample:?}");
    }

    #[test]
    fn a_group_that_is_gone_has_nothing() {
        assert_eq!(group(u32::MAX).processes, 0);
    }
}
