//! Looks at a `/proc` of files, and what is told from two looks.

use std::fs;
use std::path::Path;

use super::look::Process;
use super::*;

/// A `/proc` of files.
fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn stat(pid: u32, name: &str, (state, parent): (&str, u32), ticks: (u64, u64), started: u64) -> String {
    let (user, system) = ticks;
    let rest = " 0".repeat(30);
    format!(
        "{pid} ({name}) {state} {parent} 1 1 0 -1 0 0 0 0 0 {user} {system} 0 0 20 0 1 0 {started}{rest}\n"
    )
}

fn task(root: &Path, (pid, tid): (u32, u32), stat: &str) {
    let at = format!("{pid}/task/{tid}");
    write(root, &format!("{at}/stat"), stat);
    let switches = "Name: x\nvoluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t4\n";
    write(root, &format!("{at}/status"), switches);
}

/// Process 10 with threads 10 and 11, its child 12 with one, and the child's child 13.
fn tree(root: &Path) {
    for (pid, parent) in [(10, 1), (12, 10), (13, 12), (99, 1)] {
        let line = stat(pid, "server", ("S", parent), (7, 3), 5);
        write(root, &format!("{pid}/stat"), &line);
        write(root, &format!("{pid}/status"), &format!("Tgid:\t{pid}\nVmRSS:\t 8 kB\nVmStk:\t 132 kB\n"));
        task(root, (pid, pid), &line);
    }
    task(root, (10, 11), &stat(11, "wo) (rk", ("R", 1), (40, 2), 6));
    write(root, "10/task/11/schedstat", "423456789 10 20\n");
    write(root, "10/task/11/wchan", "0");
    write(root, "10/task/10/wchan", "futex_do_wait");
    write(root, "self/stat", "no process");
}

#[test]
fn a_look_sees_the_tree_and_what_the_kernel_does_not_tell_is_none() {
    let directory = tempfile::tempdir().unwrap();
    tree(directory.path());
    let proc = Proc::at(directory.path());
    let pids = |look: &[Process]| look.iter().map(|process| process.pid).collect::<Vec<_>>();
    let look = proc.look(10, 0).unwrap();
    assert_eq!(pids(&look), [10, 12, 13]);
    // The one who looks is left out, with what it started.
    assert_eq!(pids(&proc.look(10, 12).unwrap()), [10]);
    let [main, work] = [10, 11].map(|tid| &look[0].threads[&tid]);
    assert_eq!(
        (work.name.as_str(), work.state, work.on_cpu_ns),
        ("wo) (rk", State::Running, Some(423_456_789))
    );
    assert_eq!((work.user_ticks, work.system_ticks, work.waits_in.as_deref()), (40, 2, None));
    assert_eq!((main.on_cpu_ns, main.waits_in.as_deref()), (None, Some("futex_do_wait")));
    assert_eq!((main.voluntary_switches, main.involuntary_switches), (Some(30), Some(4)));
    assert_eq!((look[0].main_stack_bytes, look[0].resident_bytes), (Some(132 * 1_024), Some(8 * 1_024)));
}

#[test]
fn a_name_may_be_any_bytes() {
    let directory = tempfile::tempdir().unwrap();
    tree(directory.path());
    for file in ["stat", "status"] {
        let path = directory.path().join("10/task/11").join(file);
        let text =
            fs::read_to_string(&path).unwrap().replace("wo) (rk", "w?").replace("Name: x", "Name:\t?:");
        let bytes: Vec<u8> = text.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
        fs::write(path, bytes).unwrap();
    }
    let look = Proc::at(directory.path()).look(10, 12).unwrap();
    let work = &look[0].threads[&11];
    assert_eq!((work.name.as_str(), work.voluntary_switches), ("w\u{fffd}", Some(30)));
}

#[test]
fn shares_and_rates_are_of_the_interval() {
    let directory = tempfile::tempdir().unwrap();
    tree(directory.path());
    let first = Proc::at(directory.path()).look(10, 12).unwrap();
    let mut second = first.clone();
    let half = Duration::from_millis(500);
    let process = &mut second[0];
    (process.at, process.ticks) = (first[0].at + half, first[0].ticks + 30);
    let work = process.threads.get_mut(&11).unwrap();
    work.at += half;
    work.on_cpu_ns = work.on_cpu_ns.map(|ns| ns + 250_000_000);
    work.voluntary_switches = Some(130);
    // A number that is used again is another thread, which used what it has used in the interval.
    let main = process.threads.get_mut(&10).unwrap();
    (main.started_ticks, main.user_ticks, main.system_ticks) = (600, 10, 0);
    let seen = seen(&first, &second, half);
    let tick_ns = ns(1);
    let [work, new] = &seen.threads[..] else { panic!("{seen:#?}") };
    assert_eq!((work.tid, work.is_new, work.cpu_share), (11, false, Some(0.5)));
    assert_eq!((work.voluntary_switches_per_s, work.involuntary_switches_per_s), (Some(200.0), Some(0.0)));
    assert_eq!((work.user_ns, work.system_ns), (40 * tick_ns, 2 * tick_ns));
    assert_eq!(
        (new.tid, new.is_new, new.cpu_share),
        (10, true, rate(10 * tick_ns, half).map(|share| share / 1e9))
    );
    let process = &seen.processes[0];
    assert_eq!((process.threads, process.threads_started, process.threads_ended), (2, 1, 1));
    assert_eq!(process.cpu_share, rate(30 * tick_ns, half).map(|share| share / 1e9));
    assert_eq!(seen.interval_ns, 500_000_000);

    let shown = text(&seen, crate::style::Style::default());
    let line = "process 10 \"server\" of 1: 2 threads (1 running, 1 sleeping), 1 started meanwhile, 1 ended meanwhile, ";
    assert!(shown.starts_with(line), "{shown}");
    assert!(
        shown.contains("50.0 %  0.40 s  0.02 s       200            0     130          4  -\n"),
        "{shown}"
    );
    assert!(csv(&seen).contains("\n10,11,wo) (rk,running,false,0.5,"), "{}", csv(&seen));
}

#[test]
fn what_is_gone_and_what_is_hidden_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    tree(directory.path());
    let proc = Proc::at(directory.path());
    assert_eq!(proc.process_of(7).unwrap_err().to_string(), "there is no process 7");
    // A thread of a process: its number is one of `/proc` too, and says of which.
    write(directory.path(), "11/status", "Tgid:\t10\n");
    assert_eq!(proc.process_of(11).unwrap(), 10);
    // A child that ends while it is looked at is left out; the process itself is not.
    fs::remove_dir_all(directory.path().join("12/task")).unwrap();
    assert_eq!(proc.look(10, 0).unwrap().iter().map(|process| process.pid).collect::<Vec<_>>(), [10, 13]);
    // A file that is none cannot be read by anyone.
    fs::remove_file(directory.path().join("10/task/11/status")).unwrap();
    fs::create_dir(directory.path().join("10/task/11/status")).unwrap();
    let hidden = proc.look(10, 0).unwrap_err();
    assert!(matches!(hidden, LookError::Hidden(10, _)), "{hidden}");
    write(directory.path(), "10/stat", "10 (server) S 1\n");
    assert!(matches!(proc.look(10, 0), Err(LookError::Unknown(_))));
    fs::remove_dir_all(directory.path().join("10")).unwrap();
    assert!(matches!(proc.look(10, 0), Err(LookError::NoProcess(10))));
}
