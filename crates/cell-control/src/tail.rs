//! The end of a child's standard error: read by a thread, so that a child which writes much never
//! blocks, and bounded, so that it cannot eat the harness's memory.

use std::io::Read;
use std::process::ChildStderr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How much of it is kept.
const BYTES_MAX: usize = 16 * 1024;
/// The longest last line in a reason.
const LINE_CHARS_MAX: usize = 300;

/// What a child wrote to its standard error, as far as it is kept.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Tail {
    pub(crate) fn new(mut pipe: ChildStderr) -> Tail {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&kept);
        let reader = thread::Builder::new().name("stderr".into()).stack_size(128 * 1024).spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&chunk[..count]);
                let surplus = kept.len().saturating_sub(BYTES_MAX);
                kept.drain(..surplus);
            }
        });
        // Where no thread can be had, the pipe is closed and the child's words are lost, no more.
        Tail { kept, reader: reader.ok() }
    }

    /// Waits until the child's end of the pipe is closed, but not long: a stray descendant may hold it.
    pub(crate) fn settle(&mut self) {
        let deadline = Instant::now() + Duration::from_millis(500);
        while let Some(reader) = &self.reader {
            if reader.is_finished() {
                self.reader.take().map(JoinHandle::join);
            } else if Instant::now() >= deadline {
                return;
            } else {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// The last line that is not empty.
    ///
    /// A panic's message is followed by a note about backtraces, which tells nobody anything and is skipped.
    pub(crate) fn last_line(&self) -> Option<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let told = |line: &&str| !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE");
        let line = text.lines().map(str::trim).rfind(told)?;
        Some(line.chars().take(LINE_CHARS_MAX).collect())
    }
}
