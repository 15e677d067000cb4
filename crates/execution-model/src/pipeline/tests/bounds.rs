//! Which pipelines are accepted: nothing that an image can meet is beyond what a plan may hold.

use std::time::Duration;

use workload::pipeline::{Detector, Fault, PipelineSpec, PlannedFault, Policy, Stage, StageCosts, Variation};
use workload::{BlockingStrategy, ROUNDS_MAX};

use crate::pipeline::PipelineSetup;

/// Two milliseconds more are two too many.
const ROUNDS_PER_US: f64 = ROUNDS_MAX as f64 / 10e6;

fn setup(spec: PipelineSpec) -> PipelineSetup {
    let strategy = BlockingStrategy::Inline;
    PipelineSetup { spec, strategy, rounds_per_us: ROUNDS_PER_US, seed: 7, faults: Vec::new() }
}

fn study() -> PipelineSpec {
    PipelineSpec { policy: Policy::FIFO16, ..PipelineSpec::of_the_study(2) }
}

fn said(setup: PipelineSetup) -> String {
    setup.checked().unwrap_err().to_string()
}

fn with_costs(spec: PipelineSpec, costs: StageCosts) -> PipelineSetup {
    setup(PipelineSpec { costs, ..spec })
}

#[test]
fn an_image_computes_at_most_what_a_plan_may() {
    let of = |decode, post| {
        let [decode, post] = [decode, post].map(Duration::from_millis);
        with_costs(study(), StageCosts { decode, post, ..study().costs })
    };
    assert!(of(5_000, 5_000).checked().is_ok());
    let said = said(of(5_000, 5_002));
    assert_eq!(
        said,
        format!(
            "the most rounds of an image and its batch of 2000400000 is out of range; give 0 to {ROUNDS_MAX}"
        )
    );
}

#[test]
fn a_batch_on_the_cores_is_computed_by_one_of_its_images() {
    let cores = PipelineSpec { detector: Detector::Cpu { workers: 1 }, ..study() };
    // With 14 ms to decode and to render, 30 of a batch and 16 times as much for each of its images.
    let of = |spec: &PipelineSpec, detect_image| {
        let detect_image = Duration::from_millis(detect_image);
        with_costs(spec.clone(), StageCosts { detect_image, ..study().costs })
    };
    assert!(of(&cores, 622).checked().is_ok());
    assert!(said(of(&cores, 623)).starts_with("the most rounds of an image and its batch of 20"));
    // On a device, no core has it; and no batch has more images than are in flight.
    assert!(of(&study(), 10_000).checked().is_ok());
    let few = PipelineSpec { in_flight_max: 8, ..cores };
    assert!(of(&few, 1_244).checked().is_ok() && of(&few, 1_245).checked().is_err());
}

#[test]
fn costs_that_vary_are_bounded_by_the_most_that_they_can_be() {
    let variation = Variation::LogNormal { deviation_share: 0.2, seed: 1 };
    let varied = PipelineSpec { variation, ..study() };
    let of = |decode| {
        let decode = Duration::from_millis(decode);
        with_costs(varied.clone(), StageCosts { decode, ..study().costs })
    };
    assert!(of(619).checked().is_ok() && of(620).checked().is_err());
}

#[test]
fn an_image_waits_at_most_as_long_as_a_plan_may() {
    let of = |batch_max| {
        let (zero, detect_image) = (Duration::ZERO, Duration::from_secs(10));
        let costs = StageCosts { fetch: zero, detect_batch: zero, detect_image, ..study().costs };
        setup(PipelineSpec { policy: Policy { batch_max, ..Policy::FIFO16 }, costs, ..study() })
    };
    assert!(of(30).checked().is_ok());
    assert_eq!(said(of(31)), "the longest wait of an image of 310s is out of range; give 0ns to 300s");
}

#[test]
fn stages_are_stuck_for_a_bounded_time() {
    let stuck = |seconds| PlannedFault {
        stage: Stage::Fetch,
        image: seconds,
        fault: Fault::Stuck { duration: Duration::from_secs(seconds) },
    };
    let of = |faults: &[PlannedFault]| PipelineSetup { faults: faults.to_vec(), ..setup(study()) };
    assert!(of(&[stuck(100), stuck(200)]).checked().is_ok());
    let said = said(of(&[stuck(100), stuck(201)]));
    assert!(said.starts_with("the time that stages are stuck, taken together, of 301s"), "{said}");
}
