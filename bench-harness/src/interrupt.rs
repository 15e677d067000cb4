//! Ctrl-C: once ends the run after what is finished is kept, twice ends it now.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::output::tell;

/// Whether the run was told to end. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    flag: Arc<AtomicBool>,
    /// Tells of it.
    teller: Arc<OnceLock<JoinHandle<()>>>,
}

/// How often a sleep looks at the flag.
const SLICE: Duration = Duration::from_millis(20);
/// How long the end may wait for a standard error that takes nothing.
const TOLD_WITHIN: Duration = Duration::from_millis(100);

impl Interrupt {
    /// From here on SIGINT and SIGTERM raise the flag; the second one kills the children and exits.
    pub(crate) fn install() -> anyhow::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let raised = interrupt.clone();
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot listen for signals")?;
        thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                let mut signals = signals.forever();
                signals.next();
                raised.flag.store(true, Ordering::SeqCst);
                // From a thread of its own: where standard error takes nothing, the next signal is heard all the same.
                let teller = thread::Builder::new().name("told".into()).spawn(|| {
                    tell(format_args!("interrupted: ending what runs; once more ends at once"));
                });
                _ = teller.map(|teller| raised.teller.set(teller));
                signals.next();
                cell_control::kill_every_cell();
                process::exit(130);
            })
            .context("cannot start the thread that listens for signals")?;
        Ok(interrupt)
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    /// Waits until the interruption was told of, if there was one: a command that had nothing to wait for ends at once.
    pub(crate) fn wait_until_told(&self) {
        let give_up = Instant::now() + TOLD_WITHIN;
        let told = || self.teller.get().is_some_and(JoinHandle::is_finished);
        while self.is_raised() && !told() && Instant::now() < give_up {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The flag itself, for waits in other crates.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// Sleeps until `instant`, or until the flag is raised.
    pub(crate) fn sleep_until(&self, instant: Instant) {
        while !self.is_raised() {
            let left = instant.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(SLICE));
        }
    }
}
