//! The counts of all workers, in memory that every process of the server maps.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;
use std::slice;

use execution_model::server::Counts;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap};

/// Fresh counts for `parts` processes, and the descriptor by which others map them.
pub(crate) fn create(parts: usize) -> io::Result<(OwnedFd, &'static [Counts])> {
    let memory = memfd_create("counts", MemfdFlags::CLOEXEC)?;
    ftruncate(&memory, (parts * size_of::<Counts>()) as u64)?;
    let counts = open(&memory, parts)?;
    Ok((memory, counts))
}

/// Maps the counts of `parts` processes, for as long as this process lives.
pub(crate) fn open(memory: impl AsFd, parts: usize) -> io::Result<&'static [Counts]> {
    let bytes = parts * size_of::<Counts>();
    // SAFETY: the mapping is new, as large as the file, and never undone. Counts are atomics for which
    // zeros, as the file began, are valid. Only their own methods write there. A page is aligned enough.
    #[expect(unsafe_code, reason = "mapping memory has no safe call")]
    unsafe {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let start = mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, memory, 0)?;
        Ok(slice::from_raw_parts(start.cast(), parts))
    }
}
