//! A quota of CPU time for a cell: a control group of its own, from before its runner joins it until all of it has ended.
//!
//! Of groups that a killed harness left, the name tells: it has the harness's process id, and when that process began.

mod hierarchy;
mod kernel;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::Access;
use rustix::process::{Pid, Signal, getpid, kill_process};

use hierarchy::Hierarchy;
pub use kernel::Throttled;

/// In each period a group may use its quota. The kernel's own default.
pub const QUOTA_PERIOD: Duration = Duration::from_millis(100);
/// What groups of cells are called, before the numbers of their harness.
const PREFIX: &str = "bench-harness-";
/// How long a group may take to be empty, when its processes have been killed.
const EMPTY_LIMIT: Duration = Duration::from_secs(2);

/// Of this process: each has a number of its own.
static MADE: AtomicU64 = AtomicU64::new(0);
/// The groups that are there, for a harness that ends at once.
static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Why a cell cannot have a quota of CPU time. Displayed, it is one line that says what would be right.
#[derive(Debug, thiserror::Error)]
pub enum QuotaError {
    /// The kernel has no such controller, or nobody has mounted it.
    #[error("this process is in no control group with the cpu controller; mount one of cgroup v1 or v2")]
    NoController,
    /// The mount begins below this process's group.
    #[error(
        "this process's control group {group} is not to be seen where cgroups are mounted; mount all of them"
    )]
    OutOfSight {
        /// The group as the kernel names it.
        group: String,
    },
    /// Version 2, and no group from this process's own up to the top has the controller for others.
    #[error(
        "no control group of this process hands the cpu controller down (cgroup.subtree_control); \
         run in `systemd-run --scope -p Delegate=cpu`"
    )]
    NotHandedDown,
    /// No group can be made, or it takes no quota.
    #[error("cannot make a control group with a quota in {}: {source}; run as root, or where cgroups can be written", directory.display())]
    Make {
        /// The group in which it would be.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A group above has a quota that is smaller.
    #[error(
        "a quota of {cpus} CPUs is more than the {allowed} that the control groups above have; ask for fewer CPUs"
    )]
    Above {
        /// What was asked for.
        cpus: u64,
        /// What there is.
        allowed: f64,
    },
}

/// A place in which groups with a quota can be made.
#[derive(Debug)]
pub struct ControlGroups {
    hierarchy: Hierarchy,
    /// `PID-START`, of this process.
    owner: String,
}

/// A control group with a quota of CPU time. Dropping it ends what is left in it, and removes it.
#[derive(Debug)]
pub struct ControlGroup {
    hierarchy: Hierarchy,
    directory: PathBuf,
    /// As `/proc/PID/cgroup` has it.
    name: String,
    cpus: u64,
}

/// What a quota was for a cell that has ended.
#[derive(Clone, Debug)]
pub struct Held {
    /// The CPU time that was asked for, in CPUs.
    pub cpus: u64,
    /// In each period the cell had its quota.
    pub period: Duration,
    /// The CPU time of a period that the kernel says, at the end; none where it says nothing.
    pub quota: Option<Duration>,
    /// The runner's processes: when it was ready or when it was told to stop, whichever had more of them outside.
    pub processes: u64,
    /// Those of them that the kernel had in the group.
    pub processes_inside: u64,
    /// How often and for how long it was held back.
    pub throttled: Option<Throttled>,
    /// From before the runner was started until it was reaped.
    pub wall: Duration,
}

impl ControlGroups {
    /// Looks for the place. `root` is `/` but in tests.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be written.
    pub fn find(root: &Path) -> Result<ControlGroups, QuotaError> {
        let hierarchy = Hierarchy::find(root)?;
        rustix::fs::access(&hierarchy.directory, Access::WRITE_OK).map_err(|errno| QuotaError::Make {
            directory: hierarchy.directory.clone(),
            source: errno.into(),
        })?;
        let own = getpid().as_raw_nonzero().get().unsigned_abs();
        let began = kernel::began_ticks(own).unwrap_or(0);
        Ok(ControlGroups { hierarchy, owner: format!("{own}-{began}") })
    }

    /// The group in which groups are made.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.hierarchy.directory
    }

    /// `v1` or `v2`.
    #[must_use]
    pub fn version(&self) -> &'static str {
        self.hierarchy.version.name()
    }

    /// Makes a group that may use so many CPUs' time.
    ///
    /// # Errors
    ///
    /// The kernel does not let it be made, or it would have less than was asked for.
    pub fn make(&self, cpus: u64) -> Result<ControlGroup, QuotaError> {
        // Less than a thousandth is how the kernel rounds.
        #[expect(clippy::cast_precision_loss, reason = "a number of CPUs is small")]
        if let Some(allowed) = self.hierarchy.cpus_allowed().filter(|allowed| allowed + 1e-3 < cpus as f64) {
            return Err(QuotaError::Above { cpus, allowed });
        }
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let own = format!("{PREFIX}{}-{number}", self.owner);
        let group = ControlGroup {
            directory: self.hierarchy.directory.join(&own),
            name: self.hierarchy.name_of(&own),
            hierarchy: self.hierarchy.clone(),
            cpus,
        };
        let failed = |source| QuotaError::Make { directory: self.hierarchy.directory.clone(), source };
        live().insert(group.directory.clone());
        // From here on, dropping it undoes what was done.
        fs::create_dir(&group.directory).map_err(failed)?;
        let period_us = us(QUOTA_PERIOD);
        let set =
            self.hierarchy.version.set_quota_us(&group.directory, period_us.saturating_mul(cpus), period_us);
        set.map_err(failed)?;
        Ok(group)
    }

    /// Removes the groups of harnesses that are gone, and says how many. One that is not empty stays.
    pub fn remove_left(&self) -> usize {
        let entries = fs::read_dir(&self.hierarchy.directory).into_iter().flatten().flatten();
        let is_left = |name: &str| {
            let mut numbers = name.strip_prefix(PREFIX)?.split('-');
            let (pid, began) = (numbers.next()?.parse().ok()?, numbers.next()?.parse::<u64>().ok()?);
            Some(kernel::began_ticks(pid) != Some(began))
        };
        let left = entries.filter(|entry| entry.file_name().to_str().and_then(is_left) == Some(true));
        left.filter(|entry| fs::remove_dir(entry.path()).is_ok()).count()
    }
}

impl ControlGroup {
    /// Its directory: who writes to `cgroup.procs` there joins it.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The CPU time that it may use, in CPUs.
    #[must_use]
    pub fn cpus(&self) -> u64 {
        self.cpus
    }

    /// How often and for how long it was held back by now.
    #[must_use]
    pub fn throttled(&self) -> Option<Throttled> {
        Throttled::read(&self.directory)
    }

    /// How many processes a process group has, and how many of them the kernel has in this control group.
    pub(crate) fn look(&self, leader: u32) -> Look {
        let processes = kernel::members(leader);
        let is_inside = |pid: &u32| kernel::is_in(*pid, &self.name, self.hierarchy.version);
        Look {
            inside: count(processes.iter().filter(|pid| is_inside(pid)).count()),
            all: count(processes.len()),
        }
    }

    /// What came of it, when the cell has ended.
    pub(crate) fn held(&self, looks: [Look; 2], wall: Duration) -> Held {
        let [first, last] = looks;
        let worst = if first.outside() > last.outside() { first } else { last };
        let quota = self.hierarchy.version.quota_us(&self.directory);
        Held {
            cpus: self.cpus,
            period: QUOTA_PERIOD,
            quota: quota.map(|(quota_us, period_us)| {
                // By the period that was asked for, whatever the kernel has.
                Duration::from_micros(quota_us.saturating_mul(us(QUOTA_PERIOD)) / period_us.max(1))
            }),
            processes: worst.all,
            processes_inside: worst.inside,
            throttled: self.throttled(),
            wall,
        }
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        remove(&self.directory, Instant::now() + EMPTY_LIMIT);
        live().remove(&self.directory);
    }
}

/// Which of a runner's processes the kernel had in their group.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    all: u64,
    inside: u64,
}

impl Look {
    fn outside(self) -> u64 {
        self.all.saturating_sub(self.inside)
    }
}

/// Removes the group of every cell, and kills what is in it. For a harness that is about to exit.
pub(crate) fn remove_every_group() {
    let deadline = Instant::now() + EMPTY_LIMIT;
    let all = live().clone();
    all.iter().for_each(|directory| remove(directory, deadline));
}

/// Removes a group as soon as no process is left in it, which is when those that are there have been killed.
fn remove(directory: &Path, deadline: Instant) {
    while let Err(error) = fs::remove_dir(directory) {
        if error.kind() != ErrorKind::ResourceBusy || Instant::now() >= deadline {
            return;
        }
        let left = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
        for pid in left.lines().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            // It is in a group that was made for one cell alone, or it is gone.
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn live() -> std::sync::MutexGuard<'static, BTreeSet<PathBuf>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn us(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
