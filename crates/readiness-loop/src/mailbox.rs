//! How answers come back to the loop from other threads: a list, and an eventfd that ends its sleep.

use std::io;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use execution_model::{Answer, Panicked};
use rustix::event::{EventfdFlags, eventfd};

/// The end of the request of connection `key`: an answer, or nothing where it was dropped.
pub(crate) type Letter = (usize, Option<Result<Answer, Panicked>>);

/// The loop's end.
#[derive(Debug)]
pub(crate) struct Mailbox {
    shared: Arc<Shared>,
}

/// The senders' end.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    letters: Mutex<Vec<Letter>>,
    /// Whether the loop may be asleep, so that a sender must wake it.
    asleep: AtomicBool,
    bell: OwnedFd,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Mailbox> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let shared = Shared { letters: Mutex::new(Vec::new()), asleep: AtomicBool::new(false), bell };
        Ok(Mailbox { shared: Arc::new(shared) })
    }

    pub(crate) fn sender(&self) -> Sender {
        Sender { shared: Arc::clone(&self.shared) }
    }

    /// What to watch for readability while asleep.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }

    /// Says that the loop is about to sleep. Returns whether it must not, because there are letters.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.shared.asleep.store(true, Ordering::SeqCst);
        !self.shared.letters().is_empty()
    }

    /// The loop is awake: takes the letters, into a list that comes back empty but with its memory.
    pub(crate) fn wake_up(&self, letters: &mut Vec<Letter>) {
        self.shared.asleep.store(false, Ordering::SeqCst);
        mem::swap(letters, &mut self.shared.letters());
    }

    /// Silences the bell after it rang.
    pub(crate) fn silence(&self) {
        let mut count = [0; 8];
        // It can only fail with "would block", when it was silent already.
        let _silent = rustix::io::read(&self.shared.bell, &mut count);
    }
}

impl Sender {
    pub(crate) fn send(&self, key: usize, answer: Option<Result<Answer, Panicked>>) {
        self.shared.letters().push((key, answer));
        self.wake();
    }

    /// Ends the loop's sleep.
    pub(crate) fn wake(&self) {
        if self.shared.asleep.swap(false, Ordering::SeqCst) {
            // It can only fail when the count is full, and then the bell rings already.
            let _ringing = rustix::io::write(&self.shared.bell, &1_u64.to_ne_bytes());
        }
    }
}

impl Shared {
    fn letters(&self) -> std::sync::MutexGuard<'_, Vec<Letter>> {
        self.letters.lock().expect("nothing panics under this lock")
    }
}
