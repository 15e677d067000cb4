//! A stage that panics or is stuck.

use std::time::Duration;

use workload::pipeline::{Fault, PlannedFault, Policy, Stage};

use super::{DRAIN, FOR_EVER, expect_sound, offer, task};
use crate::failure::{Seen, ensure};
use crate::subject::{Subject, ns};

/// A panic in each stage fails its own image, and the workers outlast it.
pub(crate) fn pipeline_survives_panics(subject: &Subject<'_>) -> Seen {
    let panics = Stage::ALL.into_iter().zip([5, 10, 15, 20]);
    let faults: Vec<_> =
        panics.map(|(stage, image)| PlannedFault { stage, image, fault: Fault::Panic }).collect();
    let result = offer(subject, task(subject, Policy::FIFO1, &faults), DRAIN)?.0;
    expect_sound(&result)?;
    let [interactive, bulk] = [result.counts.interactive, result.counts.bulk];
    let panicked = interactive.panicked + bulk.panicked;
    ensure!(panicked == 4, "4 images met a panic, and {panicked} failed");
    ensure!(
        bulk.completed + interactive.completed + panicked == bulk.admitted + interactive.admitted,
        "what met no panic did not all complete: {:?}",
        result.counts
    );
    ensure!(bulk.completed > 40, "only {} images completed", bulk.completed);
    Ok(format!("4 images failed, {} completed", bulk.completed + interactive.completed))
}

/// What is stuck at the end of a drain is reported by count, and stops nobody.
pub(crate) fn pipeline_counts_what_is_stuck(subject: &Subject<'_>) -> Seen {
    let fault = Fault::Stuck { duration: FOR_EVER };
    let mut task = task(subject, Policy::FIFO16, &[PlannedFault { stage: Stage::Fetch, image: 20, fault }]);
    // Enough for all others, also on a busy machine.
    let limit = Duration::from_secs(4);
    task.drain_limit_ns = ns(limit);
    let (result, unfinished) = offer(subject, task, Duration::from_millis(100))?;
    expect_sound(&result)?;
    let in_flight = result.counts.interactive.in_flight + result.counts.bulk.in_flight;
    ensure!(
        in_flight == 1,
        "1 image was stuck, and {in_flight} are told to be in flight: {:?}",
        result.counts
    );
    ensure!(
        result.drain_elapsed_ns >= ns(limit),
        "the drain ended after {} ns, before its limit",
        result.drain_elapsed_ns
    );
    ensure!(unfinished > 0, "the end says that nothing was unfinished");
    Ok(format!("1 in flight, {} completed", result.counts.bulk.completed))
}
