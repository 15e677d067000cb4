//! Opening the directory of a run again, to go on with it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;

use anyhow::Context;

use super::{ROWS, Store};
use crate::exit::usage;
use crate::row::Row;

impl Store {
    /// Opens the directory of a run for more rows. Of those that it has, `keep` says which stay, as they were written;
    /// the others, and a last line that was cut, are gone. The file is replaced whole.
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
        let (mut kept, mut last) = (Vec::with_capacity(text.len()), 0);
        for line in text.split(|byte| *byte == b'\n') {
            let row: Result<Row, _> = serde_json::from_slice(line);
            if let Some(row) = row.ok().filter(|row| keep(row)) {
                kept.extend_from_slice(line);
                kept.push(b'\n');
                last = last.max(row.order);
            }
        }
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
