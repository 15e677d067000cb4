//! One child in its own process group: started, signalled and reaped.

use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use cell_protocol::Usage;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getppid, set_parent_process_death_signal, waitid};

use crate::error::Exit;
use crate::group;
use crate::lines::{Lines, Outcome};
use crate::tail::Tail;

/// Between SIGTERM and SIGKILL.
const TERMINATE_GRACE: Duration = Duration::from_secs(2);

/// A child process in its own process group, which is killed as a whole and reaped before this value is gone.
///
/// The kernel kills it when the thread that started it ends: see the crate's documentation.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    stdin: Option<ChildStdin>,
    lines: Lines,
    tail: Tail,
    reaped: Option<Reaped>,
}

/// What has become of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    /// By this signal, until another lets it go on.
    Stopped(i32),
    Ended,
}

/// What is known of a child that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Reaped {
    status: ExitStatus,
    /// Of the child and of those of its own children that it waited for.
    pub(crate) usage: Usage,
    pub(crate) rss_max_bytes: u64,
}

impl Reaped {
    /// How it ended.
    #[must_use]
    pub fn exit(&self) -> Exit {
        Exit::of(self.status)
    }
}

impl Child {
    /// Starts a program with pipes to all three of its standard streams.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn start(program: &Path, arguments: &[&str]) -> io::Result<Child> {
        let parent = rustix::process::getpid();
        let mut command = Command::new(program);
        command.args(arguments).process_group(0);
        // A backtrace would be the last that a dying runner says, in the place of its reason.
        command.env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[expect(unsafe_code, reason = "std has no safe way to set the parent-death signal")]
        // SAFETY: between fork and exec the closure makes two system calls and allocates nothing,
        // which is all that pre_exec asks of it.
        unsafe {
            command.pre_exec(move || {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // The parent may have died before the signal was set.
                if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) }
            });
        }
        let mut child = command.spawn()?;
        let pid = Pid::from_child(&child);
        group::register(pid);
        let piped = "a piped stream was asked for";
        Ok(Child {
            pid,
            stdin: child.stdin.take(),
            lines: Lines::new(child.stdout.take().expect(piped)),
            tail: Tail::new(child.stderr.take().expect(piped)),
            reaped: None,
        })
    }

    /// The process id, which is also the number of the process group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Writes to its standard input, whose pipe has room for 64 KiB that nobody reads.
    ///
    /// # Errors
    ///
    /// Its end of the pipe is closed, or was closed here.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stdin {
            Some(stdin) => stdin.write_all(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Closes its standard input.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Waits until `deadline` for a line on its standard output, or until there will be none; `interrupt` ends the wait
    /// when it is raised.
    ///
    /// # Errors
    ///
    /// The pipe cannot be read.
    pub fn line(&mut self, deadline: Instant, interrupt: Option<&Arc<AtomicBool>>) -> io::Result<Outcome> {
        let (pid, reaped) = (self.pid, self.reaped.is_some());
        self.lines.next(deadline, interrupt, || if reaped { Ok(State::Ended) } else { state(pid) })
    }

    /// The last line of its standard error, which is complete when the child has been waited for.
    #[must_use]
    pub fn last_words(&self) -> Option<String> {
        self.tail.last_line()
    }

    /// Whether it has neither ended nor been stopped by a signal.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.reaped.is_none() && matches!(state(self.pid), Ok(State::Running))
    }

    /// Waits for the child to end by itself; what is left of its group is killed then.
    ///
    /// # Errors
    ///
    /// The system call fails, which it does not for a child.
    pub fn wait(&mut self, deadline: Instant) -> io::Result<Option<Reaped>> {
        if self.reaped.is_some() {
            return Ok(self.reaped);
        }
        while state(self.pid)? != State::Ended {
            if Instant::now() >= deadline {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.reap().map(Some)
    }

    /// SIGTERM to the group, 2 s, SIGKILL to the group. One that is stopped would not even notice the first.
    pub(crate) fn terminate(&mut self) -> io::Result<Reaped> {
        if !self.is_running() {
            return self.kill();
        }
        group::signal(self.pid, Signal::TERM);
        match self.wait(Instant::now() + TERMINATE_GRACE)? {
            Some(reaped) => Ok(reaped),
            None => self.kill(),
        }
    }

    /// SIGKILL to the group, and the child is reaped.
    pub(crate) fn kill(&mut self) -> io::Result<Reaped> {
        match self.reaped {
            Some(reaped) => Ok(reaped),
            None => self.reap(),
        }
    }

    fn reap(&mut self) -> io::Result<Reaped> {
        group::signal(self.pid, Signal::KILL);
        group::unregister(self.pid);
        let reaped = wait4(self.pid)?;
        self.reaped = Some(reaped);
        self.tail.settle();
        Ok(reaped)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.kill());
    }
}

/// Whether the child runs. One that has ended is left a zombie: its number must stay taken until its group is killed.
fn state(pid: Pid) -> io::Result<State> {
    let options =
        WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(None) => return Ok(State::Running),
            Ok(Some(status)) => {
                return Ok(status.stopping_signal().map_or(State::Ended, State::Stopped));
            }
        }
    }
}

fn wait4(pid: Pid) -> io::Result<Reaped> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        #[expect(unsafe_code, reason = "wait4 has no safe wrapper in rustix")]
        // SAFETY: both pointers are to live, writable values of the types that wait4 fills.
        let result =
            unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, usage.as_mut_ptr()) };
        if result >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    #[expect(unsafe_code, reason = "wait4 fills the usage through a pointer")]
    // SAFETY: rusage is plain integers, zeroed above, and wait4 has filled it.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| unsigned(time.tv_sec) * 1_000_000_000 + unsigned(time.tv_usec) * 1_000;
    Ok(Reaped {
        status: ExitStatus::from_raw(status),
        usage: Usage {
            user_ns: ns(usage.ru_utime),
            system_ns: ns(usage.ru_stime),
            voluntary_switches: unsigned(usage.ru_nvcsw),
            involuntary_switches: unsigned(usage.ru_nivcsw),
        },
        rss_max_bytes: unsigned(usage.ru_maxrss) * 1024,
    })
}

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
