//! A pipeline: what was offered and came of it, that no rate is above what arithmetic allows and no image faster than its
//! stages, and that the kernel charged what was computed.

use std::time::Duration;

use cell_control::End;
use cell_protocol::{PipelineResult, PipelineTask, PipelineWindow};
use prediction::pipeline::Configuration;
use workload::arrivals::OpenArrivals;
use workload::pipeline::{Detector, Lane};

use super::compute::{CERTAIN_SHARE, Computing};
use super::{at_least, at_most, check, equal, float, ns, server};
use crate::row::Check;

/// How far the two sides of Little's law may be apart, beside what the edges of the window cut.
const LAW_TOLERANCE: f64 = 0.05;
/// How much sooner than its wait a device may be done: the clock is read once before a wait and once after it.
const ROUNDING: f64 = 0.001;
/// The mean of so many costs that vary may be off by so many of its standard deviations.
const DEVIATIONS: f64 = 4.0;
/// Of an interactive image's time, no more may be the lateness of its generator.
const LAG_SHARE_MAX: f64 = 0.1;

/// What the harness knows of a pipeline's cell by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipeline<'a> {
    pub(crate) task: &'a PipelineTask,
    pub(crate) configuration: &'a Configuration,
    pub(crate) ceiling_per_s: f64,
    /// By how much costs vary, as a share of their mean.
    pub(crate) deviation_share: f64,
    pub(crate) computing: Computing,
    /// From `go` to the result, on the harness's own clock.
    pub(crate) wall: Duration,
    /// How the runner ended, with what the kernel charged to it.
    pub(crate) end: &'a End,
}

/// The audits of a pipeline.
pub(crate) fn pipeline(known: &Pipeline<'_>, result: &PipelineResult) -> Vec<Check> {
    let mut checks = accounts(known, result);
    checks.extend(limits(known, result));
    checks.extend(server::used(known.end));
    checks.extend(rate(known, &result.window));
    checks.extend(fastest(known, &result.window));
    checks.extend(devices(known, &result.window));
    checks.extend(computed(known, &result.window));
    checks.extend(by_littles_law(result));
    checks.extend(send_lag(&result.window));
    checks
}

/// Each image that was offered has come to one end, and the interactive ones are as many as the schedule has that the harness
/// draws for itself.
fn accounts(known: &Pipeline<'_>, result: &PipelineResult) -> Vec<Check> {
    let load = &known.task.load;
    let scheduled = OpenArrivals {
        rate_per_s: load.interactive_per_s,
        spacing: load.interactive_spacing,
        seed: load.interactive_seed,
        duration: Duration::from_nanos(load.warm_up_ns.saturating_add(load.window_ns)),
    };
    let scheduled = u64::try_from(scheduled.starts().count()).unwrap_or(u64::MAX);
    let mut checks = vec![
        equal("interactive_offered_as_scheduled", result.counts.interactive.offered, scheduled),
        // One bulk image is always ready: at the end, it may come when nothing is admitted any more.
        at_most("bulk_refused", result.counts.bulk.refused, 1),
        equal("checksums_wrong", result.checksums_wrong, 0),
        at_least("checksums_checked", result.checksums_checked, 1),
        equal("unfinished_at_stop", known.end.stopped.unfinished, 0),
        at_most("elapsed_within_wall_ns", result.elapsed_ns, ns(known.wall)),
    ];
    for lane in Lane::ALL {
        let counts = result.counts[lane];
        let ended = counts.completed + counts.panicked + counts.lost;
        let named = |what: &str| format!("{lane}_{what}");
        checks.push(equal(
            &named("offered_are_accounted_for"),
            counts.admitted + counts.refused + counts.withdrawn,
            counts.offered,
        ));
        checks.push(equal(&named("admitted_have_ended"), ended, counts.admitted));
        checks.push(equal(&named("lost"), counts.lost + counts.panicked, 0));
    }
    checks
}

fn limits(known: &Pipeline<'_>, result: &PipelineResult) -> Vec<Check> {
    let spec = &known.task.pipeline;
    let whole = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let image_bytes = spec.image.compressed + spec.image.decoded;
    let largest = result.window.batch_sizes.keys().max().copied().unwrap_or(0);
    let mut checks = vec![
        at_most("in_flight_peak", result.in_flight_peak, whole(spec.in_flight_max)),
        at_most("image_bytes_peak", result.bytes_peak, image_bytes.saturating_mul(result.in_flight_peak)),
        at_most("batch_size_max", whole(largest), whole(spec.policy.batch_max)),
    ];
    if known.task.load.bulk_images_max.is_none() {
        // What is measured is the pipeline that has filled.
        let filled_ns = result.filled_ns.unwrap_or(u64::MAX);
        checks.push(at_most("filled_before_window_ns", filled_ns, known.task.load.warm_up_ns));
    }
    checks
}

/// No more images than arithmetic has a place for, but for those of the batches that the window's edges cut.
fn rate(known: &Pipeline<'_>, window: &PipelineWindow) -> Option<Check> {
    let completed = completed(window);
    // The certain share is of stages on the cores: a device's time is a wait, and exact.
    let by_cores = match known.task.pipeline.detector {
        Detector::Cpu { .. } => 1.0 / CERTAIN_SHARE,
        Detector::Device { .. } => 1.0,
    };
    let mean_off = 1.0 + DEVIATIONS * known.deviation_share / completed.max(1.0).sqrt();
    let cut = float(known.configuration.batch) * float(detectors(known));
    let allowed = known.ceiling_per_s * by_cores * mean_off * seconds(window) + cut;
    check("completed_within_ceiling", completed <= allowed, completed, allowed)
}

/// No image is through before its stages can be, in a batch of its own.
fn fastest(known: &Pipeline<'_>, window: &PipelineWindow) -> Option<Check> {
    if known.deviation_share > 0.0 {
        return None;
    }
    let costs = &known.task.pipeline.costs;
    let (waits, computing) = match known.task.pipeline.detector {
        Detector::Device { .. } => {
            (costs.fetch + costs.detect_batch + costs.detect_image, costs.decode + costs.post)
        }
        Detector::Cpu { .. } => {
            (costs.fetch, costs.decode + costs.post + costs.detect_batch + costs.detect_image)
        }
    };
    let least_ns = float(ns(waits)) * (1.0 - ROUNDING) + float(ns(computing)) * CERTAIN_SHARE;
    let mins = Lane::ALL.into_iter().filter_map(|lane| window.response_admitted[lane].min_ns());
    let min_ns = float(mins.min()?);
    check("admitted_min_ns", min_ns >= least_ns, min_ns, least_ns)
}

/// A device works for as long as its batches take by arithmetic, but for the one that each edge of the window cuts, and no
/// longer than the window is.
fn devices(known: &Pipeline<'_>, window: &PipelineWindow) -> Vec<Check> {
    let spec = &known.task.pipeline;
    let Detector::Device { devices } = spec.detector else { return Vec::new() };
    let costs = &spec.costs;
    let time_ns = |size: usize| {
        float(ns(costs.detect_batch))
            + float(ns(costs.detect_image)) * float(u64::try_from(size).unwrap_or(u64::MAX))
    };
    let planned_ns: f64 = window.batch_sizes.iter().map(|(size, count)| time_ns(*size) * float(*count)).sum();
    let mean_off = DEVIATIONS * known.deviation_share / completed(window).max(1.0).sqrt();
    let cut_ns = time_ns(spec.policy.batch_max) * float(u64::try_from(devices).unwrap_or(u64::MAX));
    let least_ns = planned_ns * (1.0 - ROUNDING - mean_off) - cut_ns;
    let busy_ns = float(window.busy_ns.detect);
    // The account is of the window that was asked for; whoever reads the clock at its begin may have been late.
    let window_ns = window.elapsed_ns.max(known.task.load.window_ns);
    let most_ns = float(window_ns) * float(detectors(known)) * (1.0 + ROUNDING);
    let mut checks = Vec::new();
    checks.extend(check("device_busy_as_planned_ns", busy_ns >= least_ns, busy_ns, least_ns));
    checks.extend(check("device_busy_within_window_ns", busy_ns <= most_ns, busy_ns, most_ns));
    checks
}

/// What the kernel charged, against what the completed images were planned to compute and what the cores can.
fn computed(known: &Pipeline<'_>, window: &PipelineWindow) -> Vec<Check> {
    let costs = &known.task.pipeline.costs;
    let mut planned_ns = float(ns(costs.decode + costs.post)) * completed(window);
    if let Detector::Cpu { .. } = known.task.pipeline.detector {
        let batches: f64 = window.batch_sizes.values().map(|count| float(*count)).sum();
        planned_ns +=
            float(ns(costs.detect_image)) * completed(window) + float(ns(costs.detect_batch)) * batches;
    }
    // At the end of the window, images are decoded that were not at its begin, and the other way round.
    let edge_ns = float(ns(costs.decode + costs.post)) * float(known.configuration.in_flight_max);
    let mean_off = DEVIATIONS * known.deviation_share / completed(window).max(1.0).sqrt();
    let least_ns = planned_ns * (CERTAIN_SHARE - mean_off) - edge_ns;
    let cpu_ns = float(window.usage.cpu_ns());
    let there_was = Duration::from_nanos(window.elapsed_ns).saturating_add(known.computing.ahead);
    // A thread's time is charged by the tick at the worst.
    let most_ns = float(ns(there_was)) * float(known.computing.cpus) * (1.0 + LAW_TOLERANCE);
    let mut checks = Vec::new();
    checks.extend(check("cpu_burnt_ns", cpu_ns >= least_ns, cpu_ns, least_ns));
    checks.extend(check("cpu_within_cpus_ns", cpu_ns <= most_ns, cpu_ns, most_ns));
    checks
}

/// What is in flight on average, against the rate times how long each stays. Images that the window cuts are whole in the
/// one and in parts in the other.
fn by_littles_law(result: &PipelineResult) -> Option<Check> {
    let window = &result.window;
    let mut by_law_ns = 0.0;
    let mut longest_ns = 0.0_f64;
    for lane in Lane::ALL {
        let stays = &window.response_admitted[lane];
        if let (Some(mean_ns), Some(max_ns)) = (stays.mean_ns(), stays.max_ns()) {
            by_law_ns += float(window.completed[lane]) * mean_ns;
            longest_ns = longest_ns.max(float(max_ns));
        }
    }
    let integral_ns = float(window.in_flight_integral_ns);
    let allowed_ns = LAW_TOLERANCE * integral_ns + longest_ns * float(result.in_flight_peak);
    check(
        "in_flight_by_littles_law_ns",
        (by_law_ns - integral_ns).abs() <= allowed_ns,
        by_law_ns,
        integral_ns,
    )
}

fn send_lag(window: &PipelineWindow) -> Option<Check> {
    let lag_ns = float(window.send_lag.max_ns()?);
    let most_ns = window.response.interactive.mean_ns()? * LAG_SHARE_MAX;
    check("interactive_send_lag_max_ns", lag_ns <= most_ns, lag_ns, most_ns)
}

fn completed(window: &PipelineWindow) -> f64 {
    float(window.completed.bulk + window.completed.interactive)
}

fn seconds(window: &PipelineWindow) -> f64 {
    Duration::from_nanos(window.elapsed_ns).as_secs_f64()
}

fn detectors(known: &Pipeline<'_>) -> u64 {
    let count = match known.task.pipeline.detector {
        Detector::Device { devices } => devices,
        Detector::Cpu { workers } => workers,
    };
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
