//! The process groups of live cells, so that a harness which must end at once can take them with it.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::quota;

static LIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Kills the process group of every cell that has not been reaped, without waiting for it; and removes every control group
/// that a cell has of its own, for which it does wait until nothing is left in it.
///
/// For a harness that is about to exit; a [`CellProcess`](crate::CellProcess) kills its own when dropped.
pub fn kill_every_cell() {
    let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    for pid in live.iter().filter_map(|raw| Pid::from_raw(*raw)) {
        signal(pid, Signal::KILL);
    }
    drop(live);
    quota::remove_every_group();
}

pub(crate) fn register(leader: Pid) {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner).insert(leader.as_raw_nonzero().get());
}

/// To be called while the leader is not yet reaped: until then its number cannot name another group.
pub(crate) fn unregister(leader: Pid) {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner).remove(&leader.as_raw_nonzero().get());
}

/// Sends `signal` to the group. An error means that no process is left in it, which is what is wanted.
pub(crate) fn signal(leader: Pid, signal: Signal) {
    let _ = kill_process_group(leader, signal);
}
