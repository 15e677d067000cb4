//! A cell that serves: a load client in another process offers the requests.

use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

use cell_protocol::{CellSpec, Command, Event, Ready, ServeTask, Snapshot};
use execution_model::Runtime;
use execution_model::server::{ListenSpec, ServerLimits};

use super::{commands, ends_with_the_process, say, snapshot, stopped};
use crate::abilities::RunningServer;
use crate::ending::usage;

/// Where the server is to listen, and its limits.
pub(super) fn checked(task: &ServeTask) -> anyhow::Result<(ListenSpec, ServerLimits)> {
    let listen = ListenSpec { address: task.listen, backlog: task.backlog, reuse_port: false };
    let limits = ServerLimits {
        in_flight: task.in_flight_limit,
        connections: task.connections_max,
        idle: Duration::from_nanos(task.idle_timeout_ns),
        request: Duration::from_nanos(task.request_timeout_ns),
    };
    Ok((listen.checked().map_err(usage)?, limits.checked().map_err(usage)?))
}

pub(super) fn run<R: Runtime>(
    runtime: R,
    mut server: Box<dyn RunningServer>,
    spec: &CellSpec,
) -> anyhow::Result<()> {
    let runtime = ends_with_the_process(runtime);
    say(&Event::Ready(Ready { pid: std::process::id(), listen: Some(server.address()) }))?;
    for command in commands() {
        match command? {
            Command::Go => {}
            Command::Snapshot => {
                let (counts, loop_lag) = (server.counts(), Some(server.loop_lag()));
                // The instant of the counts, which are compared with those of others over the same time.
                let (at_monotonic_ns, server) = (counts.at_monotonic_ns, Some(counts));
                let snapshot = Snapshot { at_monotonic_ns, server, loop_lag, ..snapshot(&*runtime) };
                say(&Event::Snapshot(snapshot))?;
            }
            Command::Stop => {
                let deadline = Instant::now() + Duration::from_nanos(spec.drain_ns);
                let unfinished = server.drain(deadline);
                let counts = server.counts();
                drop(server);
                return stopped(ManuallyDrop::into_inner(runtime), deadline, unfinished, Some(counts));
            }
        }
    }
    Ok(())
}
