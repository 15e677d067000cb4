//! One server under load from its start to its end, with the window in which its cost is taken.

use std::time::{Duration, Instant};

use cell_control::{CellProcess, End};
use cell_protocol::{Snapshot, Task, Usage};
use load_driver::hiccup::HiccupMeter;
use load_driver::http::{HttpLoad, HttpLoadResult, HttpLoadSpec};
use load_driver::pace::monotonic_ns;
use load_driver::priority::Priority;
use workload::{BlockingStrategy, Plan, ServerCounts};

use super::SERVER_BUSY_SHARE_MIN;
use super::syscalls::Counter;
use crate::audit::{Computing, Regime};
use crate::contestant::Contestant;
use crate::measure::clients::Clients;
use crate::measure::serving::{self, Serving, client_failed};
use crate::measure::{Bench, DRAIN, NoFigures, after, ns, patience};
use crate::place::{self, Apart};

/// From the start of the client's process to its first request: so that all connections are open.
const LEAD: Duration = Duration::from_millis(200);

/// What is offered.
pub(super) struct Load<'a> {
    pub(super) plan: &'a Plan,
    pub(super) connections: u64,
    pub(super) warmup: Duration,
    pub(super) duration: Duration,
    pub(super) timeout: Duration,
    pub(super) load: HttpLoad,
}

/// What was seen.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) client: HttpLoadResult,
    pub(super) plan: Plan,
    pub(super) connections: u64,
    /// When the window begins, and how long it is.
    pub(super) begin_ns: u64,
    pub(super) duration: Duration,
    /// What the server used in the window.
    pub(super) usage: Usage,
    /// What it completed in the window, by its own count.
    pub(super) completed: u64,
    /// The window's length, by the server's two snapshots.
    pub(super) elapsed_ns: u64,
    /// What the server had counted at these.
    pub(super) at_edges: [ServerCounts; 2],
    /// The server's counts from the first request to the last.
    pub(super) whole: ServerCounts,
    /// What it used from before the first to after the last.
    pub(super) usage_of_all: Usage,
    pub(super) end: End,
    pub(super) in_flight_limit: Option<u64>,
    pub(super) computing: Computing,
    /// The system calls of a part of the warm-up, or why they cannot be counted.
    pub(super) syscalls: Result<Syscalls, String>,
    /// Those that the server may run on; of a quota, it has less of their time.
    pub(super) server_cpus: Vec<usize>,
    pub(super) client_cpus: Vec<usize>,
    /// The CPUs that the kernel lets the server use.
    pub(super) server_cpus_allowed: Vec<usize>,
    /// Stalls of the machine beside the load.
    pub(super) stall_p99_ns: Option<u64>,
}

/// System calls of all threads, and the requests that were completed meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syscalls {
    pub(super) count: u64,
    pub(super) completed: u64,
}

impl Seen {
    /// An open loop that a server cannot keep up with: it has used up its CPUs, and what comes waits longer and longer.
    pub(super) fn regime(&self) -> Regime {
        let behind = self.client.completed_in_window < self.client.offered;
        if behind && self.server_busy_share() >= SERVER_BUSY_SHARE_MIN {
            Regime::Saturated
        } else {
            Regime::Steady
        }
    }

    /// Of the CPU time that there was for it in the window.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of CPU time are far below 2^53")]
    pub(super) fn server_busy_share(&self) -> f64 {
        let there_was = self.elapsed_ns.max(1) as f64 * self.computing.cpus.max(1) as f64;
        self.usage.cpu_ns() as f64 / there_was
    }
}

pub(super) fn run(bench: &Bench, contestant: &Contestant, load: &Load<'_>) -> Result<Seen, NoFigures> {
    let apart = contestant.place.apart().map_err(|error| NoFigures::failed(format!("{error:#}")))?;
    let mut contestant = contestant.clone();
    contestant.place.clone_from(&apart.server);
    let runner = |error: cell_control::CellError| NoFigures::from(&error);
    let task = Task::Serve(serving::task(bench, load.connections));
    let serving = Serving::start(bench, &contestant, &bench.spec(&contestant, task)).map_err(runner)?;
    let Serving { process: mut cell, listen, before } = serving;
    let meter = HiccupMeter::start(&apart.client, Priority::Usual)
        .map_err(|error| NoFigures::failed(format!("the hiccup meter cannot start: {error}")))?;
    let (start_ns, start) = (monotonic_ns() + ns(LEAD), after(Instant::now(), LEAD));
    let spec = spec(bench, load, listen, &apart, start_ns);
    let clients = Clients::start(&spec, 1, Priority::Usual)
        .map_err(|error| NoFigures::failed(format!("cannot start the client's process: {error}")))?;
    let at = |share: f64| after(start, load.warmup.mul_f64(share));
    bench.sleep_beside(&cell, at(0.25));
    let syscalls = count_syscalls(&mut cell, |cell| bench.sleep_beside(cell, at(0.9)))?;
    bench.sleep_beside(&cell, at(1.0));
    let begin = cell.snapshot().map_err(runner)?;
    bench.sleep_beside(&cell, after(start, load.warmup + load.duration));
    let end = cell.snapshot().map_err(runner)?;
    let deadline = after(start, patience(load.warmup + load.duration + load.timeout));
    let client = clients.collect(deadline, &bench.interrupt, &cell);
    let stalls = meter.stop();
    // A dead server explains a failed client, so it is asked first.
    let last = cell.snapshot().map_err(runner)?;
    let client = client.map_err(|reason| client_failed(bench, reason))?;
    let server_cpus_allowed = place::cpus_allowed(cell.pid());
    let window = serving::counted(&begin, &end);
    Ok(Seen {
        usage: end.usage.since(begin.usage),
        completed: window.completed,
        elapsed_ns: end.at_monotonic_ns.saturating_sub(begin.at_monotonic_ns),
        plan: load.plan.clone(),
        connections: load.connections,
        begin_ns: start_ns + ns(load.warmup),
        duration: load.duration,
        at_edges: [begin, end].map(|snapshot| snapshot.server.unwrap_or_default()),
        whole: serving::counted(&before, &last),
        usage_of_all: last.usage.since(before.usage),
        in_flight_limit: contestant.in_flight_limit,
        computing: bench.computing(&apart.server),
        end: cell.stop(patience(DRAIN)).map_err(runner)?,
        client,
        syscalls,
        server_cpus: apart.server.cpus,
        client_cpus: apart.client,
        server_cpus_allowed,
        stall_p99_ns: stalls.stall_p99_ns(),
    })
}

/// Counts while `wait` lasts. Counting slows system calls down, so it ends before the window begins.
fn count_syscalls(
    cell: &mut CellProcess,
    wait: impl FnOnce(&CellProcess),
) -> Result<Result<Syscalls, String>, NoFigures> {
    let completed = |cell: &mut CellProcess| -> Result<u64, NoFigures> {
        let Snapshot { server, .. } = cell.snapshot().map_err(|error| NoFigures::from(&error))?;
        Ok(server.unwrap_or_default().completed)
    };
    let mut counter = match Counter::start(cell.pid()) {
        Ok(counter) => counter,
        Err(reason) => return Ok(Err(reason)),
    };
    let (count, before) = (counter.read(), completed(cell)?);
    wait(cell);
    let (count_after, after) = (counter.read(), completed(cell)?);
    Ok(count.and_then(|count| {
        let count = count_after?.saturating_sub(count);
        Ok(Syscalls { count, completed: after.saturating_sub(before) })
    }))
}

fn spec(
    bench: &Bench,
    load: &Load<'_>,
    server: std::net::SocketAddr,
    apart: &Apart,
    start_ns: u64,
) -> HttpLoadSpec {
    HttpLoadSpec {
        server,
        target: serving::target(load.plan, BlockingStrategy::Inline, bench.seed),
        expected_body: serving::expected_body(load.plan, bench.seed),
        connections: usize::try_from(load.connections).unwrap_or(usize::MAX),
        load: load.load.clone(),
        timeout_ns: ns(load.timeout),
        drain_ns: ns(load.timeout),
        cpus: apart.client.clone(),
        spread_sources: true,
        start_at_monotonic_ns: Some(start_ns),
    }
}
