//! Who used the CPUs while requests arrived: the runner, the load's clients, others, or nobody.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use cell_control::ControlGroup;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use serde::{Deserialize, Serialize};

use crate::cgroup::Group;
use crate::cpu_time::CpuTimes;

/// Who has used how much CPU time until one instant.
#[derive(Clone, Debug)]
pub(crate) struct CpuAccount {
    at: Instant,
    /// Of the CPUs that the runner may use; of a quota, there are as many as it is of.
    runner_cpus: Cpus,
    /// Of the CPUs that the clients, and this process, may use.
    client_cpus: Cpus,
    /// Of all processes of the runner's group.
    runner_ns: u64,
    /// Of each client.
    clients_ns: Vec<Option<u64>>,
    throttled_periods: Option<u64>,
    /// Of the control group that the runner has of its own.
    runner_throttled_periods: Option<u64>,
}

/// Some CPUs, and how long they have been idle.
#[derive(Clone, Copy, Debug, Default)]
struct Cpus {
    count: u64,
    idle_ns: Option<u64>,
}

/// How the CPUs were used between two instants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CpuUse {
    /// The share of the runner's CPUs that nobody used. None was left where the quota of the control group held it back.
    pub(crate) idle_share: f64,
    /// The share of the runner's CPUs that it used itself.
    pub(crate) runner_share: f64,
    /// The share of their CPUs that the load's clients used.
    pub(crate) clients_share: f64,
    /// The share of the clients' CPUs that nobody used.
    pub(crate) clients_idle_share: f64,
    /// The share of one CPU that the busiest client used; none without a client.
    pub(crate) client_of_one_cpu: Option<f64>,
}

/// The kernel counts in ticks of 10 ms, so a shorter time says nothing.
const WINDOW_MIN: Duration = Duration::from_millis(50);

impl CpuAccount {
    /// Looks at the processes of a runner, its leader first, at its quota, and at the clients of a load.
    pub(crate) fn read(runner: &[u32], quota: Option<&ControlGroup>, clients: &[u32]) -> CpuAccount {
        let times = CpuTimes::read();
        let cpus = |pid: Option<u32>| {
            let pid = pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
            sched_getaffinity(pid)
                .map_or_else(|_| Cpus::default(), |allowed| Cpus::of(&allowed, times.as_ref()))
        };
        let mut runner_cpus = cpus(runner.first().copied());
        runner_cpus.count = runner_cpus.count.min(quota.map_or(u64::MAX, ControlGroup::cpus));
        CpuAccount {
            at: Instant::now(),
            runner_cpus,
            client_cpus: cpus(None),
            runner_ns: runner.iter().filter_map(|pid| used_ns(*pid)).sum(),
            clients_ns: clients.iter().map(|pid| on_cpu_ns(*pid)).collect(),
            throttled_periods: Group::read(Path::new("/")).throttled_periods,
            runner_throttled_periods: quota
                .and_then(ControlGroup::throttled)
                .map(|throttled| throttled.throttled_periods),
        }
    }

    /// How the CPUs were used from `earlier` to here; none where that was too short, or the kernel does not tell.
    pub(crate) fn since(&self, earlier: &CpuAccount) -> Option<CpuUse> {
        let window = self.at.saturating_duration_since(earlier.at);
        if window < WINDOW_MIN {
            return None;
        }
        let one = window.as_secs_f64() * 1e9;
        let was_throttled = self.throttled_periods > earlier.throttled_periods;
        let runner_was = was_throttled || self.runner_throttled_periods > earlier.runner_throttled_periods;
        let idle_share = |now: Cpus, then: Cpus, was_throttled: bool| {
            let idle = now.share(now.idle_ns?.saturating_sub(then.idle_ns?), one)?;
            Some(if was_throttled { 0.0 } else { idle.min(1.0) })
        };
        let clients = self.clients_ns.iter().zip(&earlier.clients_ns);
        let clients: Vec<u64> =
            clients.filter_map(|(now, then)| Some((*now)?.saturating_sub((*then)?))).collect();
        Some(CpuUse {
            idle_share: idle_share(self.runner_cpus, earlier.runner_cpus, runner_was)?,
            runner_share: self.runner_cpus.share(self.runner_ns.saturating_sub(earlier.runner_ns), one)?,
            clients_share: self.client_cpus.share(clients.iter().sum(), one)?,
            clients_idle_share: idle_share(self.client_cpus, earlier.client_cpus, was_throttled)?,
            client_of_one_cpu: clients.into_iter().max().map(|most| as_f64(most) / one),
        })
    }
}

impl Cpus {
    fn of(allowed: &CpuSet, times: Option<&CpuTimes>) -> Cpus {
        let is_allowed =
            |cpu: u32| usize::try_from(cpu).is_ok_and(|cpu| cpu < CpuSet::MAX_CPU && allowed.is_set(cpu));
        let idle = |times: &CpuTimes| {
            times.each.iter().filter(|(cpu, _)| is_allowed(*cpu)).map(|(_, ticks)| ticks.idle).sum::<u64>()
        };
        Cpus { count: u64::from(allowed.count()), idle_ns: times.map(|times| ns(idle(times))) }
    }

    /// The share that a time has of all these CPUs, where `one` of them has so many nanoseconds.
    fn share(self, time_ns: u64, one: f64) -> Option<f64> {
        (self.count > 0).then(|| as_f64(time_ns) / (one * as_f64(self.count)))
    }
}

/// User and system time of a process with all its threads, those that have ended included.
fn used_ns(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(ns(user + system))
}

/// Time on a CPU of a process's first thread, to the nanosecond: a client has no other that works.
fn on_cpu_ns(pid: u32) -> Option<u64> {
    fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?.split(' ').next()?.parse().ok()
}

fn ns(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

#[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runner on one CPU of two.
    fn at(ms: u64, idle_ms: u64, runner_ms: u64, client_ms: u64) -> CpuAccount {
        static ZERO: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        let idle_ns = Some(idle_ms * 1_000_000);
        CpuAccount {
            at: *ZERO.get_or_init(Instant::now) + Duration::from_millis(ms),
            runner_cpus: Cpus { count: 1, idle_ns },
            client_cpus: Cpus { count: 2, idle_ns },
            runner_ns: runner_ms * 1_000_000,
            clients_ns: vec![Some(0), Some(client_ms * 1_000_000)],
            throttled_periods: Some(0),
            runner_throttled_periods: None,
        }
    }

    #[test]
    fn shares_are_of_the_window_and_of_the_cpus() {
        let used = at(1_100, 500, 500, 600).since(&at(100, 0, 100, 0)).unwrap();
        let expected = CpuUse {
            idle_share: 0.5,
            runner_share: 0.4,
            clients_share: 0.3,
            clients_idle_share: 0.25,
            client_of_one_cpu: Some(0.6),
        };
        assert_eq!(used, expected);
        let held_back = CpuAccount { throttled_periods: Some(1), ..at(1_100, 500, 500, 600) };
        let used = held_back.since(&at(100, 0, 100, 0)).unwrap();
        assert_eq!((used.idle_share, used.clients_idle_share), (0.0, 0.0));
        // A quota of the runner's own holds nobody else back.
        let by_quota = |periods, account| CpuAccount { runner_throttled_periods: Some(periods), ..account };
        let used = by_quota(1, at(1_100, 500, 500, 600)).since(&by_quota(0, at(100, 0, 100, 0))).unwrap();
        assert_eq!((used.idle_share, used.clients_idle_share), (0.0, 0.25));
    }

    #[test]
    fn what_is_too_short_or_not_told_is_not_known() {
        assert_eq!(at(40, 0, 0, 0).since(&at(0, 0, 0, 0)), None);
        let unknown = CpuAccount { runner_cpus: Cpus::default(), ..at(100, 0, 0, 0) };
        assert_eq!(unknown.since(&at(0, 0, 0, 0)), None);
        let alone = CpuAccount { clients_ns: vec![], ..at(100, 0, 0, 0) };
        assert_eq!(alone.since(&alone.clone()), None);
        let used = alone.since(&at(0, 0, 0, 0)).unwrap();
        assert!(used.client_of_one_cpu.is_none() && used.clients_share.is_sign_positive(), "{used:?}");
    }

    #[test]
    fn a_thread_that_spins_is_seen() {
        let own = [std::process::id()];
        let before = CpuAccount::read(&own, None, &[]);
        let end = Instant::now() + Duration::from_millis(150);
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        let used = CpuAccount::read(&own, None, &[]).since(&before).unwrap();
        // Others may have taken a CPU meanwhile, so that a part of it is all that is sure.
        assert!(used.runner_share > 0.0 && used.idle_share < 1.0, "{used:?}");
    }
}
