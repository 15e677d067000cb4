//! Each limit of the machine: its value, what it caps, and how to raise it. From what was read of the machine alone, so
//! that other machines can be told of in tests.

use load_driver::http::SOURCE_ADDRESSES;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::environment::Machine;
use crate::format::count;
use crate::limit::ThreadLimit;

/// One limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Limit {
    pub(crate) name: &'static str,
    /// By name; null is not available, and "unlimited" is what it says.
    pub(crate) values: Map<String, Value>,
    /// What it caps here.
    pub(crate) caps: String,
    /// How to raise it.
    pub(crate) raise: String,
}

/// A thread takes some four mappings: its stack, the stack's guard, and its signal stack with a guard.
const MAPPINGS_PER_THREAD: u64 = 4;
/// A coroutine with a stack of its own takes two: the stack and its guard.
const MAPPINGS_PER_COROUTINE: u64 = 2;
/// What a process has open beside its connections.
const DESCRIPTORS_OF_ITS_OWN: u64 = 32;

/// The limits of a machine.
pub(crate) fn of(machine: &Machine) -> Vec<Limit> {
    let parts = [
        descriptors,
        threads,
        mappings,
        memory,
        ports,
        accept_queue,
        cpus,
        stacks,
        frequency,
        clock,
        huge_pages,
        address_space,
        kernel_memory,
        counters,
        waits,
    ];
    parts.iter().map(|part| part(machine)).collect()
}

fn descriptors(machine: &Machine) -> Limit {
    let caps = match machine.descriptors_soft {
        Some(soft) => format!(
            "a server of one process holds some {} connections, and so does one process of the load client, which \
             therefore has several; each process of a prefork server has as many again",
            count(soft.saturating_sub(DESCRIPTORS_OF_ITS_OWN))
        ),
        None => "nothing: a process may hold as many connections as memory allows".to_owned(),
    };
    let highest = machine.nr_open.map(|most| format!(" (here {})", count(most))).unwrap_or_default();
    limit(
        "open descriptors of a process",
        [("soft", unlimited(machine.descriptors_soft)), ("hard", unlimited(machine.descriptors_hard))],
        caps,
        format!(
            "ulimit -n N, up to the hard limit; the hard one in limits.conf or the service's LimitNOFILE=, up to \
             fs.nr_open{highest}"
        ),
    )
}

fn threads(machine: &Machine) -> Limit {
    let caps = match machine.limits().threads.into_iter().min_by_key(|limit| limit.max) {
        Some(ThreadLimit { max: most, source, .. }) => format!(
            "{source} is the tightest: all processes that it counts have {} threads together, so a thread for each request ends there",
            count(most)
        ),
        None => "nothing that is known".to_owned(),
    };
    limit(
        "threads",
        [
            ("kernel.pid_max", machine.pid_max.into()),
            ("kernel.threads-max", machine.threads_max.into()),
            ("RLIMIT_NPROC", unlimited(machine.processes_soft)),
            ("cgroup pids.max", of_group(machine, machine.cgroup.pids_max)),
            ("cgroup pids.current", machine.cgroup.pids_now.into()),
        ],
        caps,
        "sysctl kernel.pid_max and kernel.threads-max; ulimit -u; the service's TasksMax= or the container's pids limit",
    )
}

fn mappings(machine: &Machine) -> Limit {
    let caps = machine.max_map_count.map_or_else(unknown, |most| {
        format!(
            "one process has some {} OS threads ({MAPPINGS_PER_THREAD} mappings each) or {} coroutines with stacks of \
             their own ({MAPPINGS_PER_COROUTINE} each)",
            count(most / MAPPINGS_PER_THREAD),
            count(most / MAPPINGS_PER_COROUTINE)
        )
    });
    let values = [("vm.max_map_count", machine.max_map_count.into())];
    limit("mappings of a process", values, caps, "sysctl vm.max_map_count=N")
}

fn memory(machine: &Machine) -> Limit {
    let caps = machine.limits().memory_bytes.map_or_else(unknown, |bytes| {
        format!("capacity and memory cells end where {} MiB are used", count(bytes >> 20))
    });
    limit(
        "memory",
        [
            ("bytes", machine.memory_bytes.into()),
            ("cgroup max bytes", of_group(machine, machine.cgroup.memory_max_bytes)),
        ],
        caps,
        "memory.max of the control group (memory.limit_in_bytes in version 1), or more memory",
    )
}

fn ports(machine: &Machine) -> Limit {
    let ports = machine.port_range.as_deref().and_then(|range| {
        let (first, last) = range.split_once('-')?;
        last.trim().parse::<u64>().ok()?.checked_sub(first.trim().parse().ok()?)?.checked_add(1)
    });
    let sources = u64::from(SOURCE_ADDRESSES);
    let caps = ports.map_or_else(unknown, |ports| {
        format!(
            "{} connections for each pair of client and server address; the load client takes {sources} addresses in \
             turn, so {} to one server",
            count(ports),
            count(ports * sources)
        )
    });
    limit(
        "ephemeral ports",
        [("range", machine.port_range.clone().into()), ("for each address pair", ports.into())],
        caps,
        "sysctl net.ipv4.ip_local_port_range",
    )
}

fn accept_queue(machine: &Machine) -> Limit {
    let caps = machine.somaxconn.map_or_else(unknown, |most| {
        format!("a server's listen backlog is at most {}, whatever it asks for", count(most))
    });
    limit(
        "accept queue",
        [
            ("net.core.somaxconn", machine.somaxconn.into()),
            ("net.ipv4.tcp_max_syn_backlog", machine.tcp_max_syn_backlog.into()),
        ],
        caps,
        "sysctl net.core.somaxconn and net.ipv4.tcp_max_syn_backlog",
    )
}

fn cpus(machine: &Machine) -> Limit {
    let caps = match machine.cpus {
        None => unknown(),
        Some(1) => "server and load client share the one CPU, so throughput tells the cost of both together"
            .to_owned(),
        Some(cpus) => {
            format!(
                "{cpus} workers by default; where server and load client are kept apart, they share these"
            )
        }
    };
    limit(
        "CPUs",
        [
            ("for this process", machine.cpus.into()),
            ("online", machine.cpus_online.clone().into()),
            ("affinity", machine.cpus_affinity.into()),
            ("cgroup", machine.cgroup.version.clone().into()),
            ("quota v1", of_group(machine, machine.cgroup.cpus_v1)),
            ("quota v2", of_group(machine, machine.cgroup.cpus_v2)),
        ],
        caps,
        "taskset, or cpuset and cpu.max of the control group (cpu.cfs_quota_us in version 1)",
    )
}

fn stacks(machine: &Machine) -> Limit {
    let caps = match machine.overcommit_memory {
        Some(2) => {
            "reserved address space counts as used (overcommit 2), so that large stacks end threads early"
        }
        Some(_) => "no cell: address space that is reserved and not touched costs nothing",
        None => "not available",
    };
    limit(
        "thread stacks",
        [
            ("RLIMIT_STACK bytes", unlimited(machine.stack_soft_bytes)),
            ("vm.overcommit_memory", machine.overcommit_memory.into()),
        ],
        caps,
        "sysctl vm.overcommit_memory=0; ulimit -s for a program's first thread",
    )
}

fn frequency(machine: &Machine) -> Limit {
    let caps = match (machine.governor.as_deref(), machine.turbo) {
        (Some("performance"), Some(false)) => "no figure: the frequency is steady",
        (None, None) => {
            "times and CPU times vary with a frequency that cannot be told here, as in most virtual machines"
        }
        _ => "times and CPU times vary with the frequency",
    };
    limit(
        "CPU frequency",
        [("governor", machine.governor.clone().into()), ("turbo", machine.turbo.into())],
        caps,
        "cpupower frequency-set -g performance; no_turbo or boost under /sys/devices/system/cpu",
    )
}

fn clock(machine: &Machine) -> Limit {
    let caps = match machine.clocksource.as_deref() {
        Some("tsc" | "kvm-clock" | "arch_sys_counter") => "no figure: reading the clock takes no system call",
        Some(_) => {
            "each reading of the clock is a system call of a microsecond or so, and every request has several"
        }
        None => "not available",
    };
    limit(
        "clock",
        [("clock source", machine.clocksource.clone().into())],
        caps,
        "clocksource=tsc on the kernel's command line, where the hardware's is steady",
    )
}

fn huge_pages(machine: &Machine) -> Limit {
    let caps = match machine.transparent_hugepages.as_deref() {
        Some("always") => {
            "memory slopes have steps of 2 MiB, where the kernel backs heaps and stacks with huge pages"
        }
        Some(_) => "no figure: only who asks for huge pages gets them",
        None => "not available",
    };
    let values = [("transparent", machine.transparent_hugepages.clone().into())];
    limit("huge pages", values, caps, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
}

fn address_space(machine: &Machine) -> Limit {
    let caps = match machine.randomize_va_space {
        Some(0) => "no figure: each process has the same layout, which may favour one by chance",
        Some(_) => "each process has another layout, so single runs differ; repetitions average over layouts",
        None => "not available",
    };
    let values = [("kernel.randomize_va_space", machine.randomize_va_space.into())];
    limit("address space layout", values, caps, "setarch -R runs one program without; better is to repeat")
}

fn kernel_memory(machine: &Machine) -> Limit {
    let caps = match machine.slabinfo {
        Some(true) => "nothing: the kernel's memory of sockets and threads can be told by object",
        _ => {
            "the kernel's slab memory of a connection or a thread cannot be told; page tables and kernel stacks can"
        }
    };
    limit("kernel memory", [("/proc/slabinfo readable", machine.slabinfo.into())], caps, "run as root")
}

fn counters(machine: &Machine) -> Limit {
    let caps = match machine.perf_event_paranoid {
        Some(..=-1) => {
            "nothing: system calls and hardware events can be counted, where the machine has counters"
        }
        Some(0 | 1) => {
            "system calls are not counted without privilege; kernel and user events of one's own processes are"
        }
        Some(2) => "system calls and kernel events are not counted without privilege; user events are",
        Some(3..) => "no event is counted without privilege",
        None => "not available: this kernel counts no events",
    };
    limit(
        "event counters",
        [("kernel.perf_event_paranoid", machine.perf_event_paranoid.into())],
        caps,
        "sysctl kernel.perf_event_paranoid=-1, or CAP_PERFMON",
    )
}

fn waits(machine: &Machine) -> Limit {
    let caps = match (machine.schedstat, machine.pressure) {
        (Some(true), Some(true)) => {
            "nothing: a stall of the machine is told from a wait for a CPU, and so is pressure"
        }
        (Some(true), _) => "the pressure on CPUs cannot be told; stalls can",
        _ => "a stall of the machine cannot be told from a wait for a CPU, so tails are judged more harshly",
    };
    limit(
        "waits for a CPU",
        [("schedstat readable", machine.schedstat.into()), ("pressure readable", machine.pressure.into())],
        caps,
        "a kernel with CONFIG_SCHED_INFO and CONFIG_PSI, and psi=1 on its command line",
    )
}

pub(super) fn limit<const N: usize>(
    name: &'static str,
    values: [(&str, Value); N],
    caps: impl Into<String>,
    raise: impl Into<String>,
) -> Limit {
    let values = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Limit { name, values, caps: caps.into(), raise: raise.into() }
}

/// A resource limit of a process: none is no limit.
fn unlimited(limit: Option<u64>) -> Value {
    limit.map_or_else(|| "unlimited".into(), Value::from)
}

/// A limit of the control group: none is no limit, where there is a group.
fn of_group(machine: &Machine, limit: Option<impl Into<Value>>) -> Value {
    match (limit, &machine.cgroup.version) {
        (Some(limit), _) => limit.into(),
        (None, Some(_)) => "unlimited".into(),
        (None, None) => Value::Null,
    }
}

fn unknown() -> String {
    "not available".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            cpus: Some(2),
            descriptors_soft: Some(20_000),
            descriptors_hard: None,
            pid_max: Some(32_768),
            threads_max: Some(63_000),
            max_map_count: Some(65_530),
            port_range: Some("32768-60999".into()),
            somaxconn: Some(4_096),
            ..Machine::default()
        }
    }

    fn named(machine: &Machine, name: &str) -> Limit {
        of(machine).into_iter().find(|limit| limit.name == name).unwrap_or_else(|| panic!("no limit {name}"))
    }

    #[test]
    fn a_limit_says_what_it_caps_by_arithmetic() {
        let caps = |name: &str| named(&machine(), name).caps;
        assert!(caps("open descriptors of a process").contains("some 19,968 connections"));
        assert!(caps("threads").starts_with("kernel.pid_max is the tightest"));
        assert!(caps("mappings of a process").contains("16,382 OS threads"));
        assert!(caps("mappings of a process").contains("32,765 coroutines"));
        assert!(caps("ephemeral ports").starts_with("28,232 connections"));
        assert!(caps("ephemeral ports").contains("7,170,928 to one server"));
        assert_eq!(named(&machine(), "open descriptors of a process").values["hard"], "unlimited");
    }

    #[test]
    fn what_is_not_known_is_null_and_never_a_number() {
        let unknown = Machine::default();
        for limit in of(&unknown) {
            assert!(limit.values.values().all(|value| value.is_null() || value == "unlimited"), "{limit:?}");
            assert!(!limit.caps.is_empty() && !limit.raise.is_empty(), "{limit:?}");
        }
        assert_eq!(named(&unknown, "threads").values["cgroup pids.max"], Value::Null);
        let mut in_group = machine();
        in_group.cgroup.version = Some("v2".into());
        assert_eq!(named(&in_group, "threads").values["cgroup pids.max"], "unlimited");
        in_group.cgroup.pids_max = Some(512);
        assert!(named(&in_group, "threads").caps.contains("cgroup pids.max is the tightest"));
    }
}
