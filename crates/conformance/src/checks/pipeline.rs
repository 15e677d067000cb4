//! The batching pipeline: every image is accounted for, whatever happens to it, and no limit is passed.

use std::time::Duration;

use cell_protocol::{Ability, PipelineLoad, PipelineResult, PipelineTask, Task};
use workload::BlockingStrategy;
use workload::arrivals::Spacing;
use workload::pipeline::{Fault, Lane, LaneCounts, PipelineSpec, PlannedFault, Policy, Stage};

use crate::failure::{Failure, Seen, ensure};
use crate::subject::{END_GRACE, Subject, ns};

/// By how much the stages are faster than the study's.
const FASTER: u32 = 10;
const DRAIN: Duration = Duration::from_secs(10);
const RESULT_LIMIT: Duration = Duration::from_secs(60);
/// Longer than any of these checks.
const FOR_EVER: Duration = Duration::from_secs(60);

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

/// A stop in the middle of the load finishes what is in flight.
pub(crate) fn pipeline_drains(subject: &Subject<'_>) -> Seen {
    let mut task = task(subject, Policy::FIFO16, &[]);
    task.load.window_ns = ns(FOR_EVER);
    let mut cell = subject.start(Task::Pipeline(Box::new(task)), DRAIN)?;
    cell.go()?;
    let mut levels = None;
    for _ in 0..500 {
        std::thread::sleep(Duration::from_millis(10));
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
    let end = cell.stop(DRAIN + END_GRACE)?;
    ensure!(end.stopped.unfinished == 0, "{} images were not finished", end.stopped.unfinished);
    Ok(format!("{} in flight were finished", bulk.in_flight))
}

/// What holds of every result.
fn expect_sound(result: &PipelineResult) -> Result<(), Failure> {
    for lane in Lane::ALL {
        let counts = result.counts[lane];
        ensure!(counts.add_up(), "the counts of {lane} images do not add up: {counts:?}");
        ensure!(counts.lost == 0, "{} {lane} images were lost", counts.lost);
        let of_admitted = result.window.response_admitted[lane].count();
        ensure!(
            of_admitted == result.window.completed[lane]
                && of_admitted == result.window.response[lane].count(),
            "{} {lane} images completed in the window, and {of_admitted} have their times",
            result.window.completed[lane]
        );
    }
    ensure!(result.in_flight_peak <= 48, "{} images were in flight at one time", result.in_flight_peak);
    ensure!(
        result.window.batch_sizes.keys().all(|size| *size <= 16),
        "a batch was above its size: {:?}",
        result.window.batch_sizes
    );
    ensure!(
        result.checksums_wrong == 0,
        "{} of {} checksums are wrong",
        result.checksums_wrong,
        result.checksums_checked
    );
    Ok(())
}

fn offer(
    subject: &Subject<'_>,
    task: PipelineTask,
    drain: Duration,
) -> Result<(PipelineResult, u64), Failure> {
    let mut cell = subject.start(Task::Pipeline(Box::new(task)), drain)?;
    cell.go()?;
    let result = cell.pipeline_result(RESULT_LIMIT)?;
    let end = cell.stop(drain + END_GRACE)?;
    Ok((result, end.stopped.unfinished))
}

/// The study's pipeline, but faster, for half a second.
fn task(subject: &Subject<'_>, policy: Policy, faults: &[PlannedFault]) -> PipelineTask {
    let mut pipeline = PipelineSpec { policy, ..PipelineSpec::of_the_study(subject.workers) };
    let costs = &mut pipeline.costs;
    costs.fetch /= FASTER;
    costs.decode /= FASTER;
    costs.detect_batch /= FASTER;
    costs.detect_image /= FASTER;
    costs.post /= FASTER;
    let strategy = match subject.refusal(Ability::Offload) {
        None => BlockingStrategy::Offload,
        Some(_) => BlockingStrategy::Inline,
    };
    PipelineTask {
        pipeline,
        strategy,
        rounds_per_us: subject.calibration.rounds(Duration::from_millis(1)) as f64 / 1e3,
        seed: 7,
        load: PipelineLoad {
            interactive_per_s: 50.0,
            interactive_spacing: Spacing::Constant,
            interactive_seed: 3,
            bulk_images_max: None,
            warm_up_ns: ns(Duration::from_millis(100)),
            window_ns: ns(Duration::from_millis(400)),
        },
        faults: faults.to_vec(),
        drain_limit_ns: ns(DRAIN),
    }
}
