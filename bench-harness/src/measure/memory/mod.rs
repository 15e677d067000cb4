//! `memory.tasks` and `memory.connections`: what one more waiting request, or one more idle connection, costs.
//!
//! One process grows and is looked at from outside while a known number of them is there. One process, and not one for
//! each number: which pages a process has touched before it does anything differs by more than a hundred tasks take.

mod checks;
mod connections;
mod fit;
mod holders;
mod look;
mod tasks;
mod trial;

use crate::row::Measured;
use crate::sample;

pub(super) use connections::measure as connections;
pub(crate) use holders::hold;
pub(super) use tasks::measure as tasks;

use look::Look;

/// What is said beside a slope: what there was before and after, and whose memory it is.
fn surroundings(measured: &mut Measured, before: &Look, after: Option<&Look>) {
    measured.note("before", before.evidence(None));
    // What an allocator keeps for later is no longer of use, and still there.
    if let Some(after) = after {
        measured.note("after_release", after.evidence(None));
    }
    measured.note("allocator", sample::allocator());
}
