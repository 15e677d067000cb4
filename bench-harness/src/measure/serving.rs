//! A server's process until it listens, what its clients request of it, and what it counts meanwhile.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use cell_control::{CellError, CellProcess};
use cell_protocol::{CellSpec, ServeTask, Snapshot};
use workload::arrivals::{OpenArrivals, Schedule};
use workload::http::answer_body;
use workload::{Answer, BlockingStrategy, Plan, ServerCounts};

use super::{Bench, NoFigures, ns, per};
use crate::contestant::Contestant;
use crate::row::{Measured, Status};

/// A server that has been let go, and has served nothing yet.
#[derive(Debug)]
pub(super) struct Serving {
    pub(super) process: CellProcess,
    pub(super) listen: SocketAddr,
    /// Before the first request.
    pub(super) before: Snapshot,
}

impl Serving {
    pub(super) fn start(
        bench: &Bench,
        contestant: &Contestant,
        spec: &CellSpec,
    ) -> Result<Serving, CellError> {
        let mut process = bench.start(contestant, spec)?;
        let listen = process.listen()?;
        let before = process.snapshot()?;
        process.go()?;
        Ok(Serving { process, listen, before })
    }
}

/// A server with the limits of every HTTP cell, whose queue, where the model has one, holds `requests`.
pub(super) fn task(bench: &Bench, requests: u64) -> ServeTask {
    let limits = &bench.values.server;
    ServeTask {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        backlog: limits.backlog,
        in_flight_limit: limits.in_flight_limit,
        connections_max: limits.connections_max,
        queue_capacity: usize::try_from(requests).unwrap_or(usize::MAX),
        idle_timeout_ns: ns(limits.idle_timeout),
        request_timeout_ns: ns(limits.request_timeout),
    }
}

/// Where a client sends a plan to. Inline is what a server does unasked.
pub(super) fn target(plan: &Plan, strategy: BlockingStrategy, seed: u64) -> String {
    match strategy {
        BlockingStrategy::Inline => format!("/run/{plan}?seed={seed}"),
        other => format!("/run/{plan}?strategy={other}&seed={seed}"),
    }
}

/// The body that the answer to a plan must have.
pub(super) fn expected_body(plan: &Plan, seed: u64) -> Option<String> {
    let steps = u32::try_from(plan.steps().len()).unwrap_or(u32::MAX);
    Some(answer_body(Answer { steps, checksum: plan.checksum(seed) }))
}

/// How many requests a schedule has after the warm-up: what a client must have offered.
pub(super) fn scheduled(arrivals: &OpenArrivals, warmup: Duration) -> u64 {
    let in_window = arrivals.starts_ns().filter(|start_ns| *start_ns >= ns(warmup));
    u64::try_from(in_window.count()).unwrap_or(u64::MAX)
}

/// A client that was interrupted has not failed.
pub(super) fn client_failed(bench: &Bench, reason: String) -> NoFigures {
    let status = if bench.interrupt.is_raised() { Status::Partial } else { Status::Failed };
    NoFigures { status, reason }
}

/// What was counted from one snapshot to another; gauges and peak are those of the latter.
pub(super) fn counted(before: &Snapshot, after: &Snapshot) -> ServerCounts {
    let (before, after) = (before.server.unwrap_or_default(), after.server.unwrap_or_default());
    let since = |count: fn(&ServerCounts) -> u64| count(&after).saturating_sub(count(&before));
    ServerCounts {
        accepted: since(|counts| counts.accepted),
        completed: since(|counts| counts.completed),
        rejected: since(|counts| counts.rejected),
        failed: since(|counts| counts.failed),
        refused: since(|counts| counts.refused),
        connections_accepted: since(|counts| counts.connections_accepted),
        connections_rejected: since(|counts| counts.connections_rejected),
        accept_out_of_descriptors: since(|counts| counts.accept_out_of_descriptors),
        accept_failed: since(|counts| counts.accept_failed),
        connections_unstartable: since(|counts| counts.connections_unstartable),
        in_flight_integral_ns: since(|counts| counts.in_flight_integral_ns),
        ..after
    }
}

/// Where several processes serve, how evenly the kernel dealt connections out to them: a limit of the whole is reached
/// only where each has its share.
pub(super) fn note_spread(measured: &mut Measured, server: &ServerCounts) {
    if server.processes > 1 {
        measured.note("connections_per_process_max", server.connections_accepted_most);
        measured.note("connections_per_process_mean", per(server.connections_accepted, server.processes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_connections_were_spread_is_said_where_there_are_several_processes() {
        let spread = |processes, connections_accepted_most| {
            let counts = ServerCounts { connections_accepted: 33, ..ServerCounts::default() };
            let mut measured = Measured::default();
            let counts = ServerCounts { processes, connections_accepted_most, ..counts };
            note_spread(&mut measured, &counts);
            measured.evidence
        };
        assert!(spread(1, 33).is_empty());
        let two = spread(2, 30);
        assert_eq!(
            (&two["connections_per_process_max"], &two["connections_per_process_mean"]),
            (&30.into(), &16.5.into())
        );
    }

    #[test]
    fn a_target_names_what_is_not_done_unasked() {
        let plan = "block=5ms".parse().unwrap();
        assert_eq!(target(&plan, BlockingStrategy::Inline, 7), "/run/block=5ms?seed=7");
        let offloaded = target(&plan, BlockingStrategy::Offload, 7);
        assert_eq!(offloaded, "/run/block=5ms?strategy=offload&seed=7");
    }
}
