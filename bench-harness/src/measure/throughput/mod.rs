//! `throughput.closed` and `throughput.open`: what the model itself costs, with server and load client on CPUs of
//! their own.

mod checks;
mod syscalls;
mod window;

use std::cell::OnceCell;

use load_driver::honesty::{generator_limited, honesty};
use load_driver::http::HttpLoad;
use statistics::Percentile;
use workload::arrivals::OpenArrivals;

use super::{Bench, NoFigures, cell_id, ns, per, serving};
use crate::contestant::Contestant;
use crate::experiment::{Closed, Experiment, Open};
use crate::matrix::Cell;
use crate::quota;
use crate::row::{CellId, Measured, Row, Status};
use window::{Load, Seen};

/// A closed loop ranks by throughput where the server used at least this share of its CPUs: elsewhere, the client
/// was the limit.
const SERVER_BUSY_SHARE_MIN: f64 = 0.9;
/// What a row says of a figure that the load client limited.
const LOAD_CLIENT: &str = "load client";

/// The floor's throughput in a closed loop, or why it is not known: measured once a run.
pub(crate) type Ceiling = OnceCell<Result<f64, String>>;

/// A closed loop of `connections`.
pub(super) fn closed(bench: &Bench, cell: &Cell<'_>, values: &Closed, connections: u64) -> Row {
    let mut id = cell_id(Experiment::Closed, cell.contestant);
    describe(&mut id, &values.plan, connections);
    match run_closed(bench, cell.contestant, values, connections) {
        Ok(seen) => {
            let mut measured = figures(&seen);
            measured.checks = checks::closed(&seen);
            let limited = generator_limited_by(seen.server_busy_share());
            let is_limited = limited.is_some();
            measured.note("generator_limited", limited);
            let row = Row::measured(id, cell.repetition, measured);
            if is_limited { at_least(row) } else { row }
        }
        Err(none) => none.row(id, cell.repetition),
    }
}

/// An open loop at a share of the floor's ceiling.
pub(super) fn open(bench: &Bench, cell: &Cell<'_>, values: &Open) -> Row {
    let mut id = cell_id(Experiment::Open, cell.contestant);
    describe(&mut id, &values.plan, values.connections);
    id.params.insert("floor_share".to_owned(), values.floor_share.into());
    let measured = ceiling(bench, values).and_then(|ceiling_per_s| {
        let rate_per_s = ceiling_per_s * values.floor_share;
        let seen = run_open(bench, cell.contestant, values, rate_per_s)?;
        let mut measured = figures(&seen);
        measured.percentile("send_lag_p99_ns", &seen.client.send_lag, Percentile::P99);
        measured.metric("offered_rate_per_s", seen.client.offered_rate_per_s());
        measured.histogram("send_lag", &seen.client.send_lag);
        measured.histogram("connection_wait", &seen.client.connection_wait);
        measured.note("floor_ceiling_per_s", ceiling_per_s.round());
        measured.note("machine_stall_p99_ns", seen.stall_p99_ns);
        let paced = honesty(&seen.client, seen.stall_p99_ns);
        measured.note("generator_limited", generator_limited(&paced));
        let arrivals = OpenArrivals {
            rate_per_s,
            spacing: values.arrivals,
            seed: bench.seed,
            duration: values.warmup + values.duration,
        };
        measured.checks = checks::open(&seen, serving::scheduled(&arrivals, values.warmup), &paced);
        Ok(measured)
    });
    match measured {
        Ok(measured) => Row::measured(id, cell.repetition, measured),
        Err(none) => none.row(id, cell.repetition),
    }
}

fn describe(id: &mut CellId, plan: &workload::Plan, connections: u64) {
    id.params.insert("plan".to_owned(), plan.to_string().into());
    id.params.insert("connections".to_owned(), connections.into());
}

fn run_closed(
    bench: &Bench,
    contestant: &Contestant,
    values: &Closed,
    connections: u64,
) -> Result<Seen, NoFigures> {
    let (warmup_ns, duration_ns) = (ns(values.warmup), ns(values.duration));
    let load = Load {
        plan: &values.plan,
        connections,
        warmup: values.warmup,
        duration: values.duration,
        timeout: values.timeout,
        load: HttpLoad::Closed { warmup_ns, duration_ns },
    };
    window::run(bench, contestant, &load)
}

fn run_open(
    bench: &Bench,
    contestant: &Contestant,
    values: &Open,
    rate_per_s: f64,
) -> Result<Seen, NoFigures> {
    let load = Load {
        plan: &values.plan,
        connections: values.connections,
        warmup: values.warmup,
        duration: values.duration,
        timeout: values.timeout,
        load: HttpLoad::Open {
            rate_per_s,
            arrivals: values.arrivals,
            seed: bench.seed,
            warmup_ns: ns(values.warmup),
            duration_ns: ns(values.duration),
            first: 0,
            stride: 1,
        },
    };
    window::run(bench, contestant, &load)
}

/// What the floor can do. A ceiling that the client limited is the most that this client can offer, and serves as well.
fn ceiling(bench: &Bench, values: &Open) -> Result<f64, NoFigures> {
    let measured = bench.ceiling.get_or_init(|| {
        let Some(floor) = &bench.floor else {
            return Err("there is no floor runner, whose ceiling sets the rate".to_owned());
        };
        let seen = run_closed(bench, floor, &values.ceiling(), values.connections);
        let seen = seen.map_err(|none| format!("the floor's ceiling is not known: {}", none.reason))?;
        let throughput = seen.client.throughput_per_s().filter(|per_s| *per_s > 0.0);
        throughput.ok_or_else(|| "the floor's ceiling is not known: it answered nothing".to_owned())
    });
    measured.clone().map_err(|reason| match bench.interrupt.is_raised() {
        true => NoFigures { status: Status::Partial, reason },
        false => NoFigures::failed(reason),
    })
}

fn figures(seen: &Seen) -> Measured {
    let mut measured = Measured::default();
    measured.metric("throughput_per_s", seen.client.throughput_per_s());
    measured.metric("cpu_ns_per_request", per(seen.usage.cpu_ns(), seen.completed));
    let switches = seen.usage.voluntary_switches + seen.usage.involuntary_switches;
    measured.metric("context_switches_per_request", per(switches, seen.completed));
    measured.percentile("response_p50_ns", &seen.client.response, Percentile::P50);
    measured.percentile("response_p99_ns", &seen.client.response, Percentile::P99);
    match &seen.syscalls {
        Ok(syscalls) => measured.metric("syscalls_per_request", per(syscalls.count, syscalls.completed)),
        Err(reason) => measured.note("syscalls", format!("not available: {reason}")),
    }
    measured.metric("server_busy_share", seen.server_busy_share());
    measured.metric("client_cpu_ns_per_request", per(seen.client.cpu_ns, seen.client.completed_in_window));
    serving::note_spread(&mut measured, &seen.whole);
    measured.note("server_cpus", seen.server_cpus.clone());
    measured.note("client_cpus", seen.client_cpus.clone());
    if seen.client_cpus == seen.server_cpus {
        measured.note("placement", "server and load client share the one CPU that there is");
    } else if seen.end.held.as_ref().is_some_and(|held| held.cpus >= seen.server_cpus.len() as u64) {
        measured.note("placement", "beside the load client's CPU the server has no more than its quota");
    }
    quota::note(&mut measured, &seen.end);
    measured.histogram("response", &seen.client.response);
    measured.histogram("service", &seen.client.service);
    measured
}

/// Why the client and not the server set the throughput of a closed loop, where it did.
fn generator_limited_by(server_busy_share: f64) -> Option<String> {
    (server_busy_share < SERVER_BUSY_SHARE_MIN).then(|| {
        format!(
            "the server used {:.0} % of its CPUs, and its throughput is its own from {:.0} % on",
            server_busy_share * 100.0,
            SERVER_BUSY_SHARE_MIN * 100.0
        )
    })
}

/// The throughput is what the client could offer: the server could do as much or more.
fn at_least(row: Row) -> Row {
    if row.status != Status::Ok {
        return row;
    }
    Row { status: Status::Censored, censored: Some(true), limited_by: Some(LOAD_CLIENT.to_owned()), ..row }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_time_to_spare_is_limited_by_its_client_and_a_saturated_one_is_not() {
        assert_eq!((generator_limited_by(0.985), generator_limited_by(0.9)), (None, None));
        let reason = generator_limited_by(0.434).unwrap();
        assert!(reason.contains("used 43 % of its CPUs"), "{reason}");
    }
}
