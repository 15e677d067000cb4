//! The batching pipeline: every image is accounted for, whatever happens to it, and no limit is passed.

pub(crate) mod detectors;
pub(crate) mod ending;
pub(crate) mod faults;
pub(crate) mod load;

use std::time::Duration;

use cell_protocol::{Ability, PipelineLoad, PipelineResult, PipelineTask, Task};
use workload::BlockingStrategy;
use workload::arrivals::Spacing;
use workload::pipeline::{Lane, PipelineSpec, PlannedFault, Policy};

use crate::failure::{Failure, ensure};
use crate::subject::{END_GRACE, Subject, ns};

/// By how much what waits is faster than in the study.
const FASTER: u32 = 10;
/// By how much what computes is: checks share the cores, and one that took all of them would leave none for the rest.
const CPU_FASTER: u32 = 40;
const DRAIN: Duration = Duration::from_secs(10);
const RESULT_LIMIT: Duration = Duration::from_secs(60);
/// Longer than any of these checks.
const FOR_EVER: Duration = Duration::from_secs(60);

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

/// The study's pipeline, but faster, for the better part of a second.
fn task(subject: &Subject<'_>, policy: Policy, faults: &[PlannedFault]) -> PipelineTask {
    let mut pipeline = PipelineSpec { policy, ..PipelineSpec::of_the_study(subject.workers) };
    let costs = &mut pipeline.costs;
    costs.fetch /= FASTER;
    costs.decode /= CPU_FASTER;
    costs.detect_batch /= FASTER;
    costs.detect_image /= FASTER;
    costs.post /= CPU_FASTER;
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
            window_ns: ns(Duration::from_millis(700)),
        },
        faults: faults.to_vec(),
        drain_limit_ns: ns(DRAIN),
    }
}
