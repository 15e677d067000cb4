//! What this process has used, by the kernel's account.

use std::fs;

use cell_protocol::Usage;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;

/// The usage of this process, of the children that it has reaped, and of its `workers`, which live.
///
/// The first two are from `getrusage(2)`, which counts all threads, also those that have ended.
pub(crate) fn usage(workers: &[u32]) -> Usage {
    let mut total = Usage::default();
    // Those that have been reaped first: one that ends meanwhile is missed once, and not counted twice.
    for who in [UsageWho::RUSAGE_CHILDREN, UsageWho::RUSAGE_SELF] {
        // It fails only for a bad argument, and these are good.
        let Ok(part) = getrusage(who) else { continue };
        let count = |value: i64| u64::try_from(value).unwrap_or(0);
        total.user_ns += count(part.user_time().num_nanoseconds());
        total.system_ns += count(part.system_time().num_nanoseconds());
        total.voluntary_switches += count(part.voluntary_context_switches());
        total.involuntary_switches += count(part.involuntary_context_switches());
    }
    for worker in workers {
        // One that has just ended is counted when it is reaped.
        if let Some(part) = usage_of(*worker) {
            total.user_ns += part.user_ns;
            total.system_ns += part.system_ns;
            total.voluntary_switches += part.voluntary_switches;
            total.involuntary_switches += part.involuntary_switches;
        }
    }
    total
}

/// The usage of another process: its CPU clock, divided into user and system time as its ticks of
/// 10 ms are, and the switches of the threads that it has now.
fn usage_of(process: u32) -> Option<Usage> {
    let clock = clock_getcpuclockid(Pid::from_raw(i32::try_from(process).ok()?)).ok()?;
    let cpu_ns = u64::try_from(clock.now().ok()?.num_nanoseconds()).ok()?;
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may hold anything; utime and stime are the 12th and 13th fields after it.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u128>().ok();
    let (user, system) = (ticks()?, ticks()?);
    let user_ns = u128::from(cpu_ns) * user / (user + system).max(1);
    let user_ns = u64::try_from(user_ns).ok()?;
    let mut usage = Usage { user_ns, system_ns: cpu_ns - user_ns, ..Usage::default() };
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten() {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        for line in status.lines() {
            let count = |rest: &str| rest.trim().parse::<u64>().unwrap_or(0);
            if let Some(rest) = line.strip_prefix("voluntary_ctxt_switches:") {
                usage.voluntary_switches += count(rest);
            } else if let Some(rest) = line.strip_prefix("nonvoluntary_ctxt_switches:") {
                usage.involuntary_switches += count(rest);
            }
        }
    }
    Some(usage)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn work_shows_as_user_time() {
        let before = usage(&[]);
        let mut state = 0_u64;
        while usage(&[]).since(before).cpu_ns() < 20_000_000 {
            for round in 0..100_000 {
                state = black_box(state.wrapping_mul(31).wrapping_add(round));
            }
        }
        assert!(usage(&[]).since(before).user_ns > 0);
    }

    #[test]
    fn another_process_is_seen_as_it_sees_itself() {
        let own = usage_of(std::process::id()).unwrap();
        let all = usage(&[]);
        assert!(own.cpu_ns() > 0 && own.cpu_ns() <= all.cpu_ns() + 10_000_000, "{own:?} of {all:?}");
        assert!(usage_of(u32::MAX).is_none());
    }
}
