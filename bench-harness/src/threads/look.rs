//! One look at a process and its children: what the kernel says of each of their threads at that instant.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use procfs::FromRead;
use procfs::process::{Schedstat, Stat};
use rustix::io::Errno;

use super::State;

/// Where processes are looked at: `/proc`, but in tests.
#[derive(Debug)]
pub(crate) struct Proc {
    root: PathBuf,
}

/// What was seen of a process.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) name: String,
    pub(super) at: Instant,
    /// Of all of its threads, those that have ended among them, in ticks.
    pub(super) ticks: u64,
    pub(super) main_stack_bytes: Option<u64>,
    pub(super) resident_bytes: Option<u64>,
    /// By their number.
    pub(super) threads: BTreeMap<u32, Thread>,
}

/// What was seen of a thread.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) at: Instant,
    pub(super) name: String,
    pub(super) state: State,
    /// When it started, in ticks since the machine did. A number is used again, and then this is another one.
    pub(super) started_ticks: u64,
    pub(super) user_ticks: u64,
    pub(super) system_ticks: u64,
    /// On a CPU, where the kernel tells it to the nanosecond.
    pub(super) on_cpu_ns: Option<u64>,
    pub(super) voluntary_switches: Option<u64>,
    pub(super) involuntary_switches: Option<u64>,
    pub(super) waits_in: Option<String>,
}

/// Why a process could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    /// There is none, or not any more.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// It is another user's, and the kernel hides it.
    #[error("process {0} cannot be looked at: {1}")]
    Hidden(u32, io::Error),
    /// The kernel says what it does not say elsewhere.
    #[error("{0} is not what proc(5) says")]
    Unknown(PathBuf),
}

impl Proc {
    pub(crate) fn new() -> Proc {
        Proc { root: PathBuf::from("/proc") }
    }

    #[cfg(test)]
    pub(super) fn at(root: &Path) -> Proc {
        Proc { root: root.to_owned() }
    }

    /// The process that a thread is of: a number of a thread is one that `/proc` knows too.
    pub(crate) fn process_of(&self, pid: u32) -> Result<u32, LookError> {
        let path = self.root.join(pid.to_string()).join("status");
        let status = text(&path).map_err(|error| why(pid, error))?;
        let process = field(&status, "Tgid:").and_then(|number| u32::try_from(number).ok());
        process.ok_or(LookError::Unknown(path))
    }

    /// Looks at a process, and then at its children and theirs, but for `without` and what it started. What ends
    /// meanwhile is left out.
    pub(super) fn look(&self, pid: u32, without: u32) -> Result<Vec<Process>, LookError> {
        let children = self.children()?;
        let mut found = vec![self.process(pid)?];
        let mut open = vec![pid];
        while let Some(parent) = open.pop() {
            for child in children.get(&parent).into_iter().flatten().filter(|child| **child != without) {
                match self.process(*child) {
                    Ok(process) => found.push(process),
                    Err(LookError::NoProcess(_)) => {}
                    Err(error) => return Err(error),
                }
                open.push(*child);
            }
        }
        found[1..].sort_unstable_by_key(|process| process.pid);
        Ok(found)
    }

    /// The processes that each process has started. Those that nobody may see are nobody's.
    fn children(&self) -> Result<HashMap<u32, Vec<u32>>, LookError> {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for pid in numbers(&self.root).map_err(|_| LookError::Unknown(self.root.clone()))? {
            if let Ok(stat) = Stat::from_file(self.root.join(pid.to_string()).join("stat")) {
                children.entry(parent(&stat)).or_default().push(pid);
            }
        }
        Ok(children)
    }

    fn process(&self, pid: u32) -> Result<Process, LookError> {
        let directory = self.root.join(pid.to_string());
        let (at, stat) = (Instant::now(), stat(&directory).map_err(|error| why(pid, error))?);
        let stat = stat.ok_or_else(|| LookError::Unknown(directory.join("stat")))?;
        let status = text(&directory.join("status")).map_err(|error| why(pid, error))?;
        let tasks = directory.join("task");
        let mut threads = BTreeMap::new();
        for number in numbers(&tasks).map_err(|error| why(pid, error))? {
            match thread(&tasks.join(number.to_string())) {
                Ok(Some(thread)) => drop(threads.insert(number, thread)),
                Ok(None) => return Err(LookError::Unknown(tasks.join(number.to_string()).join("stat"))),
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(why(pid, error)),
            }
        }
        let kib = |name: &str| field(&status, name).map(|kib| kib * 1024);
        Ok(Process {
            pid,
            parent: parent(&stat),
            name: stat.comm,
            at,
            ticks: stat.utime + stat.stime,
            main_stack_bytes: kib("VmStk:"),
            resident_bytes: kib("VmRSS:"),
            threads,
        })
    }
}

/// Looks at one thread; none where its line is none.
fn thread(directory: &Path) -> io::Result<Option<Thread>> {
    let stat = stat(directory)?;
    // Beside each other, so that the time is that of what was used until then.
    let (schedstat, at) = (Schedstat::from_file(directory.join("schedstat")).ok(), Instant::now());
    let status = text(&directory.join("status"))?;
    let waits_in = text(&directory.join("wchan")).ok().map(|name| name.trim().to_owned());
    Ok(stat.map(|stat| Thread {
        at,
        name: stat.comm,
        state: State::of(stat.state),
        started_ticks: stat.starttime,
        user_ticks: stat.utime,
        system_ticks: stat.stime,
        on_cpu_ns: schedstat.map(|schedstat| schedstat.sum_exec_runtime),
        voluntary_switches: field(&status, "voluntary_ctxt_switches:"),
        involuntary_switches: field(&status, "nonvoluntary_ctxt_switches:"),
        // A 0 is what a thread has that does not wait, and what others may not see.
        waits_in: waits_in.filter(|name| !name.is_empty() && name != "0"),
    }))
}

/// The line of a process or thread; none where it is none.
fn stat(directory: &Path) -> io::Result<Option<Stat>> {
    let line = fs::read(directory.join("stat"))?;
    Ok(Stat::from_read(line.as_slice()).ok())
}

fn parent(stat: &Stat) -> u32 {
    u32::try_from(stat.ppid).unwrap_or(0)
}

/// The entries of a directory that are numbers, ascending.
fn numbers(directory: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The name of a thread may be any bytes, which is why what is in `status` is found here and not by `procfs`.
fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

fn field(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

fn why(pid: u32, error: io::Error) -> LookError {
    if is_gone(&error) { LookError::NoProcess(pid) } else { LookError::Hidden(pid, error) }
}
