//! The drivers' side of the pipeline, with threads: what is admitted ends, in one way or another.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use workload::pipeline::{Fault, Lane, PipelineSpec, PlannedFault, Policy, Stage};
use workload::{Answer, BlockingStrategy, Job, Progress, Step};

use crate::pipeline::*;

/// A bell that every model could have.
#[derive(Default)]
struct Bell {
    rung: std::sync::Mutex<bool>,
    changed: std::sync::Condvar,
}

impl BlockingBell for Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.changed.notify_one();
    }

    fn wait(&self, until: Option<Instant>) {
        let left =
            until.map_or(Duration::from_secs(60), |until| until.saturating_duration_since(Instant::now()));
        let rung = self.rung.lock().unwrap();
        *self.changed.wait_timeout_while(rung, left, |rung| !*rung).unwrap().0 = false;
    }
}

struct Model;

impl BlockingModel for Model {
    type Bell = Bell;

    fn spawn(&self, _stage: Stage, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        thread::Builder::new().spawn(work).map(drop)
    }

    fn handle(job: &Job) -> Answer {
        let mut progress = Progress::new(job.seed);
        for step in job.plan.steps() {
            match *step {
                Step::Wait(duration) => {
                    thread::sleep(duration);
                    progress.waited();
                }
                Step::Compute(rounds) => progress.compute(rounds),
                Step::Block(duration) => {
                    thread::sleep(duration);
                    progress.blocked();
                }
                Step::Panic => panic!("planted"),
            }
        }
        progress.answer()
    }
}

/// The study's pipeline, twenty times as fast.
fn setup(policy: Policy, faults: &[PlannedFault]) -> PipelineSetup {
    let mut spec = PipelineSpec { policy, ..PipelineSpec::of_the_study(2) };
    let costs = &mut spec.costs;
    let all = [
        &mut costs.fetch,
        &mut costs.decode,
        &mut costs.detect_batch,
        &mut costs.detect_image,
        &mut costs.post,
    ];
    all.into_iter().for_each(|cost| *cost /= 20);
    let setup = PipelineSetup {
        spec,
        strategy: BlockingStrategy::Inline,
        rounds_per_us: 1.0,
        seed: 7,
        faults: faults.to_vec(),
    };
    setup.checked().unwrap()
}

fn start(setup: PipelineSetup) -> Arc<Stages> {
    let stages = Stages::new(setup);
    start_blocking(&Model, &stages).unwrap();
    stages
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn admit(stages: &Stages, images: usize) {
    for _ in 0..images {
        stages.admit(Lane::Bulk, Instant::now(), soon()).unwrap();
    }
}

#[test]
fn every_image_goes_through_every_stage_and_its_checksum_is_right() {
    let stages = start(setup(Policy::FIFO16, &[]));
    admit(&stages, 100);
    assert_eq!(stages.drain(soon()), 0);
    let account = stages.account();
    let counts = account.counts.bulk;
    assert_eq!((counts.admitted, counts.completed, counts.lost), (100, 100, 0));
    assert!(counts.add_up() && counts.drained > 0, "{counts:?}");
    assert!(account.in_flight_peak <= 48, "{}", account.in_flight_peak);
    assert_eq!(account.samples.len(), 7);
    assert!(account.samples.iter().all(Sample::is_right));
    let levels = stages.levels();
    assert_eq!((levels.compressed_bytes, levels.decoded_bytes), (0, 0));
}

#[test]
fn a_panic_fails_its_images_and_nobody_elses() {
    let panics = |stage, image| PlannedFault { stage, image, fault: Fault::Panic };
    let faults = [panics(Stage::Fetch, 3), panics(Stage::Decode, 20), panics(Stage::Post, 40)];
    let stages = start(setup(Policy::FIFO1, &faults));
    admit(&stages, 60);
    assert_eq!(stages.drain(soon()), 0);
    let counts = stages.account().counts.bulk;
    assert_eq!((counts.completed, counts.panicked, counts.lost), (57, 3, 0));
    let levels = stages.levels();
    assert_eq!((levels.compressed_bytes, levels.decoded_bytes), (0, 0));
}

#[test]
fn a_stuck_stage_leaves_what_it_has_to_be_counted() {
    let duration = Duration::from_secs(60);
    let stuck = PlannedFault { stage: Stage::Detect, image: 10, fault: Fault::Stuck { duration } };
    let stages = start(setup(Policy::FIFO1, &[stuck]));
    admit(&stages, 40);
    let unfinished = stages.drain(Instant::now() + Duration::from_millis(500));
    let counts = stages.account().counts.bulk;
    // Images overtake one another a little before the device.
    assert!((1..30).contains(&counts.completed), "{counts:?}");
    assert_eq!(counts.completed + unfinished as u64, 40);
    assert!(counts.add_up(), "{counts:?}");
}

#[test]
fn whoever_brings_bulk_work_waits_and_whoever_brings_interactive_work_is_refused() {
    let stages = Stages::new(setup(Policy::JOIN, &[]));
    // Nobody works yet, so the queue before the first stage is what there is room for.
    let bring = |lane| stages.try_admit(lane, Instant::now());
    assert_eq!((0..16).filter(|_| bring(Lane::Bulk).is_ok()).count(), 16);
    let soon = Instant::now() + Duration::from_millis(20);
    let late = stages.admit(Lane::Bulk, Instant::now(), soon);
    assert_eq!(late, Err(NotAdmitted::TimedOut));
    let offered = (0..20).filter(|_| stages.offer_interactive(Instant::now()).is_ok()).count();
    assert_eq!(offered, 16);
    let account = stages.account();
    assert_eq!((account.counts.bulk.withdrawn, account.counts.interactive.refused), (1, 4));
    assert!(account.refusal_example.is_some_and(|said| said.contains("32 of 48")));
    stages.stop_admitting();
    assert_eq!(bring(Lane::Bulk), Err(NotAdmitted::Closed));
}

#[test]
fn work_that_is_dropped_without_a_word_is_lost() {
    let stages = Stages::new(setup(Policy::FIFO1, &[]));
    let worker = stages.hire(Stage::Fetch, || {});
    stages.try_admit(Lane::Bulk, Instant::now()).unwrap();
    let Next::Work(work) = worker.next() else { panic!("there is an image") };
    drop(work);
    let counts = stages.account().counts.bulk;
    assert_eq!((counts.admitted, counts.lost, counts.in_flight), (1, 1, 0));
}

#[test]
fn whoever_drains_waits_no_longer_than_until_somebody_closes() {
    let stages = Stages::new(setup(Policy::FIFO1, &[]));
    stages.try_admit(Lane::Bulk, Instant::now()).unwrap();
    thread::scope(|scope| {
        let begin = Instant::now();
        let drains = scope.spawn(|| stages.drain(soon()));
        assert!(!stages.admits_until(soon()), "it stops admitting before it waits");
        stages.close();
        assert_eq!(drains.join().unwrap(), 1);
        assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    });
}

#[test]
fn images_that_are_overtaken_are_counted() {
    let duration = Duration::from_millis(200);
    let stuck = PlannedFault { stage: Stage::Fetch, image: 3, fault: Fault::Stuck { duration } };
    let overtaken = |faults: &[PlannedFault]| {
        let mut setup = setup(Policy::FIFO1, faults);
        setup.spec.workers.decode = 1;
        setup.spec.workers.post = 1;
        setup.spec.workers.fetch = if faults.is_empty() { 1 } else { 2 };
        let stages = start(setup);
        admit(&stages, 20);
        assert_eq!(stages.drain(soon()), 0);
        stages.account().overtaken.bulk
    };
    assert_eq!((overtaken(&[]), overtaken(&[stuck]) > 0), (0, true));
}
