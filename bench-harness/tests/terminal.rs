//! What is written on a terminal, of whatever width, and what its keys do.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

const HARNESS: &str = env!("CARGO_BIN_EXE_bench-harness");
/// What Ctrl-C sends.
const INTERRUPT: u8 = 3;
const LIMIT: Duration = Duration::from_secs(30);

/// A terminal: the end of its user, and the name of the other, which a program has.
struct Terminal {
    user: File,
    name: PathBuf,
}

/// What a command came to on a terminal, and all that it wrote.
#[derive(Debug)]
struct Shown {
    code: Option<i32>,
    text: String,
}

/// What to press, as soon as this is to be read.
struct Press {
    cue: &'static str,
    key: u8,
}

impl Terminal {
    fn new(columns: u16) -> Terminal {
        let user =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&user).expect("it is ours");
        unlockpt(&user).expect("it is ours");
        let name = ptsname(&user, Vec::new()).expect("it has a name");
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&user, size).expect("it has a size");
        Terminal { user: user.into(), name: PathBuf::from(name.into_string().expect("it is text")) }
    }

    /// Carries a command out in a session of its own on this terminal, until nobody has the terminal any more.
    fn show(mut self, columns: Option<&str>, arguments: &[&str], mut press: Option<Press>) -> Shown {
        // The shell opens the terminal, which so becomes that of the session.
        let script = format!("exec \"$0\" \"$@\" <{0} >{0} 2>&1", self.name.display());
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", &script, HARNESS]).args(arguments);
        command.arg("--runners").arg(Path::new(HARNESS).with_file_name("examples"));
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm").envs(columns.map(|columns| ("COLUMNS", columns)));
        let mut child = command.spawn().expect("every Linux has it");
        let (begin, mut bytes, mut part) = (Instant::now(), Vec::new(), [0; 4_096]);
        let written = loop {
            let text = String::from_utf8_lossy(&bytes);
            if begin.elapsed() > LIMIT {
                child.kill().expect("it can be killed");
                panic!("{arguments:?} did not end: {text}");
            }
            if let Some(Press { key, .. }) = press.take_if(|press| text.contains(press.cue)) {
                self.user.write_all(&[key]).expect("it has keys");
            }
            if self.has_something_to_read() {
                // The last one to close it leaves an error to be read, after all that was written.
                match self.user.read(&mut part) {
                    Ok(length) => bytes.extend(&part[..length]),
                    Err(_) => break text.into_owned(),
                }
            }
        };
        assert!(press.is_none(), "{arguments:?} never came to the cue: {written}");
        Shown { code: end(&mut child), text: written }
    }

    fn has_something_to_read(&self) -> bool {
        let mut waiting = [PollFd::new(&self.user, PollFlags::IN)];
        let slice = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        poll(&mut waiting, Some(&slice)).is_ok_and(|ready| ready > 0)
    }
}

/// Waits for the end of a command and of all that it started, which are of its session. It is its exit code.
fn end(child: &mut Child) -> Option<i32> {
    let session = child.id().to_string();
    let status = child.wait().expect("a status");
    let left = || {
        let entries = fs::read_dir("/proc").expect("there are processes");
        let stats = entries.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
        stats.filter(|stat| is_of(&session, stat)).collect::<Vec<_>>()
    };
    // Those that were killed with it are gone as soon as the kernel has come to it.
    let begin = Instant::now();
    while !left().is_empty() {
        assert!(begin.elapsed() < LIMIT, "left: {:?}", left());
        std::thread::sleep(Duration::from_millis(5));
    }
    status.code()
}

/// Whether `/proc/PID/stat` is that of a process of this session which has not ended.
fn is_of(session: &str, stat: &str) -> bool {
    // After its name: state, parent, group, session.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect::<Vec<_>>();
    fields.get(3) == Some(&session) && fields.first() != Some(&"Z")
}

/// Its lines as they are read, without what makes letters bold.
fn lines(text: &str) -> Vec<String> {
    let plain = text.replace("\x1b[1m", "").replace("\x1b[0m", "");
    plain.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

fn widest(text: &str) -> usize {
    lines(text).iter().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn tables_are_as_wide_as_the_terminal_or_as_they_are() {
    let list = |columns: u16, said: Option<&str>| {
        let shown = Terminal::new(columns).show(said, &["list"], None);
        assert!(shown.code == Some(0) && !shown.text.contains("panicked"), "{columns}: {shown:?}");
        shown.text
    };
    let whole = list(500, None);
    assert!(whole.contains("\x1b[1mexperiment") && widest(&whole) > 80, "{whole}");
    let narrow = list(60, None);
    assert!(widest(&narrow) <= 60 && lines(&narrow).len() > lines(&whole).len(), "{narrow}");
    // What the user says of it goes before what it says of itself, and 0 says nothing.
    assert_eq!((list(500, Some("60")), list(0, None)), (narrow.clone(), whole));
    assert_eq!(list(60, Some("0")), narrow);
    // Where no column fits, each row is a list.
    assert!(lines(&list(1, None)).contains(&"experiment: capacity.burst".to_owned()));
}

#[test]
fn a_run_and_its_report_are_shown_at_any_width_and_written_at_none() {
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/small.toml");
    let small = small.to_str().expect("a name");
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let out = out.to_str().expect("a name");
    let read = |file: &str| fs::read_to_string(Path::new(out).join(file)).expect("it was written");
    let shown = |columns: u16, arguments: &[&str]| {
        let shown = Terminal::new(columns).show(None, arguments, None);
        assert!(
            shown.code == Some(0) && !shown.text.contains("panicked"),
            "{columns} {arguments:?}: {shown:?}"
        );
        assert!(!shown.text.is_empty(), "{columns} {arguments:?}");
    };
    shown(
        1,
        &["run", "capacity.burst", "--quick", "-m", "fake,fake:dies", "--experiments", small, "--out", out],
    );
    let files = ["report.md", "report.html", "cells.csv", "summary.json"];
    let written = files.map(read);
    for columns in [1, 500] {
        for arguments in [&["report", out][..], &["compare", out, out], &["predict", "little"]] {
            shown(columns, arguments);
        }
        assert_eq!(files.map(read), written, "{columns}");
    }
}

#[test]
fn the_interrupt_key_ends_a_run_that_hangs() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let arguments =
        ["run", "capacity.burst", "--quick", "-m", "fake:hangs", "--out", out.to_str().expect("a name")];
    let shown = Terminal::new(80).show(None, &arguments, Some(Press { cue: "hangs", key: INTERRUPT }));
    assert_eq!(shown.code, Some(130), "{shown:?}");
    assert!(shown.text.contains("interrupted: ending what runs"), "{shown:?}");
    assert!(out.join("report.html").exists());
}

#[test]
fn what_a_session_leaves_is_seen() {
    let mut child = Command::new("setsid").args(["sleep", "60"]).spawn().expect("every Linux has it");
    let session = child.id().to_string();
    let stat = || fs::read_to_string(format!("/proc/{session}/stat")).unwrap_or_default();
    let begin = Instant::now();
    while !is_of(&session, &stat()) && begin.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = (is_of(&session, &stat()), is_of("1", &stat()));
    child.kill().expect("it is ours");
    // It has ended, and nobody has asked for its status yet.
    while !stat().contains(") Z ") && begin.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(5));
    }
    let ended = is_of(&session, &stat());
    assert_eq!((seen, ended, end(&mut child)), ((true, false), false, None));
}
