//! Lines from a pipe, with a deadline and a bound on their length.

use std::io::{self, Read};
use std::process::ChildStdout;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The most bytes of one line. The largest message, a result with four histograms, has some 100 KiB.
pub(crate) const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How often a wait looks at the interrupt flag.
const SLICE: Duration = Duration::from_millis(50);

/// The read end of a child's standard output.
#[derive(Debug)]
pub(crate) struct Lines {
    pipe: ChildStdout,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that are known to hold no line's end.
    scanned: usize,
}

/// What came.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A line, without its end. Bytes that are not UTF-8 are replaced.
    Line(String),
    /// The pipe is closed, and what was left in it had no line's end.
    Closed,
    /// More than [`LINE_BYTES_MAX`] bytes without a line's end.
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

    /// The next line, or why there is none.
    pub(crate) fn next(
        &mut self,
        deadline: Instant,
        interrupt: Option<&Arc<AtomicBool>>,
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
                let mut chunk = [0; 64 * 1024];
                match self.pipe.read(&mut chunk) {
                    Ok(0) => return Ok(Outcome::Closed),
                    Ok(count) => self.buffer.extend_from_slice(&chunk[..count]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            } else if left.is_zero() {
                return Ok(Outcome::TimedOut);
            }
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
