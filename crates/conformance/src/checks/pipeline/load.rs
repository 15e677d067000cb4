//! What is offered to the pipeline is accounted for, in order, within its limits.

use std::time::Duration;

use workload::pipeline::{Fault, Lane, LaneCounts, PlannedFault, Policy, Stage, Workers};

use super::{DRAIN, expect_sound, offer, task};
use crate::failure::{Seen, ensure};
use crate::subject::Subject;

/// Offered = completed + refused + withdrawn, in flight never above the limit, batches never above their size, and
/// checksums that prove the work of the stages.
pub(crate) fn pipeline_loses_nothing(subject: &Subject<'_>) -> Seen {
    let mut task = task(subject, Policy::JOIN, &[]);
    // What ends in the window then began in it.
    task.load.warm_up_ns = 0;
    let result = offer(subject, task, DRAIN)?.0;
    expect_sound(&result)?;
    for lane in Lane::ALL {
        let LaneCounts { admitted, completed, lost, panicked, in_flight, .. } = result.counts[lane];
        ensure!(
            admitted > 0 && completed == admitted,
            "of {admitted} {lane} images that were admitted, {completed} completed, {lost} were lost, {panicked} \
             panicked and {in_flight} are in flight"
        );
    }
    for stage in [Stage::Fetch, Stage::Detect] {
        let (busy_ns, planned_ns) = (result.window.busy_ns[stage], result.window.planned_ns[stage]);
        ensure!(
            planned_ns > 0 && busy_ns >= planned_ns,
            "{stage} was at work for {busy_ns} ns, and what it did takes {planned_ns} ns"
        );
    }
    ensure!(result.checksums_checked > 0, "no checksum was checked");
    ensure!(result.window.batch_sizes.keys().any(|size| *size > 1), "no batch had two images");
    Ok(format!("{} images completed, {} at a time", result.counts.bulk.completed, result.in_flight_peak))
}

/// A device that is stuck makes bulk work wait and has interactive work refused, and all that was admitted completes.
pub(crate) fn pipeline_pushes_back(subject: &Subject<'_>) -> Seen {
    let duration = Duration::from_millis(500);
    let mut task = task(
        subject,
        Policy::JOIN,
        &[PlannedFault { stage: Stage::Detect, image: 20, fault: Fault::Stuck { duration } }],
    );
    task.load.interactive_per_s = 200.0;
    let result = offer(subject, task, DRAIN)?.0;
    expect_sound(&result)?;
    let counts = result.counts;
    ensure!(counts.interactive.refused > 0, "nothing was refused while the device was stuck: {counts:?}");
    let told = result.refusal_example.unwrap_or_default();
    ensure!(told.contains("of 48 are in flight"), "an image was refused with {told:?}");
    ensure!(result.in_flight_peak == 48, "the pipeline filled to {}, not to 48", result.in_flight_peak);
    ensure!(
        counts.bulk.completed == counts.bulk.admitted
            && counts.interactive.completed == counts.interactive.admitted,
        "not all that was admitted completed: {counts:?}"
    );
    Ok(format!("{} of {} refused: {told}", counts.interactive.refused, counts.interactive.offered))
}

/// Images of a lane leave in the order in which they came, where no stage has two at a time, and one that is stuck beside
/// another is seen to be overtaken.
pub(crate) fn pipeline_keeps_order(subject: &Subject<'_>) -> Seen {
    let mut in_line = task(subject, Policy::JOIN, &[]);
    in_line.pipeline.workers = Workers { fetch: 1, decode: 1, post: 1 };
    let result = offer(subject, in_line, DRAIN)?.0;
    expect_sound(&result)?;
    let counts = result.counts;
    ensure!(counts.bulk.completed > 20 && counts.interactive.completed > 5, "too few images: {counts:?}");
    for lane in Lane::ALL {
        let overtaken = result.overtaken[lane];
        ensure!(overtaken == 0, "{overtaken} {lane} images were overtaken, and there was no second place");
    }
    let fault = Fault::Stuck { duration: Duration::from_secs(2) };
    let mut beside = task(subject, Policy::JOIN, &[PlannedFault { stage: Stage::Fetch, image: 0, fault }]);
    beside.load.bulk_images_max = Some(0);
    beside.load.interactive_per_s = 5.0;
    let result = offer(subject, beside, DRAIN)?.0;
    expect_sound(&result)?;
    let overtaken = result.overtaken.interactive;
    ensure!(overtaken == 1, "1 image was stuck beside others, and {overtaken} were overtaken");
    Ok(format!("{} in order", counts.bulk.completed + counts.interactive.completed))
}
