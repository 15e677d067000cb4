//! Opening the directory of a run again, to go on with it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;

use anyhow::Context;

use super::{REPLACED, ROWS, Store};
use crate::exit::usage;
use crate::row::Row;

impl Store {
    /// Opens the directory of a run for more rows. Of those that it has, `keep` says which stay, as they were written;
    /// the others go to [`REPLACED`], after those that are there, and a last line that was cut is gone. The file is
    /// replaced whole.
    ///
    /// # Errors
    ///
    /// A usage error where another harness still writes there.
    pub(crate) fn reopen(directory: &Path, keep: impl Fn(&Row) -> bool) -> anyhow::Result<Store> {
        let path = directory.join(ROWS);
        let cannot = || format!("cannot open {}", path.display());
        let old = OpenOptions::new().read(true).append(true).open(&path).with_context(cannot)?;
        lock(&old, directory)?;
        let text = fs::read(&path).with_context(cannot)?;
        let (mut kept, mut replaced, mut last) = (Vec::with_capacity(text.len()), Vec::new(), 0);
        for line in text.split(|byte| *byte == b'\n') {
            let Ok(row) = serde_json::from_slice::<Row>(line) else { continue };
            let rows = if keep(&row) { &mut kept } else { &mut replaced };
            rows.extend_from_slice(line);
            rows.push(b'\n');
            last = last.max(row.order);
        }
        keep_replaced(directory, &replaced)?;
        let temporary = directory.join(format!(".{ROWS}.tmp"));
        let replace = || -> anyhow::Result<File> {
            // What a harness left that was killed here is not appended to.
            let _none_left = fs::remove_file(&temporary);
            let mut rows = OpenOptions::new().append(true).create_new(true).open(&temporary)?;
            rows.write_all(&kept)?;
            rows.sync_all()?;
            // Before the new file is seen, so that there is no instant at which another harness could take it.
            lock(&rows, directory)?;
            fs::rename(&temporary, &path)?;
            Ok(rows)
        };
        let rows = replace()
            .inspect_err(|_| {
                let _removed = fs::remove_file(&temporary);
            })
            .with_context(|| format!("cannot write {}", path.display()))?;
        let bytes = u64::try_from(kept.len()).unwrap_or(u64::MAX);
        Ok(Store { directory: directory.to_owned(), rows, count: last, bytes })
    }
}

/// Appends to the rows of cells that were measured again: they are there before they are missed elsewhere.
fn keep_replaced(directory: &Path, rows: &[u8]) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let path = directory.join(REPLACED);
    let append = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
        file.write_all(rows)?;
        file.sync_all()
    };
    append().with_context(|| format!("cannot write {}", path.display()))
}

/// Keeps every other harness from writing there for as long as `rows` is open.
pub(super) fn lock(rows: &File, directory: &Path) -> anyhow::Result<()> {
    match rows.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(usage(format!("another harness is still writing to {}", directory.display())))
        }
        // A file system that has no locks has none.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}
