//! `memory.connections`: one server that gets connection after connection, and what it has while they are idle.

use std::thread;
use std::time::{Duration, Instant};

use cell_control::{CellProcess, End};
use cell_protocol::{Snapshot, Task};
use load_driver::http::{Held, HoldSpec};
use workload::{BlockingStrategy, ServerCounts};

use super::checks::{self, Open};
use super::fit::Fits;
use super::holders::Holders;
use super::look::Look;
use crate::audit;
use crate::experiment::Connections;
use crate::matrix::Cell;
use crate::measure::serving::{self, Serving, client_failed, counted};
use crate::measure::{Bench, DRAIN, NoFigures, cell_id, clients, ns, patience};
use crate::quota;
use crate::row::{Measured, Row};
use crate::sample;

/// How long a server may take to notice that its connections are closed.
const RELEASE_LIMIT: Duration = Duration::from_secs(2);
const ASK: Duration = Duration::from_millis(5);

/// What was seen.
#[derive(Debug)]
struct Seen {
    before: Look,
    looks: Vec<Look>,
    open: Vec<Open>,
    /// More than before the first connection, at the last look.
    descriptors: u64,
    after: Look,
    shards: usize,
    end: End,
}

pub(in crate::measure) fn measure(bench: &Bench, cell: &Cell<'_>, values: &Connections) -> Row {
    let mut id = cell_id(cell.point.experiment(), cell.contestant);
    id.params.insert("connections".to_owned(), last(values).into());
    match run(bench, cell, values).and_then(|seen| figures(&seen)) {
        Ok(measured) => Row::measured(id, cell.repetition, measured),
        Err(none) => none.row(id, cell.repetition),
    }
}

fn last(values: &Connections) -> u64 {
    values.units.last().copied().unwrap_or(0)
}

fn run(bench: &Bench, cell: &Cell<'_>, values: &Connections) -> Result<Seen, NoFigures> {
    let none = |error: cell_control::CellError| NoFigures::from(&error);
    let shards = clients::shards(last(values)).map_err(NoFigures::failed)?;
    let spec = bench.spec(cell.contestant, Task::Serve(serving::task(bench, last(values))));
    let Serving { mut process, listen, .. } = Serving::start(bench, cell.contestant, &spec).map_err(none)?;
    let leader = process.pid();
    let hold = HoldSpec {
        server: listen,
        target: serving::target(&values.plan, BlockingStrategy::Inline, bench.seed),
        expected_body: serving::expected_body(&values.plan, bench.seed),
        connections_max: usize::try_from(last(values).div_ceil(shards as u64)).unwrap_or(usize::MAX),
        timeout_ns: ns(values.timeout),
        spread_sources: true,
    };
    let holders = Holders::start(&hold, shards);
    let mut holders =
        holders.map_err(|error| NoFigures::failed(format!("cannot start the client: {error}")))?;
    let first = process.snapshot().map_err(none)?;
    let before = Look::take(leader, 0, first.usage)?;
    let descriptors_before = sample::descriptors(leader);
    let (mut looks, mut open) = (Vec::new(), Vec::new());
    for connections in &values.units {
        let mut held = || {
            let deadline = Instant::now() + patience(values.timeout);
            holders.grow_to(*connections, deadline, &bench.interrupt)
        };
        let opened = held();
        bench.interrupt.sleep_until(Instant::now() + values.settle);
        // A dead server explains a failed client, so it is asked first.
        let server_before = process.snapshot().map_err(none)?;
        opened.map_err(|reason| client_failed(bench, reason))?;
        looks.push(Look::take(leader, *connections, server_before.usage)?);
        let server_after = process.snapshot().map_err(none)?;
        let client = held().map_err(|reason| client_failed(bench, reason))?;
        let since = |snapshot: &Snapshot| counted(&first, snapshot);
        if client.served < *connections {
            return Err(unserved(*connections, &client, &since(&server_after)));
        }
        open.push(Open {
            connections: *connections,
            client,
            server_before: since(&server_before),
            server_after: since(&server_after),
        });
    }
    let descriptors = sample::descriptors(leader).saturating_sub(descriptors_before);
    drop(holders);
    let after = released(&mut process)?;
    let end = process.stop(patience(DRAIN)).map_err(none)?;
    Ok(Seen { before, looks, open, descriptors, after, shards, end })
}

/// Why connections that were opened have had no answer, by the client's words and by the server's counts.
fn unserved(connections: u64, client: &Held, server: &ServerCounts) -> NoFigures {
    let classes = client.failed.iter().map(|(class, count)| format!("{count} {class}"));
    let mut words = classes.collect::<Vec<_>>().join(", ");
    if let Some(said) = &client.example {
        words += &format!(" ({said})");
    }
    if server.accept_out_of_descriptors > 0 {
        words += "; the server's process has no descriptor left: raise the limit with `ulimit -n`";
    }
    let failed = connections - client.served;
    NoFigures::failed(format!("{failed} of {connections} connections have had no answer: {words}"))
}

/// A look when the server has noticed that all connections are closed, or has had time to.
fn released(process: &mut CellProcess) -> Result<Look, NoFigures> {
    let deadline = Instant::now() + RELEASE_LIMIT;
    loop {
        let snapshot = process.snapshot().map_err(|error| NoFigures::from(&error))?;
        let open = snapshot.server.map_or(0, |server| server.connections);
        if open == 0 || Instant::now() >= deadline {
            return Look::take(process.pid(), open, snapshot.usage);
        }
        thread::sleep(ASK);
    }
}

fn figures(seen: &Seen) -> Result<Measured, NoFigures> {
    let fits = Fits::of(&seen.looks).map_err(|error| NoFigures::failed(error.to_string()))?;
    let mut measured = Measured::default();
    fits.record(&seen.looks, &mut measured);
    super::surroundings(&mut measured, &seen.before, Some(&seen.after));
    measured.note("slab_of", "both ends of each connection: client and server share one kernel");
    measured.note("client_processes", seen.shards);
    quota::note(&mut measured, &seen.end);
    measured.checks = checks::open(&seen.open, seen.descriptors);
    measured.checks.extend(checks::line(&seen.looks, &fits));
    measured.checks.extend(audit::server(&seen.end, 0));
    Ok(measured)
}
