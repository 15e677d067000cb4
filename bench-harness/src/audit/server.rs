//! What a server has counted when it has ended: each plan that it accepted came to one end, its gauges are at zero, and
//! the CPU time that it told is what the kernel charged.

use cell_control::End;

use super::quota::quota;
use super::{at_least, at_most, equal};
use crate::row::Check;

/// Of the CPU time that the kernel charged to a process from its start to its end, as much it has seen itself when it
/// stops: what follows is the end of the process alone.
const SEEN_SHARE_MIN: f64 = 0.9;
/// And in any case so much may follow, beside the time for memory that is given back: 20,000 stacks of coroutines, of
/// 160 MB in all, take 60 to 90 ms.
const EXIT_CPU_NS: u64 = 50_000_000;
const EXIT_CPU_NS_PER_BYTE: u64 = 1;

/// The audits of a server's end. `unheard` are the requests whose answer the client did not wait for: the server may
/// still have been at them.
pub(crate) fn server(end: &End, unheard: u64) -> Vec<Check> {
    let mut checks = vec![at_most("unfinished_at_stop", end.stopped.unfinished, unheard)];
    let counts = end.stopped.server.unwrap_or_default();
    let accounted = counts.completed + counts.failed + counts.in_flight + counts.queued;
    checks.push(equal("accepted_are_accounted_for", accounted, counts.accepted));
    if end.stopped.unfinished == 0 {
        checks.push(equal("in_flight_after_drain", counts.in_flight, 0));
        checks.push(equal("queued_after_drain", counts.queued, 0));
        checks.push(equal("connections_after_drain", counts.connections, 0));
    }
    checks.extend(used(end));
    checks
}

/// What a process says that it used against what the kernel charged to it, when it had ended; and its quota, where it had
/// one.
pub(super) fn used(end: &End) -> Vec<Check> {
    let (told, reaped) = (end.stopped.usage.cpu_ns(), end.usage.cpu_ns());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "CPU time is positive and far below 2^53 ns"
    )]
    let seen_min = (reaped as f64 * SEEN_SHARE_MIN) as u64;
    let exit_ns = EXIT_CPU_NS.saturating_add(end.rss_max_bytes.saturating_mul(EXIT_CPU_NS_PER_BYTE));
    let mut checks = vec![
        at_most("cpu_within_reaped_ns", told, reaped),
        at_least("cpu_nearly_reaped_ns", told, seen_min.saturating_sub(exit_ns)),
    ];
    checks.extend(quota(end));
    checks
}

#[cfg(test)]
mod tests {
    use cell_protocol::{Stopped, Usage};
    use workload::ServerCounts;

    use super::super::failing;
    use super::*;

    fn used_ms(ms: u64) -> Usage {
        Usage { user_ns: ms * 1_000_000, ..Usage::default() }
    }

    /// A server that was at its limit: many were turned away, and some panicked.
    fn good() -> End {
        let counts = ServerCounts {
            accepted: 1_000,
            completed: 990,
            failed: 10,
            rejected: 5_000,
            in_flight_peak: 200,
            ..ServerCounts::default()
        };
        let stopped = Stopped { unfinished: 0, server: Some(counts), usage: used_ms(1_950) };
        End { stopped, usage: used_ms(2_000), rss_max_bytes: 1, held: None }
    }

    fn failing_with(change: impl FnOnce(&mut End, &mut ServerCounts)) -> Vec<String> {
        let mut end = good();
        let mut counts = end.stopped.server.unwrap();
        change(&mut end, &mut counts);
        end.stopped.server = Some(counts);
        failing(server(&end, 3))
    }

    #[test]
    fn a_saturated_server_passes() {
        assert!(failing_with(|_, _| ()).is_empty());
        // Three were still at work when it had to stop, and the client had given them up.
        let stuck = failing_with(|end, counts| {
            end.stopped.unfinished = 3;
            (counts.completed, counts.in_flight, counts.queued, counts.connections) = (987, 2, 1, 3);
        });
        assert!(stuck.is_empty(), "{stuck:?}");
    }

    #[test]
    fn each_lie_is_caught_by_its_own_check() {
        assert_eq!(failing_with(|_, counts| counts.completed -= 1), ["accepted_are_accounted_for"]);
        assert_eq!(failing_with(|_, counts| counts.accepted -= 1), ["accepted_are_accounted_for"]);
        let leaked = failing_with(|_, counts| (counts.completed, counts.in_flight) = (989, 1));
        assert_eq!(leaked, ["in_flight_after_drain"]);
        let leaked = failing_with(|_, counts| (counts.completed, counts.queued) = (989, 1));
        assert_eq!(leaked, ["queued_after_drain"]);
        assert_eq!(failing_with(|_, counts| counts.connections = 1), ["connections_after_drain"]);
        assert_eq!(failing_with(|end, _| end.stopped.unfinished = 4), ["unfinished_at_stop"]);
        assert_eq!(failing_with(|end, _| end.stopped.usage = used_ms(2_001)), ["cpu_within_reaped_ns"]);
        assert_eq!(failing_with(|end, _| end.stopped.usage = used_ms(1_749)), ["cpu_nearly_reaped_ns"]);
    }
}
