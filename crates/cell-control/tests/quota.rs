//! Control groups with a quota, as the kernel has them. Where none can be made, one line says so and nothing is tested.

#![expect(clippy::print_stdout, reason = "a test that is not carried out says so")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use cell_control::{ControlGroup, ControlGroups};

fn groups() -> Option<ControlGroups> {
    let made = ControlGroups::find(Path::new("/")).and_then(|groups| groups.make(1).map(|_| groups));
    made.inspect_err(|error| println!("skipped: {error}")).ok()
}

/// A process that has joined the group and has a child there.
fn two_in(group: &ControlGroup) -> Child {
    let script = "echo 0 > \"$0/cgroup.procs\"; sleep 60 & sleep 60; true";
    let child = Command::new("sh").args(["-c", script]).arg(group.directory()).spawn().expect("sh starts");
    let deadline = Instant::now() + Duration::from_secs(10);
    while inside(group) < 3 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    child
}

fn inside(group: &ControlGroup) -> usize {
    fs::read_to_string(group.directory().join("cgroup.procs")).map_or(0, |pids| pids.lines().count())
}

#[test]
fn a_group_ends_with_all_that_is_in_it() {
    let Some(groups) = groups() else { return };
    let group = groups.make(1).expect("one was made before");
    let directory = group.directory().to_owned();
    let mut child = two_in(&group);
    assert_eq!((inside(&group), group.cpus()), (3, 1));
    assert!(group.throttled().is_some());
    drop(group);
    assert!(!directory.exists());
    let status = child.wait().expect("it is a child");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
}

#[test]
fn what_a_killed_harness_left_is_removed_and_what_others_have_is_not() {
    let Some(groups) = groups() else { return };
    let own = groups.make(1).expect("one was made before");
    // No process has this id; this one has another beginning; and the third is not called so.
    let began_otherwise = format!("bench-harness-{}-1-0", std::process::id());
    let made = ["bench-harness-999999999-1-0", &began_otherwise, "bench-harness-of-somebody"]
        .map(|name| groups.directory().join(name));
    made.iter().for_each(|path| fs::create_dir(path).expect("it can be made"));
    assert!(groups.remove_left() >= 2);
    assert_eq!(made.each_ref().map(|path| path.exists()), [false, false, true]);
    assert!(own.directory().exists());
    fs::remove_dir(&made[2]).expect("it is empty");
}

#[test]
fn a_quota_that_cannot_be_had_is_refused() {
    let nowhere = tempfile::tempdir().expect("a directory can be made");
    let error = ControlGroups::find(nowhere.path()).expect_err("there is no cgroup").to_string();
    assert!(error.contains("no control group with the cpu controller") && error.lines().count() == 1);
}
