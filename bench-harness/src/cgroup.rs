//! The control group of this process: cgroup v1, v2, and both at once.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What limits the group, and how often it was held back. None is not available, or no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Group {
    /// `v1`, `v2`, or `hybrid` where both are in use.
    #[serde(default)]
    pub(crate) version: Option<String>,
    /// CPUs by quota, such as 1.5, in cgroup v1.
    pub(crate) cpus_v1: Option<f64>,
    /// CPUs by quota, in cgroup v2.
    pub(crate) cpus_v2: Option<f64>,
    /// Periods in which the quota held it back.
    pub(crate) throttled_periods: Option<u64>,
    /// The most threads of the group.
    pub(crate) pids_max: Option<u64>,
    /// Threads of the group when this was read.
    pub(crate) pids_now: Option<u64>,
    /// The most memory of the group.
    pub(crate) memory_max_bytes: Option<u64>,
    /// Processes of the group that the out-of-memory killer has killed.
    pub(crate) oom_kills: Option<u64>,
}

impl Group {
    /// Reads the group of the calling process. `root` is `/` but in tests.
    pub(crate) fn read(root: &Path) -> Group {
        let membership = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        let (mut cpu, mut pids, mut memory, mut has_v1) = (None, None, None, false);
        let mut unified = Vec::new();
        for line in membership.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let path = path.trim_start_matches('/');
            if controllers.is_empty() {
                // The second place is that of a hybrid set-up.
                unified = ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
                    .map(|mount| root.join(mount).join(path))
                    .to_vec();
            }
            // A hierarchy with a name and no controller limits nothing.
            has_v1 |= !controllers.is_empty() && !controllers.starts_with("name=");
            for controller in controllers.split(',') {
                let at = root.join("sys/fs/cgroup").join(controller).join(path);
                match controller {
                    "cpu" => cpu = Some(at),
                    "pids" => pids = Some(at),
                    "memory" => memory = Some(at),
                    _ => {}
                }
            }
        }
        let v1 = |at: &Option<PathBuf>, name: &str| at.as_ref().and_then(|at| text(&at.join(name)));
        let v2 = |name: &str| unified.iter().find_map(|at| text(&at.join(name)));
        let either = |at: &Option<PathBuf>, old: &str, new: &str| v1(at, old).or_else(|| v2(new));
        let throttled = either(&cpu, "cpu.stat", "cpu.stat");
        let version = match (has_v1, !unified.is_empty()) {
            (true, true) => Some("hybrid"),
            (true, false) => Some("v1"),
            (false, true) => Some("v2"),
            (false, false) => None,
        };
        let kills = either(&memory, "memory.oom_control", "memory.events");
        let line = |text: Option<String>, name: &str| {
            text?.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        Group {
            version: version.map(str::to_owned),
            cpus_v1: quota(v1(&cpu, "cpu.cfs_quota_us"), v1(&cpu, "cpu.cfs_period_us")),
            cpus_v2: v2("cpu.max").and_then(|both| {
                let (quota_us, period_us) = both.split_once(' ')?;
                quota(Some(quota_us.to_owned()), Some(period_us.to_owned()))
            }),
            throttled_periods: line(throttled, "nr_throttled "),
            oom_kills: line(kills, "oom_kill "),
            pids_max: number(either(&pids, "pids.max", "pids.max")),
            pids_now: number(either(&pids, "pids.current", "pids.current")),
            // Version 1 writes "no limit" as the largest number of whole pages.
            memory_max_bytes: number(either(&memory, "memory.limit_in_bytes", "memory.max"))
                .filter(|bytes| *bytes < 1 << 62),
        }
    }
}

fn quota(quota_us: Option<String>, period_us: Option<String>) -> Option<f64> {
    let quota_us: f64 = quota_us?.parse().ok()?;
    let period_us: f64 = period_us?.parse().ok()?;
    (quota_us > 0.0 && period_us > 0.0).then(|| quota_us / period_us)
}

fn number(text: Option<String>) -> Option<u64> {
    text?.parse().ok()
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Group {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Group::read(root.path())
    }

    #[test]
    fn version_1_has_a_place_for_each_controller() {
        let group = tree(&[
            ("proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n2:pids:/box\n"),
            ("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "150000\n"),
            ("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/box/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 1\n"),
            ("sys/fs/cgroup/pids/box/pids.max", "512\n"),
            ("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
        ]);
        assert_eq!((group.cpus_v1, group.cpus_v2, group.version.as_deref()), (Some(1.5), None, Some("v1")));
        assert_eq!(
            (group.throttled_periods, group.pids_max, group.memory_max_bytes),
            (Some(4), Some(512), None)
        );
        assert_eq!(group.oom_kills, Some(2));
    }

    #[test]
    fn version_2_has_one_place() {
        let group = tree(&[
            ("proc/self/cgroup", "0::/box\n"),
            ("sys/fs/cgroup/box/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/box/pids.max", "max\n"),
            ("sys/fs/cgroup/box/pids.current", "7\n"),
            ("sys/fs/cgroup/box/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/box/memory.events", "oom 4\noom_kill 3\noom_group_kill 0\n"),
        ]);
        assert_eq!((group.cpus_v1, group.cpus_v2, group.version.as_deref()), (None, Some(0.5), Some("v2")));
        assert_eq!((group.pids_max, group.pids_now, group.memory_max_bytes), (None, Some(7), Some(1 << 30)));
        assert_eq!(group.oom_kills, Some(3));
    }

    #[test]
    fn both_at_once_and_no_limit() {
        let group = tree(&[
            ("proc/self/cgroup", "2:cpu:/\n0::/\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/unified/cpu.max", "max 100000\n"),
        ]);
        assert_eq!(group, Group { version: Some("hybrid".into()), ..Group::default() });
        let named = tree(&[("proc/self/cgroup", "1:name=systemd:/\n0::/\n")]);
        assert_eq!(named.version.as_deref(), Some("v2"));
        assert_eq!(tree(&[]), Group::default());
    }
}
