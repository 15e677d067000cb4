//! What the machine is: its processor, its kernel, and the limits that both set.

use std::path::Path;

use rustix::process::{Resource, getrlimit, getuid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text;
use crate::cgroup::Group;
use crate::limit::{MachineLimits, ThreadLimit, Threads};
use crate::sample::memory_field;

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

/// Intel's driver says whether it is off, the others whether it is on.
fn turbo() -> Option<bool> {
    let of = |path: &str, on: &str| text(&format!("/sys/devices/system/cpu/{path}")).map(|text| text == on);
    of("intel_pstate/no_turbo", "0").or_else(|| of("cpufreq/boost", "1"))
}

/// `always [madvise] never`: the one in brackets.
fn bracketed(all: &str) -> String {
    all.split(['[', ']']).nth(1).unwrap_or(all).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn of_several_words_the_one_in_brackets_is_meant() {
        assert_eq!(bracketed("always [madvise] never"), "madvise");
    }
}
