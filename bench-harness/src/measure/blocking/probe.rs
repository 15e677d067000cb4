//! `blocking.probe`: innocent requests beside such as keep their thread.

use std::time::Duration;

use cell_protocol::Histogram;
use load_driver::honesty::{generator_limited, honesty};
use statistics::Percentile;
use workload::{BlockingStrategy, LoopLag, kernel};

use super::arithmetic::{Blocked, Demand};
use super::checks::{self, Known, unanswered};
use super::offer::{self, Seen, Stream, Times};
use super::{Keeper, refused};
use crate::contestant::Contestant;
use crate::experiment::{Beside, Experiment, Probe};
use crate::matrix::Cell;
use crate::measure::{Bench, NoFigures, cell_id, ns};
use crate::quota;
use crate::row::{Measured, Row};

pub(in crate::measure) fn measure(bench: &Bench, cell: &Cell<'_>, beside: Option<Beside>) -> Row {
    let values = &bench.values.blocking.probe;
    if let Some(row) =
        beside.and_then(|beside| refused(Experiment::Probe, cell.contestant, beside.blocker, cell.repetition))
    {
        return row;
    }
    let mut id = cell_id(Experiment::Probe, cell.contestant);
    let mut param = |name: &str, value: serde_json::Value| id.params.insert(name.to_owned(), value);
    param("blocker_share_percent", beside.map_or(0, |beside| beside.share_percent).into());
    param("duration_ns", ns(values.duration).into());
    let load = beside
        .map(|beside| {
            let keeper = Keeper::new(bench, cell.contestant, beside.blocker, values.keep)?;
            keeper.describe(&mut id);
            Ok(Load::new(values, cell, keeper, beside.share_percent, bench.seed))
        })
        .transpose();
    let measured = load.and_then(|load| {
        let probes = probes(values, cell, bench.seed);
        let times = Times::of(values);
        let offload_threads = beside.and_then(|beside| beside.blocker.offload_threads);
        let blockers = load.as_ref().map(|load| &load.stream);
        let seen = offer::run(bench, cell, offload_threads, &probes, blockers, &times)?;
        let demand = demand(values, cell.contestant, load.as_ref());
        figures(values, &times, &probes, load.as_ref(), &demand, &seen)
    });
    match measured {
        Ok(measured) => Row::measured(id, cell.repetition, measured),
        Err(none) => none.row(id, cell.repetition),
    }
}

/// What the blockers of a cell are, and what arithmetic says of them.
#[derive(Clone, Debug)]
struct Load {
    keeper: Keeper,
    stream: Stream,
    /// Threads, or CPUs, that they keep on average, where there are enough.
    erlangs: f64,
}

impl Load {
    fn new(values: &Probe, cell: &Cell<'_>, keeper: Keeper, share_percent: u64, seed: u64) -> Load {
        #[expect(clippy::cast_precision_loss, reason = "workers and percents are small")]
        let erlangs = share_percent as f64 / 100.0 * cell.contestant.place.workers as f64;
        let stream = Stream {
            plan: keeper.plan.clone(),
            strategy: keeper.blocker.strategy,
            rate_per_s: erlangs / values.keep.as_secs_f64(),
            spacing: values.arrivals,
            seed: schedule_seed(seed, cell.repetition, 1),
            connections: values.blocker_connections,
        };
        Load { keeper, stream, erlangs }
    }
}

fn demand<'a>(values: &'a Probe, contestant: &Contestant, load: Option<&Load>) -> Demand<'a> {
    Demand {
        probe: &values.probe,
        probes_per_s: values.probes_per_s,
        spacing: values.arrivals,
        handler_threads: contestant.handler_threads,
        // Who says how many requests can be in service at one time says so because each keeps a thread.
        waits_keep: contestant.in_flight_limit.is_some(),
        blockers: load.map(|load| Blocked {
            keeps: load.keeper.blocker.keeps,
            strategy: load.keeper.blocker.strategy,
            erlangs: load.erlangs,
            at_once: load.keeper.at_once(),
        }),
    }
}

/// A seed for each stream and repetition, the same for all variants.
fn schedule_seed(seed: u64, repetition: u32, stream: u64) -> u64 {
    kernel::mix(seed ^ kernel::mix(u64::from(repetition) << 8 | stream))
}

fn probes(values: &Probe, cell: &Cell<'_>, seed: u64) -> Stream {
    Stream {
        plan: values.probe.clone(),
        strategy: BlockingStrategy::Inline,
        rate_per_s: values.probes_per_s,
        spacing: values.arrivals,
        seed: schedule_seed(seed, cell.repetition, 0),
        connections: values.probe_connections,
    }
}

fn figures(
    values: &Probe,
    times: &Times,
    probes: &Stream,
    load: Option<&Load>,
    demand: &Demand<'_>,
    seen: &Seen,
) -> Result<Measured, NoFigures> {
    if seen.probes.completed == 0 {
        return Err(NoFigures::failed(format!("none of {} probes completed", seen.probes.offered)));
    }
    let mut measured = Measured::default();
    let response = &seen.probes.response;
    measured.count("probes", response.count());
    measured.percentile("probe_p50_ns", response, Percentile::P50);
    measured.percentile("probe_p99_ns", response, Percentile::P99);
    match checks::tail_is_the_clients(seen) {
        None => measured.percentile("probe_p999_ns", response, Percentile::P999),
        Some(reason) => measured.note("probe_p999_left_out", reason),
    }
    measured.count("probe_max_ns", response.max_ns().unwrap_or(0));
    let held_ns = ns(values.probe.least_duration() + values.held_after);
    measured.metric("probe_held_share", share(response.count_above_ns(held_ns), response.count()));
    measured.percentile("probe_send_lag_p99_ns", &seen.probes.send_lag, Percentile::P99);
    measured.percentile("probe_connection_wait_p99_ns", &seen.probes.connection_wait, Percentile::P99);
    measured.histogram("probe_response", response);
    measured.histogram("probe_send_lag", &seen.probes.send_lag);
    measured.histogram("probe_connection_wait", &seen.probes.connection_wait);
    loop_lag(&mut measured, &seen.lag);
    measured.metric("carrier_busy_share", demand.carrier_busy_share());
    if let Some((least, most)) = demand.held_shares() {
        measured.metric("held_share_least", least);
        measured.metric("held_share_most", most);
    }
    if let (Some(load), Some(blockers)) = (load, &seen.blockers) {
        blocked(&mut measured, values, times, load, &blockers.response);
    }
    let clients = [Some(&seen.probes), seen.blockers.as_ref()].into_iter().flatten();
    let unanswered: u64 = clients.map(unanswered).sum();
    measured.note("unanswered_at_end", unanswered);
    let is_overloaded = demand.is_overload();
    if is_overloaded || unanswered > 0 {
        let why = if is_overloaded { "by arithmetic" } else { "as seen" };
        let whole = times.warmup + times.duration;
        measured.note("saturated", format!("{why}, for {}", humantime::format_duration(whole)));
    }
    measured.note("warmup_ns", ns(times.warmup));
    measured.note("clients_go_first", seen.clients_go_first.name());
    measured.note("machine_stall_p99_ns", seen.hiccups.stall_p99_ns());
    let paced = honesty(&seen.probes, seen.hiccups.stall_p99_ns());
    measured.note("generator_limited", generator_limited(&paced));
    let known = Known {
        probe_least_ns: ns(values.probe.least_duration()),
        probes_scheduled: probes.scheduled(times),
        keeper: load.map(|load| &load.keeper),
        blockers_scheduled: load.map_or(0, |load| load.stream.scheduled(times)),
        regime: demand.regime(),
    };
    quota::note(&mut measured, &seen.end);
    measured.checks = checks::probe(&known, seen);
    Ok(measured)
}

/// The blockers' own figures, and what arithmetic says.
fn blocked(measured: &mut Measured, values: &Probe, times: &Times, load: &Load, response: &Histogram) {
    measured.count("blockers", response.count());
    measured.percentile("blocker_p50_ns", response, Percentile::P50);
    measured.percentile("blocker_p90_ns", response, Percentile::P90);
    measured.percentile("blocker_p99_ns", response, Percentile::P99);
    measured.count("blocker_max_ns", response.max_ns().unwrap_or(0));
    measured.histogram("blocker_response", response);
    // A Poisson process draws more or fewer than were asked for.
    let drawn = keep_share(load.stream.scheduled(times), values.keep, times.duration);
    measured.metric("blocker_erlangs", drawn);
    measured.note("carried_by", load.keeper.limited_by());
}

fn loop_lag(measured: &mut Measured, lag: &LoopLag) {
    let mut histogram = Histogram::new();
    for (late_ns, ticks) in lag.iter() {
        (0..ticks).for_each(|_| histogram.record(late_ns));
    }
    measured.count("loop_ticks", lag.count());
    measured.percentile("loop_lag_p50_ns", &histogram, Percentile::P50);
    measured.percentile("loop_lag_p90_ns", &histogram, Percentile::P90);
    measured.percentile("loop_lag_p99_ns", &histogram, Percentile::P99);
    if let Some(max_ns) = lag.max_ns() {
        measured.count("loop_lag_max_ns", max_ns);
    }
    measured.histogram("loop_lag", &histogram);
}

#[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[expect(clippy::cast_precision_loss, reason = "requests of a window are far below 2^53")]
fn keep_share(requests: u64, keep: Duration, window: Duration) -> f64 {
    requests as f64 * keep.as_secs_f64() / window.as_secs_f64()
}
