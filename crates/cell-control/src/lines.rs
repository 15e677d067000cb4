//! Lines from a child's pipe, with a deadline and a bound on their length.

use std::io::{self, Read};
use std::process::ChildStdout;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::child::State;

/// The most bytes of one line. The largest message, a load client's result with six histograms, has some 200 KiB.
pub(crate) const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How often a wait looks at the child itself and at the interrupt flag.
const SLICE: Duration = Duration::from_millis(20);

/// The read end of a child's standard output.
#[derive(Debug)]
pub(crate) struct Lines {
    pipe: ChildStdout,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that are known to hold no line's end.
    scanned: usize,
}

/// What came of waiting for a line.
#[derive(Debug)]
pub enum Outcome {
    /// A line, without its end. Bytes that are not UTF-8 are replaced.
    Line(String),
    /// The pipe is closed or the child has ended, and what was left in the pipe had no line's end.
    Closed,
    /// The child is stopped by this signal: whatever it does after that has no figures.
    Stopped(i32),
    /// More bytes without a line's end than any message needs.
    TooLong,
    /// The deadline passed.
    TimedOut,
    /// The interrupt flag was raised.
    Interrupted,
}

impl Lines {
    pub(crate) fn new(pipe: ChildStdout) -> Lines {
        Lines { pipe, buffer: Vec::new(), scanned: 0 }
    }

    /// The next line, or why there is none. `state` tells what has become of the child, whose end of the pipe a
    /// descendant of it may still hold open.
    pub(crate) fn next(
        &mut self,
        deadline: Instant,
        interrupt: Option<&Arc<AtomicBool>>,
        state: impl Fn() -> io::Result<State>,
    ) -> io::Result<Outcome> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(Outcome::Line(line));
            }
            if self.buffer.len() > LINE_BYTES_MAX {
                return Ok(Outcome::TooLong);
            }
            if interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                return Ok(Outcome::Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if self.readable(left.min(SLICE))? {
                if !self.read()? {
                    return Ok(Outcome::Closed);
                }
                continue;
            }
            match state()? {
                State::Stopped(signal) => return Ok(Outcome::Stopped(signal)),
                // What it wrote just before it ended is still to be read.
                State::Ended if !self.readable(Duration::ZERO)? => return Ok(Outcome::Closed),
                State::Ended => {}
                State::Running if left.is_zero() => return Ok(Outcome::TimedOut),
                State::Running => {}
            }
        }
    }

    /// Whether there was anything but the pipe's end.
    fn read(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 64 * 1024];
        match self.pipe.read(&mut chunk) {
            Ok(count) => {
                self.buffer.extend_from_slice(&chunk[..count]);
                Ok(count > 0)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn buffered(&mut self) -> Option<String> {
        let Some(offset) = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n') else {
            self.scanned = self.buffer.len();
            return None;
        };
        let end = self.scanned + offset;
        let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..=end);
        self.scanned = 0;
        Some(line)
    }

    fn readable(&self, wait: Duration) -> io::Result<bool> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
        let mut fds = [PollFd::new(&self.pipe, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
