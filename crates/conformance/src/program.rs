//! A runner's process without the harness around it, for what the harness hides: exit codes, signals,
//! closed pipes, and what a runner leaves behind.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use cell_protocol::Event;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::Serialize;

use crate::failure::{Failure, ensure};
use crate::proc;

/// A process in a group of its own, which is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    exit: Option<ExitStatus>,
}

/// How a program that was run to its end went.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<String>,
    pub(crate) stderr: Vec<String>,
}

impl Program {
    pub(crate) fn start(runner: &Path, arguments: &[&str]) -> io::Result<Program> {
        Program::start_with(runner, arguments, Stdio::piped())
    }

    /// Starts a program whose standard error fails each write: there is no space for it.
    pub(crate) fn start_unheard(runner: &Path, arguments: &[&str]) -> io::Result<Program> {
        let full = File::options().write(true).open("/dev/full")?;
        Program::start_with(runner, arguments, full.into())
    }

    fn start_with(runner: &Path, arguments: &[&str], stderr: Stdio) -> io::Result<Program> {
        let mut child = Command::new(runner)
            .args(arguments)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()?;
        let stdin = child.stdin.take();
        let stdout = lines(child.stdout.take());
        let stderr = lines(child.stderr.take());
        Ok(Program { child, stdin, stdout, stderr, exit: None })
    }

    /// Runs a program whose input is `input`, to its end.
    pub(crate) fn run(
        runner: &Path,
        arguments: &[&str],
        input: &str,
        within: Duration,
    ) -> Result<Ended, Failure> {
        let mut program = Program::start(runner, arguments)?;
        if let Some(mut stdin) = program.stdin.take() {
            // A program that ends without reading its input closes the pipe, and its exit tells why.
            let _unread = stdin.write_all(input.as_bytes());
        }
        let status = program.wait(within)?;
        Ok(Ended { status, stdout: program.stdout.iter().collect(), stderr: program.stderr.iter().collect() })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes a value as a line to its standard input.
    pub(crate) fn say(&mut self, message: &impl Serialize) -> Result<(), Failure> {
        let line = serde_json::to_string(message).map_err(io::Error::from)? + "\n";
        match &mut self.stdin {
            Some(stdin) => Ok(stdin.write_all(line.as_bytes())?),
            None => Err(Failure::Wrong("standard input is closed already".into())),
        }
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// The next event on its standard output, or nothing where that is closed.
    pub(crate) fn event(&mut self, within: Duration) -> Result<Option<Event>, Failure> {
        match self.stdout.recv_timeout(within) {
            Ok(line) => serde_json::from_str(&line)
                .map(Some)
                .map_err(|error| Failure::Wrong(format!("{line:?} is no event: {error}"))),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                Err(Failure::Wrong(format!("it said nothing within {within:?}")))
            }
        }
    }

    /// The next line on its standard error.
    pub(crate) fn stderr_line(&mut self, within: Duration) -> Result<String, Failure> {
        self.stderr
            .recv_timeout(within)
            .map_err(|_| Failure::Wrong(format!("nothing on standard error within {within:?}")))
    }

    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// Waits for it to end by itself.
    pub(crate) fn wait(&mut self, within: Duration) -> Result<ExitStatus, Failure> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.exit = Some(status);
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "it had not ended after {within:?}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for it to end by itself with status 0, and looks whether it left a process behind.
    pub(crate) fn wait_for_clean_end(&mut self, within: Duration) -> Result<(), Failure> {
        let status = self.wait(within)?;
        ensure!(status.success(), "it ended with {status}: {}", self.last_words());
        let left = proc::group(self.pid())?;
        ensure!(left.is_empty(), "it left {} processes of its group behind: {left:?}", left.len());
        Ok(())
    }

    fn last_words(&self) -> String {
        self.stderr.try_iter().last().unwrap_or_default()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Once it is reaped, only members that are still there keep the group's number its own.
        if self.exit.is_none() || proc::group(self.pid()).is_ok_and(|left| !left.is_empty()) {
            let _gone = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        let _reaped = self.child.wait();
    }
}

/// Reads lines on a thread, so that waiting for one can have an end.
fn lines(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(pipe) = pipe {
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}
