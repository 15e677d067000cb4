//! Requests over HTTP, one connection each: a server's process, and the client's processes beside it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use cell_control::{CellError, End};
use cell_protocol::Task;
use load_driver::http::{HttpLoad, HttpLoadResult, HttpLoadSpec};
use load_driver::pace::monotonic_ns;
use load_driver::priority::Priority;
use statistics::Percentile;
use workload::{BlockingStrategy, Plan, ServerCounts};

use super::clients::{self, Clients};
use super::glimpse::{Glimpse, Watched, arrivals_unseen};
use super::serving::{self, Serving, client_failed};
use super::{Bench, DRAIN, NoFigures, after, hold, ns, patience, per};
use crate::audit;
use crate::contestant::Contestant;
use crate::experiment::Step;
use crate::limit::Observed;
use crate::matrix::Cell;
use crate::quota;
use crate::row::Measured;

/// From the start of the client's processes to the first request: so that all are ready, also where they are many.
const LEAD: Duration = Duration::from_millis(150);
const LEAD_PER_SHARD: Duration = Duration::from_millis(30);

/// What was seen of the cell, from the client, from the server, and from outside.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) client: HttpLoadResult,
    /// The server's counts after the load, less those before it; its peak and its gauges after it.
    pub(super) server: ServerCounts,
    pub(super) server_cpu_ns: u64,
    pub(super) end: End,
    pub(super) shards: usize,
}

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Failure {
    Runner(CellError),
    Client(String),
}

impl From<CellError> for Failure {
    fn from(error: CellError) -> Failure {
        Failure::Runner(error)
    }
}

/// Offers one step. A request that has no answer after `timeout` has timed out.
pub(super) fn run(
    bench: &Bench,
    contestant: &Contestant,
    step: Step,
    plan: &Plan,
    timeout: Duration,
) -> (Result<Seen, Failure>, Glimpse) {
    let mut glimpse = Glimpse::begin();
    let seen = offer(bench, contestant, step, plan, timeout, &mut glimpse);
    (seen, glimpse)
}

fn offer(
    bench: &Bench,
    contestant: &Contestant,
    step: Step,
    plan: &Plan,
    timeout: Duration,
    glimpse: &mut Glimpse,
) -> Result<Seen, Failure> {
    let shards = clients::shards(step.requests).map_err(Failure::Client)?;
    let spec = bench.spec(contestant, Task::Serve(serving::task(bench, step.requests)));
    let Serving { process: mut cell, listen, before } = Serving::start(bench, contestant, &spec)?;
    let lead = LEAD + LEAD_PER_SHARD * u32::try_from(shards).unwrap_or(u32::MAX);
    let (start_ns, start) = (monotonic_ns() + ns(lead), after(Instant::now(), lead));
    let load = load(bench, listen, step, plan, timeout, start_ns);
    let clients = Clients::start(&load, shards, Priority::Usual)
        .map_err(|error| Failure::Client(format!("cannot start the client's processes: {error}")))?;
    // Halfway through the rest of the wait, when all of them should be waiting.
    let watched = Watched {
        cell: &cell,
        listen: Some(listen),
        clients: &clients.pids(),
        begin: start,
        all_wait: after(start, step.spread + step.wait.saturating_sub(step.spread) / 2),
    };
    glimpse.look(bench, &watched);
    let deadline = after(start, patience(step.spread + timeout + DRAIN));
    let client = clients.collect(deadline, &bench.interrupt, &cell);
    // A dead server explains a failed client, so it is asked first.
    let after = cell.snapshot()?;
    let client = client.map_err(Failure::Client)?;
    Ok(Seen {
        client,
        server: serving::counted(&before, &after),
        server_cpu_ns: after.usage.since(before.usage).cpu_ns(),
        end: cell.stop(patience(DRAIN))?,
        shards,
    })
}

fn load(
    bench: &Bench,
    server: SocketAddr,
    step: Step,
    plan: &Plan,
    timeout: Duration,
    start_ns: u64,
) -> HttpLoadSpec {
    let requests = usize::try_from(step.requests).unwrap_or(usize::MAX);
    HttpLoadSpec {
        server,
        target: serving::target(plan, BlockingStrategy::Inline, bench.seed),
        expected_body: serving::expected_body(plan, bench.seed),
        connections: requests,
        load: HttpLoad::OneEach { requests, spread_ns: ns(step.spread), first: 0, stride: 1 },
        timeout_ns: ns(timeout),
        // Every request has its answer or its time-out by then.
        drain_ns: ns(timeout + DRAIN),
        cpus: Vec::new(),
        spread_sources: true,
        start_at_monotonic_ns: Some(start_ns),
    }
}

/// Takes one step of a ramp.
pub(super) fn step(
    bench: &Bench,
    cell: &Cell<'_>,
    step: Step,
    plan: &Plan,
    observed: &mut Observed,
) -> Result<Measured, NoFigures> {
    let (seen, glimpse) = run(bench, cell.contestant, step, plan, hold::time_limit(cell, step));
    glimpse.tell(observed);
    observed.accept_queue_unseen = arrivals_unseen(step.requests, step.spread);
    observed.accept_backlog = Some(u64::from(bench.values.server.backlog));
    let seen = seen.map_err(|failure| match failure {
        Failure::Runner(error) => {
            hold::note_death(observed, &error);
            NoFigures::from(&error)
        }
        Failure::Client(reason) => {
            // The client's own check before its first socket, and ours, name the limit in these words.
            let class = if reason.contains("RLIMIT_NOFILE") { "descriptors" } else { "client-failed" };
            observed.failed.insert(class.to_owned(), step.requests);
            client_failed(bench, reason)
        }
    })?;
    let (client, server) = (&seen.client, seen.server);
    observed.in_flight_peak = server.in_flight_peak;
    observed.accept_out_of_descriptors = server.accept_out_of_descriptors;
    observed.connections_unstartable = server.connections_unstartable;
    observed.failed = client.errors.clone();
    for (class, count) in [("timed-out", client.timed_out), ("in-flight-at-end", client.in_flight_at_end)] {
        if count > 0 {
            observed.failed.insert(class.to_owned(), count);
        }
    }
    if client.rejected > 0 {
        observed.rejected.insert("status-503".to_owned(), client.rejected);
    }
    let lag_ns = client.send_lag.quantile_ns(0.99);
    observed.client_lag_p99 = lag_ns.map(Duration::from_nanos);
    observed.said.extend(client.first_errors.values().cloned());
    if client.completed == 0 {
        let classes = classes(&observed.failed, &observed.rejected);
        return Err(NoFigures::failed(format!("none of {} requests completed: {classes}", client.offered)));
    }
    let mut measured = Measured::default();
    measured.percentile("response_p50_ns", &client.response, Percentile::P50);
    measured.percentile("response_p99_ns", &client.response, Percentile::P99);
    measured.percentile("send_lag_p99_ns", &client.send_lag, Percentile::P99);
    measured.count("in_flight_peak", server.in_flight_peak);
    measured.metric("cpu_ns_per_request", per(seen.server_cpu_ns, server.completed));
    measured.metric("client_cpu_ns_per_request", per(client.cpu_ns, client.offered));
    measured.note("client_processes", seen.shards);
    serving::note_spread(&mut measured, &server);
    for (name, histogram) in [
        ("response", &client.response),
        ("service", &client.service),
        ("send_lag", &client.send_lag),
        ("connect", &client.connect),
    ] {
        measured.histogram(name, histogram);
    }
    hold::note(&mut measured, observed, &client.response);
    quota::note(&mut measured, &seen.end);
    measured.checks = audit::over_http(&audit::OverHttp {
        requests: step.requests,
        plan,
        in_flight_limit: cell.contestant.in_flight_limit,
        client,
        server,
        server_cpu_ns: seen.server_cpu_ns,
        end: &seen.end,
        computing: bench.computing(&cell.contestant.place),
    });
    Ok(measured)
}

fn classes(failed: &BTreeMap<String, u64>, rejected: &BTreeMap<String, u64>) -> String {
    let all = failed.iter().chain(rejected).map(|(class, count)| format!("{count} {class}"));
    all.collect::<Vec<_>>().join(", ")
}
