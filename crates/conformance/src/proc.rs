//! What the kernel says of a runner's processes: `/proc/PID/stat`, for a whole process group.

use std::fs;
use std::io;

use rustix::param::page_size;

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) group: u32,
    /// Whether it has ended and only waits to be reaped.
    pub(crate) ended: bool,
    pub(crate) threads: u64,
    pub(crate) resident_bytes: u64,
}

/// The processes of a group that have not ended.
pub(crate) fn group(leader: u32) -> io::Result<Vec<Process>> {
    let mut members = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process that has gone since the directory was read is none.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        members.extend(parse(pid, &stat).filter(|process| process.group == leader && !process.ended));
    }
    Ok(members)
}

/// The OS threads of a group.
pub(crate) fn threads(leader: u32) -> io::Result<u64> {
    Ok(group(leader)?.iter().map(|process| process.threads).sum())
}

/// The resident memory of a group, in bytes. Shared pages count for each process.
pub(crate) fn resident_bytes(leader: u32) -> io::Result<u64> {
    Ok(group(leader)?.iter().map(|process| process.resident_bytes).sum())
}

/// Fields as proc(5) numbers them, from 1; the second, the name, may hold spaces and brackets.
fn parse(pid: u32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    Some(Process {
        pid,
        group: field(5)?.parse().ok()?,
        ended: matches!(field(3)?, "Z" | "X"),
        threads: field(20)?.parse().ok()?,
        resident_bytes: field(24)?.parse::<u64>().ok()? * page_size() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_line_whose_name_has_brackets() {
        let line = "42 (a) b) S 1 40 40 0 -1 0 0 0 0 0 0 0 0 0 20 0 7 0 100 1000 3 0";
        let process = parse(42, line).unwrap();
        assert_eq!((process.group, process.ended, process.threads), (40, false, 7));
        assert_eq!(process.resident_bytes, 3 * page_size() as u64);
        assert!(parse(42, &line.replace(" S ", " Z ")).unwrap().ended);
        assert_eq!(parse(42, "42 (a) S 1"), None);
    }

    #[test]
    fn this_process_is_in_its_group() {
        let group_of_this = rustix::process::getpgrp().as_raw_nonzero().get().unsigned_abs();
        let members = group(group_of_this).unwrap();
        assert!(members.iter().any(|process| process.pid == std::process::id() && process.threads > 0));
    }
}
