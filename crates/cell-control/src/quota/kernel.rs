//! What the kernel says of processes and of their control group.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::hierarchy::{Version, group_of};

/// How often and for how long a quota held a group back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttled {
    /// Periods in which some of it ran.
    pub periods: u64,
    /// Periods in which it had used its quota up, and something was left to do.
    pub throttled_periods: u64,
    /// How long it was held back: summed over the CPUs on which it was.
    pub throttled: Duration,
}

impl Throttled {
    /// Version 1 tells the time in nanoseconds, version 2 in microseconds.
    pub(crate) fn read(group: &Path) -> Option<Throttled> {
        let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
        let number = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(key, _)| *key == name)?.1.trim().parse::<u64>().ok()
        };
        let in_ns = number("throttled_time").map(Duration::from_nanos);
        Some(Throttled {
            periods: number("nr_periods")?,
            throttled_periods: number("nr_throttled")?,
            throttled: in_ns.or_else(|| number("throttled_usec").map(Duration::from_micros))?,
        })
    }
}

/// The processes of a process group that have not ended.
pub(crate) fn members(leader: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_member = |pid: &u32| {
        let stat = stat(*pid).unwrap_or_default();
        let mut fields = stat.split(' ');
        // One that has ended and is not yet reaped is in no group any more.
        let has_ended = fields.next().is_none_or(|state| matches!(state, "Z" | "X"));
        !has_ended && fields.nth(1).and_then(|group| group.parse().ok()) == Some(leader)
    };
    pids.filter(is_member).collect()
}

/// Whether a process is in the group of this name.
pub(crate) fn is_in(pid: u32, name: &str, version: Version) -> bool {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    groups.lines().any(|line| group_of(line, version) == Some(name))
}

/// When a process began, in ticks since the machine did: with its id, that names one process.
pub(crate) fn began_ticks(pid: u32) -> Option<u64> {
    stat(pid)?.split(' ').nth(19)?.parse().ok()
}

/// From the state on, which is the third field: the name before it, in parentheses, may hold anything.
fn stat(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_tell_how_long_a_group_was_held_back() {
        let group = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            fs::write(group.path().join("cpu.stat"), text).unwrap();
            Throttled::read(group.path())
        };
        let expected =
            Throttled { periods: 9, throttled_periods: 4, throttled: Duration::from_micros(1_500) };
        let v1 = "nr_periods 9\nnr_throttled 4\nthrottled_time 1500000\nnr_bursts 0\n";
        assert_eq!(read(v1), Some(expected));
        let v2 = "usage_usec 77\nnr_periods 9\nnr_throttled 4\nthrottled_usec 1500\n";
        assert_eq!(read(v2), Some(expected));
        // Without a controller version 2 tells the usage alone.
        assert_eq!(read("usage_usec 77\nuser_usec 70\n"), None);
    }

    #[test]
    fn a_process_is_known_by_when_it_began() {
        let own = std::process::id();
        assert!(began_ticks(own).is_some_and(|ticks| ticks > 0));
        assert_eq!((began_ticks(u32::MAX), is_in(own, "/nowhere", Version::V1)), (None, false));
    }
}
