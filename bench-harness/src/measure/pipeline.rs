//! `pipeline.*`: bulk images as fast as they are admitted, interactive ones by the clock, and one device between them.

use std::time::{Duration, Instant};

use cell_control::{CellError, End};
use cell_protocol::{PipelineLoad, PipelineResult, PipelineTask, PipelineWindow, Task};
use prediction::pipeline::{Ceiling, Configuration};
use statistics::Percentile;
use workload::BlockingStrategy;
use workload::pipeline::{Lane, Policy, Stage};

use super::{Bench, NoFigures, cell_id, ns, patience, per};
use crate::audit;
use crate::contestant::Contestant;
use crate::experiment::{Experiment, Pipeline, Setting, configuration, stages};
use crate::matrix::Cell;
use crate::quota;
use crate::row::{Measured, Row};

/// What is swept starts from batches by arrival.
const SWEPT: Policy = Policy::FIFO16;

pub(super) fn measure(bench: &Bench, cell: &Cell<'_>, experiment: Experiment, setting: &Setting) -> Row {
    let values = bench.values.pipeline(experiment);
    let mut id = cell_id(experiment, cell.contestant);
    id.params.insert("setting".to_owned(), setting.to_string().into());
    id.params.insert("interactive_per_s".to_owned(), values.interactive_per_s.into());
    let measured = Offered::new(bench, cell.contestant, experiment, setting).and_then(|offered| {
        let seen =
            run(bench, cell.contestant, values, &offered.task).map_err(|error| NoFigures::from(&error))?;
        figures(bench, cell.contestant, &offered, &seen)
    });
    match measured {
        Ok(measured) => Row::measured(id, cell.repetition, measured),
        Err(none) => none.row(id, cell.repetition),
    }
}

/// What is asked of the runner, and what arithmetic says of it.
struct Offered<'a> {
    task: PipelineTask,
    setting: &'a Setting,
    configuration: Configuration,
    ceiling: Ceiling,
    expected_per_s: f64,
}

/// What was seen of the cell, from inside and from outside.
struct Seen {
    result: PipelineResult,
    /// From `go` to the result.
    wall: Duration,
    end: End,
}

impl<'a> Offered<'a> {
    fn new(
        bench: &Bench,
        contestant: &Contestant,
        experiment: Experiment,
        setting: &'a Setting,
    ) -> Result<Offered<'a>, NoFigures> {
        let values = bench.values.pipeline(experiment);
        let failed = |error: anyhow::Error| NoFigures::failed(format!("{error:#}"));
        let cores = contestant.place.cpus_usable().map_err(failed)?;
        let policy = experiment.policy().map_or(SWEPT, |named| named.policy);
        let workers = usize::try_from(cores).unwrap_or(usize::MAX);
        let pipeline = setting.pipeline(workers, policy, bench.seed);
        let configuration = configuration(&pipeline, cores);
        let costs = stages(&pipeline.costs);
        let rounds_per_us = bench.calibrated()?;
        let strategy = setting.strategy.unwrap_or(match contestant.refuses(BlockingStrategy::Offload) {
            None => BlockingStrategy::Offload,
            Some(_) => BlockingStrategy::Inline,
        });
        if let Some(reason) = contestant.refuses(strategy) {
            return Err(NoFigures { status: crate::row::Status::Unsupported, reason: reason.to_owned() });
        }
        let load = PipelineLoad {
            interactive_per_s: values.interactive_per_s,
            interactive_spacing: values.interactive_arrivals,
            interactive_seed: bench.seed,
            bulk_images_max: setting.is_alone.then_some(0),
            warm_up_ns: ns(values.warmup),
            window_ns: ns(values.duration),
        };
        let ceiling = costs.ceiling(&configuration);
        Ok(Offered {
            expected_per_s: costs.expected_per_s(&configuration),
            task: PipelineTask {
                pipeline,
                strategy,
                rounds_per_us,
                seed: bench.seed,
                load,
                faults: Vec::new(),
                drain_limit_ns: ns(values.drain),
            },
            setting,
            configuration,
            ceiling,
        })
    }
}

fn run(
    bench: &Bench,
    contestant: &Contestant,
    values: &Pipeline,
    task: &PipelineTask,
) -> Result<Seen, CellError> {
    let mut spec = bench.spec(contestant, Task::Pipeline(Box::new(task.clone())));
    spec.drain_ns = task.drain_limit_ns;
    let mut cell = bench.start(contestant, &spec)?;
    // As in a burst: the clock is read before the word is given.
    let begin = Instant::now();
    cell.go()?;
    bench.sleep_beside(&cell, begin + values.warmup + values.duration);
    let result = cell.pipeline_result(patience(values.drain))?;
    let wall = begin.elapsed();
    let end = cell.stop(patience(values.drain))?;
    Ok(Seen { result, wall, end })
}

fn figures(
    bench: &Bench,
    contestant: &Contestant,
    offered: &Offered<'_>,
    seen: &Seen,
) -> Result<Measured, NoFigures> {
    let (result, window) = (&seen.result, &seen.result.window);
    let completed = window.completed.bulk + window.completed.interactive;
    if completed == 0 {
        return Err(NoFigures::failed(format!("no image went through: {:?}", result.counts)));
    }
    let mut measured = Measured::default();
    let per_s = |count: u64| per(count.saturating_mul(1_000_000_000), window.elapsed_ns);
    measured.metric("images_per_s", per_s(completed));
    measured.metric(
        "bulk_images_per_s",
        (!offered.setting.is_alone).then(|| per_s(window.completed.bulk)).flatten(),
    );
    measured.metric("ceiling_images_per_s", offered.ceiling.images_per_s);
    measured.metric("expected_images_per_s", offered.expected_per_s);
    lane(&mut measured, window);
    batches(&mut measured, window);
    measured.count("in_flight_peak", result.in_flight_peak);
    measured.metric("in_flight_mean", per(window.in_flight_integral_ns, window.elapsed_ns));
    measured.count("image_bytes_peak", result.bytes_peak);
    measured.count("interactive_refused", result.counts.interactive.refused);
    measured.metric("cpu_ns_per_image", per(window.usage.cpu_ns(), completed));
    measured.metric("detector_busy_share", per(window.busy_ns.detect, window.elapsed_ns));
    measured.note("ceiling_by", offered.ceiling.bottleneck.name());
    measured.note("strategy", offered.task.strategy.name());
    measured.note("drain_elapsed_ns", result.drain_elapsed_ns);
    measured.note("decoded_bytes_peak", result.decoded_bytes_peak);
    measured.note("refusal_example", result.refusal_example.clone());
    measured.note("queues", queues(window));
    quota::note(&mut measured, &seen.end);
    measured.checks = audit::pipeline(
        &audit::Pipeline {
            task: &offered.task,
            configuration: &offered.configuration,
            ceiling_per_s: offered.ceiling.images_per_s,
            deviation_share: offered.setting.deviation_share(),
            computing: bench.computing(&contestant.place),
            wall: seen.wall,
            end: &seen.end,
        },
        result,
    );
    Ok(measured)
}

/// Response times by both clocks: from the intended start, and from admission.
fn lane(measured: &mut Measured, window: &PipelineWindow) {
    let (response, admitted) = (&window.response.interactive, &window.response_admitted.interactive);
    measured.percentile("interactive_p50_ns", response, Percentile::P50);
    measured.percentile("interactive_p99_ns", response, Percentile::P99);
    measured.percentile("interactive_admitted_p50_ns", admitted, Percentile::P50);
    if let (Some(max), Some(admitted_max)) = (response.max_ns(), admitted.max_ns()) {
        measured.count("interactive_max_ns", max);
        measured.count("interactive_admitted_max_ns", admitted_max);
    }
    measured.percentile("bulk_admitted_p50_ns", &window.response_admitted.bulk, Percentile::P50);
    measured.note("interactive_send_lag_max_ns", window.send_lag.max_ns());
    measured.note("interactive_images", response.count());
    for name in Lane::ALL {
        measured.histogram(&format!("{name}_response"), &window.response[name]);
        measured.histogram(&format!("{name}_response_admitted"), &window.response_admitted[name]);
        measured.histogram(&format!("{name}_admission_wait"), &window.admission_wait[name]);
    }
    for stage in Stage::ALL {
        for name in Lane::ALL {
            let wait = &window.queue_wait[stage][name];
            measured.histogram(&format!("{name}_{stage}_queue_wait"), wait);
        }
    }
}

fn batches(measured: &mut Measured, window: &PipelineWindow) {
    let whole = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
    let batches: u64 = window.batch_sizes.values().sum();
    let images: u64 = window.batch_sizes.iter().map(|(size, count)| whole(*size) * count).sum();
    measured.metric("batch_size_mean", per(images, batches));
    let sizes = window.batch_sizes.iter().map(|(size, count)| (size.to_string(), (*count).into()));
    measured.note("batches_by_size", serde_json::Value::Object(sizes.collect()));
}

/// How many wait before each stage, on average and at most; how busy the stage is, and how long it cannot hand on.
fn queues(window: &PipelineWindow) -> serde_json::Value {
    let share = |ns: u64| per(ns, window.elapsed_ns);
    let of = |stage: Stage| {
        let of_lanes = Lane::ALL.map(|lane| {
            let depth = serde_json::json!({
                "mean": share(window.queued_integral_ns[stage][lane]),
                "peak": window.queued_peak[stage][lane],
            });
            (lane.name().to_owned(), depth)
        });
        let mut of_stage = serde_json::Map::from_iter(of_lanes);
        of_stage.insert("busy".to_owned(), serde_json::json!(share(window.busy_ns[stage])));
        of_stage.insert("blocked".to_owned(), serde_json::json!(share(window.blocked_ns[stage])));
        (stage.name().to_owned(), serde_json::Value::Object(of_stage))
    };
    serde_json::Value::Object(Stage::ALL.into_iter().map(of).collect())
}
