//! A pipeline that is stopped before its load is over.

use std::thread;
use std::time::Duration;

use cell_protocol::{PipelineResult, Task};
use workload::pipeline::{Fault, LaneCounts, PlannedFault, Policy, Stage};

use super::{DRAIN, FOR_EVER, expect_sound, task};
use crate::failure::{Failure, Seen, ensure};
use crate::subject::{END_GRACE, Subject, ns};

/// A stop in the middle of the load finishes what is in flight.
pub(crate) fn pipeline_drains(subject: &Subject<'_>) -> Seen {
    let mut task = task(subject, Policy::FIFO16, &[]);
    task.load.window_ns = ns(FOR_EVER);
    let mut cell = subject.start(Task::Pipeline(Box::new(task)), DRAIN)?;
    cell.go()?;
    let mut levels = None;
    for _ in 0..500 {
        thread::sleep(Duration::from_millis(10));
        levels = cell.snapshot()?.pipeline;
        if levels.as_ref().is_some_and(|levels| levels.counts.bulk.completed >= 20) {
            break;
        }
    }
    let Some(levels) = levels else {
        return Err(Failure::Wrong("a snapshot says nothing of the pipeline".into()));
    };
    let bulk = levels.counts.bulk;
    ensure!(bulk.completed >= 20 && bulk.in_flight > 0, "in the middle of the load it says {bulk:?}");
    ensure!(bulk.add_up(), "a snapshot's counts do not add up: {bulk:?}");
    ensure!(levels.compressed_bytes + levels.decoded_bytes > 0, "images in flight have no bytes: {levels:?}");
    let (end, result) = cell.cut_short(DRAIN + END_GRACE)?;
    ensure!(end.stopped.unfinished == 0, "{} images were not finished", end.stopped.unfinished);
    let result = result.ok_or_else(|| Failure::Wrong("there is no result".into()))?;
    expect_sound(&result)?;
    let LaneCounts { admitted, completed, drained, .. } = result.counts.bulk;
    ensure!(
        completed == admitted && drained > 0,
        "of {admitted} bulk images, {completed} completed, {drained} of them after the stop"
    );
    Ok(format!("{drained} in flight were finished"))
}

/// A stop in the middle of the load gives up what is stuck when its time is over, tells it by count, and ends.
pub(crate) fn pipeline_gives_up(subject: &Subject<'_>) -> Seen {
    let fault = Fault::Stuck { duration: FOR_EVER };
    let faults = [(Stage::Decode, 10), (Stage::Detect, 20)];
    let faults = faults.map(|(stage, image)| PlannedFault { stage, image, fault });
    let mut task = task(subject, Policy::FIFO16, &faults);
    task.load.window_ns = ns(FOR_EVER);
    task.drain_limit_ns = ns(FOR_EVER);
    let mut cell = subject.start(Task::Pipeline(Box::new(task)), Duration::from_millis(200))?;
    cell.go()?;
    thread::sleep(Duration::from_millis(500));
    let (end, result) = cell.cut_short(DRAIN + END_GRACE)?;
    let result = result.ok_or_else(|| Failure::Wrong("there is no result".into()))?;
    expect_sound(&result)?;
    let counts = result.counts;
    let in_flight = counts.interactive.in_flight + counts.bulk.in_flight;
    let unfinished = end.stopped.unfinished;
    ensure!(
        in_flight >= 2 && unfinished >= in_flight,
        "2 images were stuck, {in_flight} are told to be in flight, and {unfinished} to be unfinished: {counts:?}"
    );
    Ok(format!("{in_flight} told to be in flight"))
}

/// A pipeline that never began has a result too.
pub(crate) fn pipeline_may_never_begin(subject: &Subject<'_>) -> Seen {
    let cell = subject.start(Task::Pipeline(Box::new(task(subject, Policy::JOIN, &[]))), DRAIN)?;
    let (end, result) = cell.cut_short(DRAIN + END_GRACE)?;
    ensure!(end.stopped.unfinished == 0, "{} images were not finished", end.stopped.unfinished);
    let result = result.ok_or_else(|| Failure::Wrong("there is no result".into()))?;
    ensure!(result == PipelineResult::default(), "before it was told to go, it did {result:?}");
    Ok("an empty result".into())
}
