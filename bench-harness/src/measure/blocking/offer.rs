//! One server under probes and blockers, from its start to its end. Each kind has a client process and connections of
//! its own, and both begin at one instant.

use std::time::{Duration, Instant};

use cell_control::{CellError, End};
use cell_protocol::{CellSpec, Snapshot, Task, Usage};
use load_driver::hiccup::{HiccupMeter, Hiccups};
use load_driver::http::{HttpLoad, HttpLoadResult, HttpLoadSpec};
use load_driver::pace::monotonic_ns;
use load_driver::priority::{self, Going, Priority};
use workload::arrivals::{OpenArrivals, Spacing};
use workload::{BlockingStrategy, LoopLag, Plan, ServerCounts};

use crate::audit::Computing;
use crate::experiment::Probe;
use crate::matrix::Cell;
use crate::measure::clients::Clients;
use crate::measure::serving::{self, Serving, client_failed};
use crate::measure::{Bench, NoFigures, after, ns, patience};

/// From the start of the clients' processes to the first request, and more for each connection that is opened before.
const LEAD: Duration = Duration::from_millis(200);
const LEAD_PER_CONNECTION: Duration = Duration::from_micros(200);
/// How long a runner may take to end. What an overload has left is not worth more.
const DRAIN: Duration = Duration::from_millis(200);

/// The requests of one kind.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) plan: Plan,
    pub(super) strategy: BlockingStrategy,
    pub(super) rate_per_s: f64,
    pub(super) spacing: Spacing,
    /// Of the schedule.
    pub(super) seed: u64,
    pub(super) connections: u64,
}

/// What both streams have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) warmup: Duration,
    pub(super) duration: Duration,
    pub(super) drain: Duration,
}

/// What was seen.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) probes: HttpLoadResult,
    pub(super) blockers: Option<HttpLoadResult>,
    /// The server's counts from the first request to the last.
    pub(super) server: ServerCounts,
    /// When the window begins, on `CLOCK_MONOTONIC`, and how long it is.
    pub(super) begin_ns: u64,
    pub(super) duration: Duration,
    /// The server's counts at instants near the window's edges.
    pub(super) at_edges: [ServerCounts; 2],
    /// Of the window.
    pub(super) lag: LoopLag,
    /// What the server used from the first request to the last.
    pub(super) usage: Usage,
    pub(super) computing: Computing,
    pub(super) hiccups: Hiccups,
    /// How the kernel lets the clients go before the server, as clients on another machine would.
    pub(super) clients_go_first: Going,
    pub(super) end: End,
}

impl Times {
    pub(super) fn of(values: &Probe) -> Times {
        Times { warmup: values.warmup, duration: values.duration, drain: values.drain }
    }

    /// From the first request until none is waited for any more.
    fn whole(&self) -> Duration {
        self.warmup + self.duration + self.drain
    }
}

impl Stream {
    /// How many requests the schedule has in the window.
    pub(super) fn scheduled(&self, times: &Times) -> u64 {
        let arrivals = OpenArrivals {
            rate_per_s: self.rate_per_s,
            spacing: self.spacing,
            seed: self.seed,
            duration: times.warmup + times.duration,
        };
        serving::scheduled(&arrivals, times.warmup)
    }

    /// More than there will be from the first to the last: twice what is expected of a rate.
    fn at_most(&self, times: &Times) -> u64 {
        crate::format::whole(2.0 * self.rate_per_s * times.whole().as_secs_f64()) + 1_000
    }

    fn spec(
        &self,
        bench: &Bench,
        times: &Times,
        server: std::net::SocketAddr,
        start_ns: u64,
    ) -> HttpLoadSpec {
        HttpLoadSpec {
            server,
            target: serving::target(&self.plan, self.strategy, bench.seed),
            expected_body: serving::expected_body(&self.plan, bench.seed),
            connections: usize::try_from(self.connections).unwrap_or(usize::MAX),
            load: HttpLoad::Open {
                rate_per_s: self.rate_per_s,
                arrivals: self.spacing,
                seed: self.seed,
                warmup_ns: ns(times.warmup),
                duration_ns: ns(times.duration),
                first: 0,
                stride: 1,
            },
            // Nothing times out: what has no answer at the end of the drain is cut, and has taken at least so long.
            timeout_ns: ns(patience(times.whole())),
            drain_ns: ns(times.drain),
            cpus: Vec::new(),
            spread_sources: true,
            start_at_monotonic_ns: Some(start_ns),
        }
    }
}

/// Offers both streams to one cell.
pub(super) fn run(
    bench: &Bench,
    cell: &Cell<'_>,
    offload_threads: Option<usize>,
    probes: &Stream,
    blockers: Option<&Stream>,
    times: &Times,
) -> Result<Seen, NoFigures> {
    let connections = probes.connections + blockers.map_or(0, |stream| stream.connections);
    let queued = [Some(probes), blockers].into_iter().flatten().map(|stream| stream.at_most(times)).sum();
    let task = Task::Serve(serving::task(bench, queued));
    let spec = CellSpec { offload_threads, drain_ns: ns(DRAIN), ..bench.spec(cell.contestant, task) };
    let serving = Serving::start(bench, cell.contestant, &spec).map_err(runner)?;
    let Serving { mut process, listen, before } = serving;
    let lead = LEAD + LEAD_PER_CONNECTION * u32::try_from(connections).unwrap_or(u32::MAX);
    let (start_ns, start) = (monotonic_ns() + ns(lead), after(Instant::now(), lead));
    let client = |stream: &Stream| {
        Clients::start(&stream.spec(bench, times, listen, start_ns), 1, Priority::First)
            .map_err(|error| NoFigures::failed(format!("cannot start a client's process: {error}")))
    };
    let (probing, blocking) = (client(probes)?, blockers.map(client).transpose()?);
    bench.sleep_beside(&process, after(start, times.warmup));
    let meter = HiccupMeter::start(&[], Priority::First)
        .map_err(|error| NoFigures::failed(format!("the hiccup meter cannot start: {error}")))?;
    let begin = process.snapshot().map_err(runner)?;
    bench.sleep_beside(&process, after(start, times.warmup + times.duration));
    let window_end = process.snapshot().map_err(runner)?;
    let hiccups = meter.stop();
    let clients = [Some(&probing), blocking.as_ref()].into_iter().flatten();
    let clients_go_first = priority::of_all(clients.flat_map(Clients::pids));
    let deadline = after(start, patience(times.whole()));
    let probing = probing.collect(deadline, &bench.interrupt, &process);
    let blocking = blocking.map(|clients| clients.collect(deadline, &bench.interrupt, &process)).transpose();
    // A dead server explains a failed client, so it is asked first.
    let last = process.snapshot().map_err(runner)?;
    let failed = |reason| client_failed(bench, reason);
    let (probes, blockers) = (probing.map_err(failed)?, blocking.map_err(failed)?);
    let lag = |snapshot: &Snapshot| snapshot.loop_lag.clone().unwrap_or_default();
    Ok(Seen {
        probes,
        blockers,
        server: serving::counted(&before, &last),
        begin_ns: start_ns + ns(times.warmup),
        duration: times.duration,
        clients_go_first,
        lag: lag(&window_end).since(&lag(&begin)),
        at_edges: [begin, window_end].map(|snapshot| snapshot.server.unwrap_or_default()),
        usage: last.usage.since(before.usage),
        computing: bench.computing(&cell.contestant.place),
        hiccups,
        end: process.stop(patience(DRAIN)).map_err(runner)?,
    })
}

fn runner(error: CellError) -> NoFigures {
    NoFigures::from(&error)
}
