//! What detects: several devices, or the cores.

use std::time::Duration;

use cell_protocol::Ability;
use workload::BlockingStrategy;
use workload::pipeline::{Detector, Policy, Stage, Variation};

use super::super::accounts::expect_cpu;
use super::{DRAIN, expect_sound, offer, task};
use crate::failure::{Failure, Seen, ensure};
use crate::subject::{Subject, ns};

/// Several devices detect at one time, and no more than there are.
pub(crate) fn pipeline_uses_its_devices(subject: &Subject<'_>) -> Seen {
    const DEVICES: u64 = 3;
    // Long beside what a busy machine takes to hand an image on.
    let batch = Duration::from_millis(200);
    let window = Duration::from_millis(1_500);
    let mut task = task(subject, Policy::FIFO1, &[]);
    task.pipeline.detector = Detector::Device { devices: 3 };
    // Few are left to drain.
    task.pipeline.in_flight_max = 12;
    task.pipeline.costs.detect_batch = batch;
    task.pipeline.costs.detect_image = Duration::ZERO;
    task.load.warm_up_ns = 0;
    task.load.window_ns = ns(window);
    let result = offer(subject, task, DRAIN)?.0;
    expect_sound(&result)?;
    let completed = result.window.completed.bulk + result.window.completed.interactive;
    // The window may be a little longer than it was asked to be.
    let of_one_device = result.window.elapsed_ns.div_ceil(ns(batch));
    ensure!(
        completed <= of_one_device * DEVICES,
        "{completed} images completed, and {DEVICES} devices can do {of_one_device} each"
    );
    // Half of what they can do, on a machine that is busy.
    ensure!(
        2 * completed >= of_one_device * DEVICES,
        "{completed} images completed, and each of {DEVICES} devices can do {of_one_device}"
    );
    Ok(format!("{completed} images on {DEVICES} devices that can do {of_one_device} each"))
}

/// A detector on the cores burns their time, like the stages that compute, whatever these do with their threads and however
/// much their costs vary.
pub(crate) fn pipeline_detects_on_the_cores(subject: &Subject<'_>) -> Seen {
    let strategies = [BlockingStrategy::Inline, BlockingStrategy::Offload];
    let is_refused = |strategy: &BlockingStrategy| {
        *strategy == BlockingStrategy::Offload && subject.refusal(Ability::Offload).is_some()
    };
    let mut seen = Vec::new();
    for strategy in strategies.into_iter().filter(|strategy| !is_refused(strategy)) {
        let used = on_the_cores(subject, strategy)?;
        seen.push(format!("{strategy}: {used}"));
    }
    Ok(seen.join("; "))
}

fn on_the_cores(subject: &Subject<'_>, strategy: BlockingStrategy) -> Seen {
    let mut task = task(subject, Policy::FIFO16, &[]);
    task.strategy = strategy;
    task.pipeline.detector = Detector::Cpu { workers: subject.workers };
    task.pipeline.variation = Variation::LogNormal { deviation_share: 0.2, seed: 1 };
    task.load.warm_up_ns = 0;
    task.load.window_ns = ns(Duration::from_secs(1));
    expect_cpu(subject, "in the window", || {
        let result = offer(subject, task.clone(), DRAIN)?.0;
        expect_sound(&result)?;
        ensure!(result.checksums_checked > 0, "no checksum was checked");
        let planned_ns = result.window.planned_ns;
        let [decode, detect, post] =
            [Stage::Decode, Stage::Detect, Stage::Post].map(|stage| planned_ns[stage]);
        ensure!(detect > 0, "no batch was detected in the window: {planned_ns:?}");
        let rounds = (decode + detect + post) as f64 / 1e3 * task.rounds_per_us;
        Ok((Duration::from_nanos(result.window.usage.cpu_ns()), whole(rounds)?))
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is looked at before")]
fn whole(rounds: f64) -> Result<u64, Failure> {
    ensure!((0.0..1e15).contains(&rounds), "{rounds} rounds were planned");
    Ok(rounds as u64)
}
