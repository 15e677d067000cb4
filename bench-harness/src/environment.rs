//! What a run was made on and with: `run.json`. What is not available is null, never 0.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use cell_protocol::{Description, REVISION};
use rustix::process::{Resource, getrlimit, getuid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::aa::NoiseFloor;
use crate::cgroup::Group;
use crate::cpu_time::{self, CpuTimes};
use crate::limit::{MachineLimits, ThreadLimit, Threads};
use crate::place::CpusBy;
use crate::sample::memory_field;

/// The whole of `run.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Run {
    /// The version of this format.
    pub(crate) format: u32,
    /// As it was typed, without the directory of the executable.
    pub(crate) command: Vec<String>,
    /// In UTC, by RFC 3339.
    pub(crate) started_at: String,
    /// Null until the run has ended.
    pub(crate) ended_at: Option<String>,
    /// Some cells are missing: the run was interrupted, or it failed.
    pub(crate) partial: bool,
    /// Why it failed.
    #[serde(default)]
    pub(crate) error: Option<String>,
    /// Of the order of cells and of the requests.
    pub(crate) seed: u64,
    /// Of each runtime; one number for each of `cpus`.
    pub(crate) workers: Vec<usize>,
    /// The numbers of CPUs on which every cell was repeated; empty for all CPUs of the harness.
    pub(crate) cpus: Vec<usize>,
    /// How cells were kept to these.
    #[serde(default)]
    pub(crate) cpus_by: Vec<CpusBy>,
    /// `quick` or `full`, or `aa`.
    pub(crate) size: String,
    /// What was run, by name.
    pub(crate) experiments: Vec<String>,
    /// What the values of these experiments were, and of the server that all share.
    #[serde(default)]
    pub(crate) definition: BTreeMap<String, Value>,
    /// Each time that the run was interrupted and went on.
    #[serde(default)]
    pub(crate) resumed: Vec<Resumption>,
    pub(crate) build: Build,
    pub(crate) machine: Machine,
    pub(crate) noise_before: Noise,
    /// Null until the run has ended.
    pub(crate) noise_after: Option<Noise>,
    /// What differs by less than this is a tie, where somebody has measured it.
    #[serde(default)]
    pub(crate) noise_floor: Option<NoiseFloor>,
    /// What each runtime says of itself, library versions included.
    pub(crate) runtimes: Vec<Description>,
    /// Executables that are named like runners and could not be used.
    pub(crate) problems: Vec<String>,
    /// What was wrong with the files of this run when they were read.
    #[serde(skip)]
    pub(crate) warnings: Vec<String>,
}

/// A later start of the same run: what it found, and what else went on then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Resumption {
    /// In UTC, by RFC 3339.
    pub(crate) at: String,
    /// Cells that were finished, and were not measured again.
    pub(crate) cells_kept: u64,
    /// All cells of the plan.
    pub(crate) cells: u64,
    /// Rows of cells that were cut short, which were measured again.
    pub(crate) rows_dropped: u64,
    pub(crate) noise: Noise,
}

/// What the harness was built with and from.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Build {
    /// The git revision.
    pub(crate) revision: String,
    /// Whether the tree had changes, where the run was started in the tree that the harness was built from.
    pub(crate) dirty: Option<bool>,
    /// What `rustc --version` said.
    pub(crate) rustc: Option<String>,
    /// Cargo's profile, `release`.
    pub(crate) profile: Option<String>,
    /// The name that git has for `Cargo.lock`.
    pub(crate) lock_hash: Option<String>,
}

/// What the machine is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Machine {
    /// `kernel.osrelease`.
    pub(crate) kernel: Option<String>,
    /// The processor's own name.
    pub(crate) cpu: Option<String>,
    /// CPUs that this process may use.
    pub(crate) cpus: Option<usize>,
    /// CPUs that there are, such as `0-3`.
    pub(crate) cpus_online: Option<String>,
    /// CPUs that this process may run on, whatever a quota leaves of them.
    pub(crate) cpus_affinity: Option<u32>,
    /// `MemTotal`.
    pub(crate) memory_bytes: Option<u64>,
    /// Rounds of the compute kernel in a microsecond of CPU time: by this, durations of computing become rounds.
    pub(crate) rounds_per_us: Option<f64>,
    /// What sets the frequency of the first CPU.
    pub(crate) governor: Option<String>,
    /// Whether the processor may go above its nominal frequency.
    pub(crate) turbo: Option<bool>,
    /// What the kernel takes the time from.
    pub(crate) clocksource: Option<String>,
    /// `always`, `madvise` or `never`.
    pub(crate) transparent_hugepages: Option<String>,
    pub(crate) cgroup: Group,
    /// `RLIMIT_NOFILE`; null is no limit.
    pub(crate) descriptors_soft: Option<u64>,
    /// What the soft limit can be raised to; null is no limit.
    pub(crate) descriptors_hard: Option<u64>,
    /// `RLIMIT_NPROC`; null is no limit.
    pub(crate) processes_soft: Option<u64>,
    /// Whether root ran it, whom `processes_soft` does not bind.
    pub(crate) is_root: Option<bool>,
    /// `RLIMIT_STACK`; null is no limit.
    pub(crate) stack_soft_bytes: Option<u64>,
    /// `vm.max_map_count`: the most mappings of a process.
    pub(crate) max_map_count: Option<u64>,
    /// `kernel.pid_max`: threads have such numbers too.
    pub(crate) pid_max: Option<u64>,
    /// `kernel.threads-max`.
    pub(crate) threads_max: Option<u64>,
    /// `net.ipv4.ip_local_port_range`, `32768-60999`.
    pub(crate) port_range: Option<String>,
    /// `net.core.somaxconn`: the longest accept queue.
    pub(crate) somaxconn: Option<u64>,
    /// `net.ipv4.tcp_max_syn_backlog`.
    pub(crate) tcp_max_syn_backlog: Option<u64>,
    /// `vm.overcommit_memory`: 0, 1 or 2.
    pub(crate) overcommit_memory: Option<u64>,
    /// `fs.nr_open`: what the hard limit on descriptors can be raised to.
    pub(crate) nr_open: Option<u64>,
    /// `kernel.perf_event_paranoid`: who may read counters.
    pub(crate) perf_event_paranoid: Option<i64>,
    /// `kernel.randomize_va_space`: whether addresses are random.
    pub(crate) randomize_va_space: Option<u64>,
    /// Whether `/proc/slabinfo` can be read.
    pub(crate) slabinfo: Option<bool>,
    /// Whether the kernel tells how long a thread has waited on run queues.
    pub(crate) schedstat: Option<bool>,
    /// Whether the kernel tells the pressure on CPUs.
    pub(crate) pressure: Option<bool>,
}

/// What else went on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Noise {
    /// Tasks that ran or wanted to, over the last minute.
    pub(crate) load_1min: Option<f64>,
    /// Ticks, of 10 ms by default, that the hypervisor gave to others since the start of the machine.
    pub(crate) steal_ticks: Option<u64>,
    /// All ticks since the start of the machine.
    pub(crate) cpu_ticks: Option<u64>,
    /// Microseconds in which some task waited for a CPU.
    pub(crate) cpu_pressure_us: Option<u64>,
    /// Periods in which a quota held the control group back.
    pub(crate) throttled_periods: Option<u64>,
}

impl Run {
    /// What else went on when what runs now was started.
    pub(crate) fn noise_at_start(&self) -> &Noise {
        self.resumed.last().map_or(&self.noise_before, |resumed| &resumed.noise)
    }
}

impl Build {
    pub(crate) fn read() -> Build {
        let told = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Build {
            revision: REVISION.to_owned(),
            dirty: dirty(),
            rustc: told(env!("BUILD_RUSTC")),
            profile: told(env!("BUILD_PROFILE")),
            lock_hash: told(env!("BUILD_LOCK_HASH")),
        }
    }
}

impl Machine {
    pub(crate) fn read() -> Machine {
        let sysctl = |name: &str| text(&format!("/proc/sys/{name}"));
        let number = |name: &str| sysctl(name).and_then(|text| text.parse().ok());
        let is_readable = |path: &str| Some(text(path).is_some());
        let descriptors = getrlimit(Resource::Nofile);
        let stack = getrlimit(Resource::Stack);
        Machine {
            kernel: sysctl("kernel/osrelease"),
            cpu: text("/proc/cpuinfo").and_then(|info| {
                let line = info.lines().find(|line| line.starts_with("model name"))?;
                Some(line.split_once(':')?.1.trim().to_owned())
            }),
            cpus: std::thread::available_parallelism().ok().map(usize::from),
            cpus_online: text("/sys/devices/system/cpu/online"),
            cpus_affinity: rustix::thread::sched_getaffinity(None).ok().map(|set| set.count()),
            memory_bytes: memory_field("MemTotal:"),
            rounds_per_us: Some(conformance::rounds_per_us()),
            governor: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            turbo: turbo(),
            clocksource: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            transparent_hugepages: text("/sys/kernel/mm/transparent_hugepage/enabled")
                .map(|all| bracketed(&all)),
            cgroup: Group::read(Path::new("/")),
            descriptors_soft: descriptors.current,
            descriptors_hard: descriptors.maximum,
            processes_soft: getrlimit(Resource::Nproc).current,
            is_root: Some(getuid().is_root()),
            stack_soft_bytes: stack.current,
            max_map_count: number("vm/max_map_count"),
            pid_max: number("kernel/pid_max"),
            threads_max: number("kernel/threads-max"),
            port_range: sysctl("net/ipv4/ip_local_port_range").map(|range| range.replace('\t', "-")),
            somaxconn: number("net/core/somaxconn"),
            tcp_max_syn_backlog: number("net/ipv4/tcp_max_syn_backlog"),
            overcommit_memory: number("vm/overcommit_memory"),
            nr_open: number("fs/nr_open"),
            perf_event_paranoid: sysctl("kernel/perf_event_paranoid").and_then(|text| text.parse().ok()),
            randomize_va_space: number("kernel/randomize_va_space"),
            slabinfo: is_readable("/proc/slabinfo"),
            schedstat: is_readable("/proc/thread-self/schedstat"),
            pressure: is_readable("/proc/pressure/cpu"),
        }
    }

    /// The limits that may end a ramp.
    pub(crate) fn limits(&self) -> MachineLimits {
        let of_the_user = self.processes_soft.filter(|_| self.is_root == Some(false));
        let threads = [
            (self.pid_max, Threads::Machine, "kernel.pid_max"),
            (self.threads_max, Threads::Machine, "kernel.threads-max"),
            (of_the_user, Threads::User, "RLIMIT_NPROC"),
            (self.cgroup.pids_max, Threads::ControlGroup, "cgroup pids.max"),
        ];
        let known =
            threads.into_iter().filter_map(|(max, of, source)| Some(ThreadLimit { max: max?, of, source }));
        MachineLimits {
            descriptors: self.descriptors_soft,
            mappings: self.max_map_count,
            threads: known.collect(),
            memory_bytes: self.memory_bytes,
            accept_backlog: self.somaxconn,
        }
    }
}

impl Noise {
    pub(crate) fn read() -> Noise {
        let ticks = CpuTimes::read().map(|times| times.all);
        Noise {
            load_1min: text("/proc/loadavg").and_then(|load| load.split(' ').next()?.parse().ok()),
            steal_ticks: ticks.map(|ticks| ticks.steal),
            cpu_ticks: ticks.map(|ticks| ticks.total),
            cpu_pressure_us: text("/proc/pressure/cpu")
                .and_then(|pressure| pressure.lines().next()?.rsplit_once("total=")?.1.parse().ok()),
            throttled_periods: Group::read(Path::new("/")).throttled_periods,
        }
    }

    /// The share of all CPU time from `earlier` to here that the hypervisor gave to others.
    pub(crate) fn steal_share_since(&self, earlier: &Noise) -> Option<f64> {
        cpu_time::share(self.steal_ticks?, earlier.steal_ticks?, self.cpu_ticks?, earlier.cpu_ticks?)
    }
}

/// `2025-12-02T09:14:03Z`
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Whether the tree in which the harness was started has changes; not known where that is another tree.
fn dirty() -> Option<bool> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if git(&["rev-parse", "HEAD"])? != REVISION {
        return None;
    }
    git(&["status", "--porcelain"]).map(|changes| !changes.is_empty())
}

/// Intel's driver says whether it is off, the others whether it is on.
fn turbo() -> Option<bool> {
    let of = |path: &str, on: &str| text(&format!("/sys/devices/system/cpu/{path}")).map(|text| text == on);
    of("intel_pstate/no_turbo", "0").or_else(|| of("cpufreq/boost", "1"))
}

/// `always [madvise] never`: the one in brackets.
fn bracketed(all: &str) -> String {
    all.split(['[', ']']).nth(1).unwrap_or(all).to_owned()
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_null() {
        let text = serde_json::to_string(&Noise::default()).unwrap();
        assert!(text.contains(r#""steal_ticks":null"#), "{text}");
        assert_eq!(Noise::default().steal_share_since(&Noise::default()), None);
    }

    #[test]
    fn the_tightest_limit_on_threads_is_known_and_root_has_none_of_its_own() {
        let mut machine = Machine::read();
        (machine.pid_max, machine.threads_max) = (Some(32_768), Some(100_000));
        (machine.processes_soft, machine.cgroup.pids_max) = (Some(256), Some(512));
        machine.is_root = Some(false);
        assert_eq!(machine.limits().threads_max(), Some(256));
        machine.is_root = Some(true);
        assert_eq!(machine.limits().threads_max(), Some(512));
        machine.cgroup.pids_max = None;
        assert_eq!(machine.limits().threads_max(), Some(32_768));
    }

    #[test]
    fn steal_is_a_share_of_all_ticks() {
        let at = |steal, all| Noise { steal_ticks: Some(steal), cpu_ticks: Some(all), ..Noise::default() };
        assert_eq!(at(15, 1_000).steal_share_since(&at(5, 500)), Some(0.02));
        assert_eq!(bracketed("always [madvise] never"), "madvise");
    }
}
