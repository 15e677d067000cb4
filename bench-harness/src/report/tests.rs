//! The report of a run that is made up: every kind of row once.

use std::collections::BTreeMap;

use cell_protocol::{Description, PROTOCOL, VariantDescription};
use serde_json::Value;

use super::*;
use crate::aa::NoiseFloor;
use crate::environment::{Build, Machine, Noise};
use crate::limit;
use crate::row::{CellId, FORMAT, Measured, Row};
use crate::summary;

mod memory;
mod pipeline;
mod primitives;

pub(crate) fn run() -> Run {
    let runtime = |name: &str, variants: &[&str]| Description {
        protocol: PROTOCOL,
        revision: "abc".into(),
        runtime: name.into(),
        library: name.into(),
        library_version: "1.2.3".into(),
        execution_model: String::new(),
        suspends_by: String::new(),
        variants: variants
            .iter()
            .map(|name| VariantDescription {
                name: (*name).into(),
                summary: String::new(),
                in_flight_limit: None,
                thread_per_request: false,
                handler_threads: None,
                offload_threads: None,
            })
            .collect(),
        refusals: vec![],
    };
    Run {
        format: FORMAT,
        command: ["bench-harness", "run", "capacity"].map(String::from).to_vec(),
        started_at: "2025-12-02T09:00:00Z".into(),
        ended_at: Some("2025-12-02T09:01:00Z".into()),
        partial: false,
        error: None,
        seed: 7,
        workers: vec![2],
        cpus: vec![],
        cpus_by: vec![],
        size: "full".into(),
        resumed: Vec::new(),
        experiments: vec!["capacity.burst".into(), "capacity.hold-tasks".into()],
        definition: BTreeMap::new(),
        build: Build {
            revision: "abc".into(),
            dirty: Some(false),
            rustc: Some("rustc 1.95.0".into()),
            profile: Some("release".into()),
            lock_hash: None,
        },
        machine: Machine {
            kernel: Some("6.18".into()),
            cpu: Some("a processor".into()),
            cpus: Some(2),
            memory_bytes: Some(8 << 30),
            descriptors_soft: Some(20_000),
            descriptors_hard: Some(20_000),
            max_map_count: Some(65_530),
            pid_max: Some(32_768),
            port_range: Some("32768-60999".into()),
            ..Machine::default()
        },
        noise_before: Noise { load_1min: Some(0.1), ..Noise::default() },
        noise_after: None,
        noise_floor: None,
        runtimes: vec![
            runtime(FLOOR, &["heap"]),
            runtime("threads", &["per-request", "pool=200"]),
            runtime("tokio", &["multi-thread", "current-thread"]),
        ],
        problems: vec!["runtime-old: was built at revision 000, and this harness at abc".into()],
        warnings: vec![],
    }
}

pub(crate) fn burst(
    runtime: &str,
    variant: &str,
    repetition: u32,
    figures: [f64; 4],
    limit: Option<u64>,
) -> Row {
    let [requests, elapsed_ms, bound_ms, peak] = figures;
    let mut measured = Measured::default();
    measured.metric("elapsed_ns", elapsed_ms * 1e6);
    measured.metric("bound_ns", bound_ms * 1e6);
    measured.metric("efficiency", bound_ms / elapsed_ms);
    measured.metric("in_flight_peak", peak);
    measured.metric("dispatch_elapsed_ns", 0.9 * elapsed_ms * 1e6);
    measured.metric("cpu_ns_per_request", 2_500.0);
    measured.note("in_flight_limit", limit);
    let params = [("requests", Value::from(whole(requests))), ("warm", false.into())];
    Row::measured(cell("capacity.burst", runtime, variant, &params), repetition, measured)
}

fn verdict(runtime: &str, variant: &str, capacity: f64, limit: limit::Limit) -> Row {
    let mut measured = Measured { evidence: limit.evidence, ..Measured::default() };
    measured.metric("in_flight_capacity", capacity);
    // Two million arrivals need a longer wait than one second.
    let wait_ns = if capacity > 200_000.0 { 10e9 } else { 1e9 };
    measured.metric("wait_ns", wait_ns);
    measured.metric("objective_ns", wait_ns + 0.5e9);
    measured.metric("response_p50_ns", wait_ns + 1e6);
    measured.metric("response_p99_ns", wait_ns + 10e6);
    let id = cell("capacity.hold-tasks", runtime, variant, &[("base_wait_ns", 1_000_000_000_u64.into())]);
    let status = if limit.censored { Status::Censored } else { Status::Ok };
    let row = Row::measured(id, 1, measured);
    Row { status, limited_by: Some(limit.name), censored: Some(limit.censored), ..row }
}

/// A step whose samples do not support its p99, as those of a small one do not.
fn step(runtime: &str, variant: &str, requests: u64, limited_by: Option<&str>) -> Row {
    let mut measured = Measured::default();
    measured.count("in_flight_peak", requests);
    measured.metric("response_p50_ns", 1.001e9);
    let params = [
        ("requests", Value::from(requests)),
        ("wait_ns", 1_000_000_000_u64.into()),
        ("spread_ns", 800_000_000_u64.into()),
        ("objective_ns", 1_500_000_000_u64.into()),
    ];
    let row = Row::measured(cell("capacity.hold-tasks", runtime, variant, &params), 1, measured);
    Row { limited_by: limited_by.map(str::to_owned), ..row }
}

pub(crate) fn cell(experiment: &str, runtime: &str, variant: &str, params: &[(&str, Value)]) -> CellId {
    CellId {
        experiment: experiment.into(),
        runtime: runtime.into(),
        variant: variant.into(),
        params: params
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect::<BTreeMap<_, _>>(),
    }
}

pub(super) fn rows() -> Vec<Row> {
    let pool =
        limit::Observed { model_limit: Some(200), in_flight_peak: 200, offered: 1_000, ..Default::default() };
    let failed = cell(
        "capacity.burst",
        "tokio",
        "current-thread",
        &[("requests", 10_000.into()), ("warm", false.into())],
    );
    let mut rows = vec![
        burst("tokio", "multi-thread", 1, [10_000.0, 115.0, 100.0, 10_000.0], None),
        burst("tokio", "multi-thread", 2, [10_000.0, 112.0, 100.0, 10_000.0], None),
        burst("tokio", "multi-thread", 3, [10_000.0, 119.0, 100.0, 10_000.0], None),
        burst("threads", "per-request", 1, [10_000.0, 1_020.0, 100.0, 2_512.0], None),
        burst("threads", "pool=200", 1, [10_000.0, 5_025.0, 5_000.0, 200.0], Some(200)),
        burst(FLOOR, "heap", 1, [10_000.0, 103.0, 100.0, 10_000.0], None),
        Row::without_figures(
            failed,
            1,
            Status::Failed,
            "the runner was killed by SIGKILL | while the result was awaited",
        ),
        verdict("threads", "pool=200", 200.0, limit::name(&pool, &limit::MachineLimits::default())),
    ];
    rows.extend([100, 500].map(|requests| step("tokio", "current-thread", requests, None)));
    rows.push(Row { repetition: 2, ..step("tokio", "current-thread", 500, Some("objective")) });
    // Three repetitions, of which the machine ended one: the median is a lower bound.
    let objective = limit::Limit { name: "objective".into(), censored: false, evidence: BTreeMap::new() };
    let client = limit::Limit { name: "load client".into(), censored: true, ..objective.clone() };
    for (repetition, capacity, limit) in
        [(1, 9_000.0, &objective), (2, 10_000.0, &objective), (3, 8_000.0, &client)]
    {
        let row = verdict("tokio", "current-thread", capacity, limit.clone());
        rows.push(Row { repetition, ..row });
    }
    for (runtime, variant) in [(FLOOR, "heap"), ("tokio", "multi-thread")] {
        rows.push(verdict(runtime, variant, 2_000_000.0, limit::end_of_the_ramp(2_000_000)));
    }
    rows
}

#[test]
fn the_report_of_every_kind_of_row() {
    let (run, rows) = (run(), rows());
    let groups = summary::groups(&run, &rows);
    insta::assert_snapshot!(markdown(&Data { run: &run, rows: &rows, groups: &groups, benches: None }));
}

#[test]
fn a_run_without_rows_says_so() {
    let mut run = run();
    run.partial = true;
    let text = markdown(&Data { run: &run, rows: &[], groups: &[], benches: None });
    assert!(text.contains("the run was interrupted") && text.contains("no cell has figures"), "{text}");
}

#[test]
fn what_differs_by_less_than_the_noise_floor_is_a_tie() {
    let mut run = run();
    let five = |variant: &str, elapsed_ms: f64| {
        let row =
            |repetition| burst("tokio", variant, repetition, [10_000.0, elapsed_ms, 100.0, 10_000.0], None);
        (1..=5).map(row).collect::<Vec<_>>()
    };
    let rows = [five("multi-thread", 110.0), five("current-thread", 112.0)].concat();
    let groups = summary::groups(&run, &rows);
    let ties_at = |run: &mut Run, floor: f64, repetitions: u32| {
        let by_metric = BTreeMap::from([("elapsed_ns".to_owned(), floor)]);
        run.noise_floor = Some(NoiseFloor { measured_on: "floor".into(), repetitions, by_metric });
        ties(run, &groups)
    };
    let told = ties_at(&mut run, 0.02, 5);
    assert!(told.len() == 1 && told[0].contains("noise floor of 2.0 %"), "{told:?}");
    assert!(told[0].contains("`tokio` and `tokio:current-thread`"), "{told:?}");
    // 112 is 1.8 % above 110.
    assert_eq!(ties_at(&mut run, 0.015, 5), [""; 0]);
    let noisier = ties_at(&mut run, 0.02, 6);
    assert!(noisier.len() == 1 && noisier[0].contains("no tie is told"), "{noisier:?}");
    run.noise_floor = None;
    assert_eq!(ties(&run, &groups), [""; 0]);
}

#[test]
fn cells_csv_has_a_line_for_each_cell_repetition_and_metric() {
    let rows = rows();
    let text = csv(&rows, &summary::groups(&run(), &rows));
    let figures: usize = rows.iter().map(|row| row.metrics.len().max(1)).sum();
    assert_eq!(text.lines().count(), 1 + figures);
    insta::assert_snapshot!(text.replace("\r\n", "\n"));
}
