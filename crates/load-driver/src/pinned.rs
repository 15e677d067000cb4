//! A thread that is kept to CPUs for a time.

use std::io;

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Binds the calling thread, and those that it starts, to CPUs, until it is dropped.
#[derive(Debug)]
pub(crate) struct Pinned {
    before: Option<CpuSet>,
}

impl Pinned {
    /// No CPUs leave the thread where it is.
    ///
    /// # Errors
    /// A CPU is not there, or not this process's.
    pub(crate) fn to(cpus: &[usize]) -> io::Result<Self> {
        if cpus.is_empty() {
            return Ok(Self { before: None });
        }
        if cpus.iter().any(|&cpu| cpu >= CpuSet::MAX_CPU) {
            return Err(Errno::INVAL.into());
        }
        let before = sched_getaffinity(None)?;
        let mut set = CpuSet::new();
        cpus.iter().for_each(|&cpu| set.set(cpu));
        sched_setaffinity(None, &set)?;
        let pinned = Self { before: Some(before) };
        // The kernel takes the CPUs that exist and leaves out the others without a word.
        if sched_getaffinity(None)? == set { Ok(pinned) } else { Err(Errno::INVAL.into()) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // These CPUs were allowed a moment ago. Were they taken away since, the narrower set stays.
            let _still_pinned = sched_setaffinity(None, before);
        }
    }
}
