//! What this process has used, by the kernel's account.

use cell_protocol::Usage;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The usage of this process and of the children that it has reaped, from `getrusage(2)`, which
/// counts all threads, also those that have ended.
pub(crate) fn usage() -> Usage {
    let mut total = Usage::default();
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        // It fails only for a bad argument, and these are good.
        let Ok(part) = getrusage(who) else { continue };
        let count = |value: i64| u64::try_from(value).unwrap_or(0);
        total.user_ns += count(part.user_time().num_nanoseconds());
        total.system_ns += count(part.system_time().num_nanoseconds());
        total.voluntary_switches += count(part.voluntary_context_switches());
        total.involuntary_switches += count(part.involuntary_context_switches());
    }
    total
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn work_shows_as_user_time() {
        let before = usage();
        let mut state = 0_u64;
        while usage().since(before).cpu_ns() < 20_000_000 {
            for round in 0..100_000 {
                state = black_box(state.wrapping_mul(31).wrapping_add(round));
            }
        }
        assert!(usage().since(before).user_ns > 0);
    }
}
