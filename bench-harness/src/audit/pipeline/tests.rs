//! A pipeline that is full passes its audits, and each lie about it is caught by its own check.

use std::collections::BTreeMap;

use cell_protocol::{Histogram, PipelineLoad, Stopped, Usage};
use prediction::pipeline::Stages;
use workload::BlockingStrategy;
use workload::arrivals::Spacing;
use workload::pipeline::{ByLane, ByStage, LaneCounts, PipelineSpec, Policy};

use super::super::failing;
use super::*;
use crate::experiment::{Setting, configuration, stages};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn task(setting: &str) -> PipelineTask {
    let setting: Setting = setting.parse().unwrap();
    PipelineTask {
        pipeline: setting.pipeline(2, Policy::FIFO16, 1),
        strategy: BlockingStrategy::Inline,
        rounds_per_us: 250.0,
        seed: 1,
        load: PipelineLoad {
            interactive_per_s: 5.0,
            interactive_spacing: Spacing::Constant,
            interactive_seed: 1,
            bulk_images_max: None,
            warm_up_ns: 2 * S,
            window_ns: 8 * S,
        },
        faults: Vec::new(),
        drain_limit_ns: 10 * S,
    }
}

fn of(count: u64, ns: u64) -> Histogram {
    let mut histogram = Histogram::new();
    (0..count).for_each(|_| histogram.record(ns));
    histogram
}

fn lane(offered: u64) -> LaneCounts {
    LaneCounts { offered, admitted: offered, completed: offered, ..LaneCounts::default() }
}

/// 64 batches of 16 in 8.064 s, of which none is cut: 127 images a second, and 48 always in flight.
fn good() -> PipelineResult {
    let elapsed_ns = 8_064 * MS;
    let stay_ns = 378 * MS;
    let lanes = |bulk: Histogram, interactive: Histogram| ByLane { interactive, bulk };
    PipelineResult {
        counts: ByLane {
            interactive: lane(50),
            bulk: LaneCounts {
                offered: 1_251,
                withdrawn: 1,
                admitted: 1_250,
                completed: 1_250,
                ..LaneCounts::default()
            },
        },
        elapsed_ns: 10_500 * MS,
        filled_ns: Some(MS),
        in_flight_peak: 48,
        bytes_peak: 100_000_000,
        checksums_checked: 10,
        window: PipelineWindow {
            elapsed_ns,
            completed: ByLane { interactive: 40, bulk: 984 },
            batch_sizes: BTreeMap::from([(16, 64)]),
            in_flight_integral_ns: 48 * elapsed_ns,
            busy_ns: ByStage { detect: elapsed_ns, ..ByStage::default() },
            usage: Usage { user_ns: 1_024 * 14 * MS, ..Usage::default() },
            response: lanes(of(984, stay_ns + 8 * MS), of(40, stay_ns + 30 * MS)),
            response_admitted: lanes(of(984, stay_ns), of(40, stay_ns)),
            send_lag: of(40, MS),
            ..PipelineWindow::default()
        },
        ..PipelineResult::default()
    }
}

fn end(unfinished: u64) -> End {
    let stopped = Stopped { unfinished, server: None, usage: Usage { user_ns: 20 * S, ..Usage::default() } };
    End { stopped, usage: Usage { user_ns: 20 * S, ..Usage::default() }, rss_max_bytes: 1, held: None }
}

fn failing_at(setting: &str, result: &PipelineResult, end: &End) -> Vec<String> {
    let task = task(setting);
    let configuration = configuration(&task.pipeline, 2);
    let stages: Stages = stages(&task.pipeline.costs);
    let parsed: Setting = setting.parse().unwrap();
    let known = Pipeline {
        task: &task,
        configuration: &configuration,
        ceiling_per_s: stages.ceiling(&configuration).images_per_s,
        deviation_share: parsed.deviation_share(),
        computing: Computing { rounds_per_us: Some(250.0), cpus: 2, ahead: Duration::ZERO },
        wall: Duration::from_millis(10_600),
        end,
    };
    failing(pipeline(&known, result))
}

/// What fails where the good result is changed so.
fn failing_with(change: impl FnOnce(&mut PipelineResult)) -> Vec<String> {
    let mut result = good();
    change(&mut result);
    failing_at("", &result, &end(0))
}

#[test]
fn a_pipeline_at_its_ceiling_passes() {
    assert_eq!(failing_with(|_| {}), [""; 0]);
    assert_eq!(failing_at("deviation-percent=20", &good(), &end(0)), [""; 0]);
}

#[test]
fn images_that_are_lost_or_not_accounted_for_are_caught() {
    let lost = failing_with(|result| {
        result.counts.bulk.completed -= 1;
        result.counts.bulk.lost = 1;
    });
    assert_eq!(lost, ["bulk_lost"]);
    let forgotten = failing_with(|result| result.counts.bulk.completed -= 1);
    assert_eq!(forgotten, ["bulk_admitted_have_ended"]);
    let more = failing_with(|result| result.counts.interactive.offered += 1);
    assert_eq!(more, ["interactive_offered_as_scheduled", "interactive_offered_are_accounted_for"]);
    // The last one, when nothing is admitted any more.
    let last = failing_with(|result| (result.counts.bulk.refused, result.counts.bulk.withdrawn) = (1, 0));
    assert_eq!(last, [""; 0]);
    let refused = failing_with(|result| {
        (result.counts.bulk.refused, result.counts.bulk.withdrawn, result.counts.bulk.offered) =
            (2, 0, 1_252);
    });
    assert_eq!(refused, ["bulk_refused"]);
    assert_eq!(failing_at("", &good(), &end(1)), ["unfinished_at_stop"]);
    // An interactive image that finds its slice full is refused, which is an end as well.
    let told =
        failing_with(|result| result.counts.interactive = LaneCounts { offered: 50, refused: 2, ..lane(48) });
    assert_eq!(told, [""; 0]);
}

#[test]
fn work_that_was_not_done_is_caught() {
    assert_eq!(failing_with(|result| result.checksums_wrong = 1), ["checksums_wrong"]);
    assert_eq!(failing_with(|result| result.checksums_checked = 0), ["checksums_checked"]);
    assert_eq!(failing_with(|result| result.window.usage.user_ns = 1_024 * 11 * MS), ["cpu_burnt_ns"]);
    let fast = failing_with(|result| result.window.response_admitted.interactive.record(80 * MS));
    assert_eq!(fast, ["admitted_min_ns"]);
    let skips = failing_with(|result| result.window.busy_ns.detect = 7_900 * MS);
    assert_eq!(skips, ["device_busy_as_planned_ns"]);
}

#[test]
fn more_than_there_is_a_place_for_is_caught() {
    assert_eq!(failing_with(|result| result.in_flight_peak = 49), ["in_flight_peak"]);
    assert_eq!(failing_with(|result| result.bytes_peak = 400_000_000), ["image_bytes_peak"]);
    assert_eq!(failing_with(|result| result.window.usage.user_ns = 17 * S), ["cpu_within_cpus_ns"]);
    assert_eq!(failing_with(|result| result.window.busy_ns.detect = 9 * S), ["device_busy_within_window_ns"]);
    let larger = failing_with(|result| result.window.batch_sizes = BTreeMap::from([(16, 63), (17, 1)]));
    assert_eq!(larger, ["batch_size_max"]);
    let faster = failing_with(|result| {
        result.window.completed.bulk += 20;
        result.window.usage.user_ns += 20 * 14 * MS;
    });
    assert_eq!(faster, ["completed_within_ceiling"]);
}

#[test]
fn clocks_that_do_not_agree_are_caught() {
    assert_eq!(failing_with(|result| result.elapsed_ns = 10_601 * MS), ["elapsed_within_wall_ns"]);
    assert_eq!(
        failing_with(|result| result.window.in_flight_integral_ns /= 2),
        ["in_flight_by_littles_law_ns"]
    );
    assert_eq!(
        failing_with(|result| result.window.send_lag.record(60 * MS)),
        ["interactive_send_lag_max_ns"]
    );
    assert_eq!(failing_with(|result| result.filled_ns = None), ["filled_before_window_ns"]);
}

#[test]
fn a_detector_on_the_cores_is_held_to_their_budget() {
    // 91.4 images a second by two cores: 16 x 14 + 126 ms a batch.
    let on_cores = |completed: u64, cpu_ns: u64| {
        let mut result = good();
        let batches = completed / 16;
        result.window.completed.bulk = completed - 40;
        result.window.batch_sizes = BTreeMap::from([(16, batches)]);
        result.window.usage.user_ns = cpu_ns;
        let stay_ns = 48 * result.window.elapsed_ns / completed;
        result.window.response_admitted =
            ByLane { interactive: of(40, stay_ns), bulk: of(completed - 40, stay_ns) };
        failing_at("cpu-detectors=2", &result, &end(0))
    };
    assert_eq!(on_cores(736, 16 * S), [""; 0]);
    assert_eq!(on_cores(1_024, 16 * S), ["completed_within_ceiling", "cpu_burnt_ns"]);
    assert_eq!(on_cores(736, 12 * S), ["cpu_burnt_ns"]);
}

#[test]
fn the_spec_of_the_tests_is_the_studys() {
    assert_eq!(task("").pipeline, PipelineSpec { policy: Policy::FIFO16, ..PipelineSpec::of_the_study(2) });
}
