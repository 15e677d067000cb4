//! Where groups can be made, told from trees of files as the kernel shows them.

use super::*;

const V1: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
    32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
    33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const HYBRID: &str = "32 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
    33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";

fn find(mounts: &str, memberships: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Found) {
    let root = tempfile::tempdir().unwrap();
    let all = [("proc/self/mountinfo", mounts), ("proc/self/cgroup", memberships)];
    for (name, text) in all.iter().chain(files) {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found = Hierarchy::find(root.path());
    (root, found)
}

type Found = Result<Hierarchy, QuotaError>;

/// Version, directory below the root, and name.
fn told(root: &tempfile::TempDir, found: &Hierarchy) -> (Version, String, String) {
    let directory = found.directory.strip_prefix(root.path()).unwrap().display().to_string();
    (found.version, directory, found.name.clone())
}

#[test]
fn version_1_makes_groups_in_the_own_one() {
    let memberships = "4:memory:/other\n3:cpu,cpuacct:/box\n0::/box\n";
    let quota = [
        ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
    ];
    let (root, found) = find(V1, memberships, &quota);
    let found = found.unwrap();
    let directory = "sys/fs/cgroup/cpu,cpuacct/box".to_owned();
    assert_eq!(told(&root, &found), (Version::V1, directory, "/box".into()));
    assert_eq!(found.name_of("cell"), "/box/cell");
    // A limit of a group above is one of its groups too.
    assert_eq!(found.cpus_allowed(), Some(1.5));
}

#[test]
fn a_mount_may_show_a_part_of_the_hierarchy() {
    let mounts = "40 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
    let (root, found) = find(mounts, "3:cpu:/docker/abc\n", &[]);
    let found = found.unwrap();
    assert_eq!(told(&root, &found), (Version::V1, "sys/fs/cgroup/cpu".into(), "/docker/abc".to_owned()));
    assert_eq!((found.name_of("cell").as_str(), found.cpus_allowed()), ("/docker/abc/cell", None));
    let (_root, found) = find(mounts, "3:cpu:/docker/abcd\n", &[]);
    assert!(matches!(found, Err(QuotaError::OutOfSight { .. })), "{found:?}");
}

#[test]
fn version_2_makes_groups_where_the_controller_is_handed_down() {
    let of = |own: &'static str, above: &'static str| {
        [
            ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n"),
            ("sys/fs/cgroup/cgroup.subtree_control", "memory pids\n"),
            ("sys/fs/cgroup/app.slice/cgroup.subtree_control", above),
            ("sys/fs/cgroup/app.slice/cpu.max", "400000 100000\n"),
            ("sys/fs/cgroup/app.slice/run.scope/cgroup.subtree_control", own),
            ("sys/fs/cgroup/app.slice/run.scope/cpu.max", "max 100000\n"),
        ]
    };
    let memberships = "0::/app.slice/run.scope\n";
    let (root, found) = find(V2, memberships, &of("", "cpu memory\n"));
    let found = found.unwrap();
    assert_eq!(told(&root, &found), (Version::V2, "sys/fs/cgroup/app.slice".into(), "/app.slice".to_owned()));
    assert_eq!(found.cpus_allowed(), Some(4.0));
    let (_root, found) = find(V2, memberships, &of("cpu\n", "cpu\n"));
    assert_eq!(found.unwrap().name, "/app.slice/run.scope");
    let (_root, found) = find(V2, memberships, &of("", "cpuset memory\n"));
    assert!(matches!(found, Err(QuotaError::NotHandedDown)), "{found:?}");
}

#[test]
fn of_a_hybrid_it_is_the_one_with_the_controller() {
    let (root, found) = find(HYBRID, "1:cpu:/\n0::/box\n", &[]);
    let found = found.unwrap();
    assert_eq!(told(&root, &found), (Version::V1, "sys/fs/cgroup/cpu".into(), "/".to_owned()));
    assert_eq!(found.name_of("cell"), "/cell");
    // The other way round: version 1 has other controllers, and the unified hierarchy has this one.
    let mounts = "33 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        32 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let files = [
        ("sys/fs/cgroup/unified/cgroup.controllers", "cpu\n"),
        ("sys/fs/cgroup/unified/cgroup.subtree_control", "cpu\n"),
    ];
    let (root, found) = find(mounts, "1:memory:/\n0::/box\n", &files);
    let directory = "sys/fs/cgroup/unified".to_owned();
    assert_eq!(told(&root, &found.unwrap()), (Version::V2, directory, "/".into()));
}

#[test]
fn where_there_is_no_controller_it_is_said() {
    for (mounts, memberships) in [("", ""), (V2, "0::/\n"), (V1, "0::/\n")] {
        let (_root, found) = find(mounts, memberships, &[]);
        assert!(matches!(found, Err(QuotaError::NoController)), "{found:?}");
    }
}

#[test]
fn a_quota_is_written_as_it_is_read() {
    let group = tempfile::tempdir().unwrap();
    for version in [Version::V1, Version::V2] {
        assert_eq!(version.quota_us(group.path()), None);
        version.set_quota_us(group.path(), 200_000, 100_000).unwrap();
        assert_eq!(version.quota_us(group.path()), Some((200_000, 100_000)));
    }
    let read = |file: &str| fs::read_to_string(group.path().join(file)).unwrap();
    assert_eq!((read("cpu.cfs_quota_us"), read("cpu.max")), ("200000".into(), "200000 100000".into()));
}
