//! Where groups with a CPU quota can be made: the hierarchy that has the cpu controller, and the group in it. Reads alone.

use std::fs;
use std::path::{Path, PathBuf};

use super::QuotaError;

/// A group under which others can be made, and how to set a quota there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    pub(crate) version: Version,
    /// The group's directory.
    pub(crate) directory: PathBuf,
    /// The group as `/proc/PID/cgroup` names it.
    pub(crate) name: String,
    /// The groups above it are directories down to this one.
    top: PathBuf,
}

/// Of the hierarchy that has the cpu controller, which is one alone: a hybrid set-up has others of the other version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// `cpu.cfs_quota_us`
    V1,
    /// `cpu.max`
    V2,
}

/// A hierarchy as it is mounted.
struct Mount {
    version: Version,
    /// The group that is seen at the mount point.
    group: String,
    point: PathBuf,
}

impl Hierarchy {
    /// `root` is `/` but in tests.
    pub(crate) fn find(root: &Path) -> Result<Hierarchy, QuotaError> {
        let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
        let memberships = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        let mount = mount(&mounts, root).ok_or(QuotaError::NoController)?;
        let name = membership(&memberships, mount.version).ok_or(QuotaError::NoController)?;
        let below = match mount.group.as_str() {
            "/" => Some(name),
            group => name.strip_prefix(group).filter(|rest| rest.is_empty() || rest.starts_with('/')),
        };
        let below = below.ok_or_else(|| QuotaError::OutOfSight { group: name.to_owned() })?;
        let own = Hierarchy {
            version: mount.version,
            // Without the slash that joining nothing leaves at the top.
            directory: mount.point.join(below.trim_start_matches('/')).components().collect(),
            name: name.to_owned(),
            top: mount.point,
        };
        match own.version {
            Version::V1 => Ok(own),
            Version::V2 => own.hands_down(),
        }
    }

    /// This group or the nearest above it that hands the cpu controller down. One that has processes of its own cannot,
    /// so it is seldom the harness's own.
    fn hands_down(self) -> Result<Hierarchy, QuotaError> {
        let at_top = text(&self.top.join("cgroup.controllers"));
        if !at_top.is_some_and(|all| has_cpu(&all)) {
            return Err(QuotaError::NoController);
        }
        let mut here = Some(self);
        while let Some(group) = here {
            if text(&group.directory.join("cgroup.subtree_control")).is_some_and(|all| has_cpu(&all)) {
                return Ok(group);
            }
            here = group.above();
        }
        Err(QuotaError::NotHandedDown)
    }

    /// The group that this one is in, where it can be seen.
    fn above(&self) -> Option<Hierarchy> {
        if self.directory == self.top {
            return None;
        }
        let name = match self.name.rsplit_once('/')?.0 {
            "" => "/",
            above => above,
        };
        let directory = self.directory.parent()?.to_owned();
        Some(Hierarchy { directory, name: name.to_owned(), ..self.clone() })
    }

    /// The least that a group from here up lets its processes have, in CPUs; none is no limit.
    pub(crate) fn cpus_allowed(&self) -> Option<f64> {
        let mut here = Some(self.clone());
        let mut least: Option<f64> = None;
        while let Some(group) = here {
            if let Some((quota_us, period_us)) = self.version.quota_us(&group.directory) {
                let cpus = float(quota_us) / float(period_us.max(1));
                least = Some(least.map_or(cpus, |least| least.min(cpus)));
            }
            here = group.above();
        }
        least
    }

    /// As `/proc/PID/cgroup` would name a group in it.
    pub(crate) fn name_of(&self, child: &str) -> String {
        format!("{}/{child}", self.name.trim_end_matches('/'))
    }
}

impl Version {
    /// The quota that a group has, with its period, as the kernel tells; none where it has none.
    pub(crate) fn quota_us(self, group: &Path) -> Option<(u64, u64)> {
        match self {
            Version::V1 => {
                let number = |file: &str| text(&group.join(file))?.parse().ok();
                Some((number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?))
            }
            Version::V2 => {
                let both = text(&group.join("cpu.max"))?;
                let (quota_us, period_us) = both.split_once(' ')?;
                Some((quota_us.parse().ok()?, period_us.parse().ok()?))
            }
        }
    }

    /// Gives a group its quota.
    pub(crate) fn set_quota_us(self, group: &Path, quota_us: u64, period_us: u64) -> std::io::Result<()> {
        match self {
            Version::V1 => {
                fs::write(group.join("cpu.cfs_period_us"), period_us.to_string())?;
                fs::write(group.join("cpu.cfs_quota_us"), quota_us.to_string())
            }
            Version::V2 => fs::write(group.join("cpu.max"), format!("{quota_us} {period_us}")),
        }
    }

    /// Where groups can be made, in a word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Version::V1 => "v1",
            Version::V2 => "v2",
        }
    }
}

/// The mount of the hierarchy with the cpu controller: one of version 1 that has it, or else that of version 2.
fn mount(mounts: &str, root: &Path) -> Option<Mount> {
    let read = |line: &str| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (group, point) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let (kind, options) = (kind.next()?, kind.nth(1)?);
        let version = match kind {
            "cgroup" if options.split(',').any(|option| option == "cpu") => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        Some(Mount { version, group: group.to_owned(), point: root.join(point.trim_start_matches('/')) })
    };
    let mut all: Vec<Mount> = mounts.lines().filter_map(read).collect();
    let at = all.iter().position(|mount| mount.version == Version::V1);
    (!all.is_empty()).then(|| all.swap_remove(at.unwrap_or(0)))
}

/// The group of this process: `2:cpu,cpuacct:/box`, or `0::/box`.
fn membership(memberships: &str, version: Version) -> Option<&str> {
    memberships.lines().find_map(|line| group_of(line, version))
}

/// The group that a line of `/proc/PID/cgroup` names, where it is of the hierarchy that has the cpu controller.
pub(crate) fn group_of(line: &str, version: Version) -> Option<&str> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
    let is_it = match version {
        Version::V1 => controllers.split(',').any(|controller| controller == "cpu"),
        Version::V2 => controllers.is_empty(),
    };
    is_it.then_some(group)
}

fn has_cpu(controllers: &str) -> bool {
    controllers.split_whitespace().any(|controller| controller == "cpu")
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[expect(clippy::cast_precision_loss, reason = "a quota in microseconds is far below 2^53")]
fn float(us: u64) -> f64 {
    us as f64
}

#[cfg(test)]
mod tests;
