//! The pipeline as a state machine without a clock and without workers.

mod hand_on;
mod line;

use std::collections::VecDeque;
use std::time::Duration;

use workload::pipeline::{
    Admission, Batcher, ByLane, ByStage, BytesInFlight, Form, Lane, LaneCounts, LaneQueue, Next as NextBatch,
    PipelineLevels, Stage,
};

use super::account::{Levels, PipelineAccount};
use super::image::Image;
use super::setup::PipelineSetup;
use super::staff::{Staff, Wake};
pub(super) use line::Waiting;

/// Everything between admission and the end of an image. Instants count from the pipeline's start and never go back.
pub(super) struct State {
    pub(super) setup: PipelineSetup,
    pub(super) admission: Admission,
    pub(super) line: VecDeque<Waiting>,
    next_in_line: u64,
    next_number: u64,
    fetch_queue: LaneQueue<Image>,
    decode_queue: LaneQueue<Image>,
    batcher: Batcher<Image>,
    post_queue: LaneQueue<Image>,
    at_work: ByStage<usize>,
    /// What stages have done and cannot hand on. Each keeps its place at its stage.
    fetched: VecDeque<Image>,
    detected: Vec<VecDeque<Image>>,
    /// Whether the batcher may say something else than it last said.
    batcher_changed: bool,
    bytes: BytesInFlight,
    pub(super) admits: bool,
    pub(super) is_closed: bool,
    pub(super) staff: Staff,
    /// Whether an image has left the line or the pipeline, which those may wait for who are no workers.
    pub(super) any_left: bool,
    pub(super) account: PipelineAccount,
    passed: Duration,
}

/// What a stage does now.
pub(super) enum Begin {
    /// These, which take this long to its worker alone.
    Work { images: Vec<Image>, planned: Duration },
    /// Nothing until then, or until something changes.
    Wait(Option<Duration>),
    /// Nothing ever again.
    Closed,
}

/// How the work of a stage ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Done,
    Panicked,
    Lost,
}

impl State {
    pub(super) fn new(setup: PipelineSetup) -> State {
        let spec = &setup.spec;
        let queue = || LaneQueue::new(spec.policy.order, spec.queue_capacity);
        State {
            admission: Admission::new(
                spec.policy.order,
                spec.in_flight_max,
                spec.policy.interactive_reserved,
            ),
            line: VecDeque::new(),
            next_in_line: 0,
            next_number: 0,
            fetch_queue: queue(),
            decode_queue: queue(),
            batcher: Batcher::new(spec.policy, spec.queue_capacity),
            post_queue: queue(),
            at_work: ByStage::default(),
            fetched: VecDeque::new(),
            detected: Vec::new(),
            batcher_changed: false,
            bytes: BytesInFlight::default(),
            admits: true,
            is_closed: false,
            staff: Staff::default(),
            any_left: false,
            account: PipelineAccount::default(),
            passed: Duration::ZERO,
            setup,
        }
    }

    /// Accounts for the time since the last change. Before every change.
    pub(super) fn pass(&mut self, now: Duration) {
        let levels = self.level();
        self.account.window.pass(self.passed, now, &levels);
        self.passed = now;
    }

    /// What a worker of a stage does now.
    pub(super) fn begin(&mut self, stage: Stage, now: Duration) -> Begin {
        if self.is_closed {
            return Begin::Closed;
        }
        if self.free_places(stage) == 0 {
            return Begin::Wait(None);
        }
        let images = match stage {
            Stage::Fetch => self.begin_fetch(),
            Stage::Decode => self.begin_decode(),
            Stage::Post => self.post_queue.pop().map(|(_, image)| vec![image]),
            Stage::Detect => {
                self.batcher_changed = false;
                match self.batcher.next(now) {
                    NextBatch::Batch(batch) => {
                        Some(batch.images.into_iter().map(|(_, image)| image).collect())
                    }
                    NextBatch::WaitUntil(instant) => return Begin::Wait(Some(instant)),
                    NextBatch::Idle => None,
                }
            }
        };
        let Some(images) = images else { return Begin::Wait(None) };
        if stage == Stage::Detect {
            self.batcher_changed = true;
            if self.account.window.holds(now) {
                *self.account.window.batch_sizes.entry(images.len()).or_default() += 1;
            }
        }
        for image in &images {
            self.account.window.taken(stage, image, now);
        }
        self.at_work[stage] += 1;
        let planned = self.planned(stage, &images);
        Begin::Work { images, planned }
    }

    /// A worker of a stage has ended with these, in whatever way.
    pub(super) fn end(
        &mut self,
        stage: Stage,
        images: Vec<Image>,
        planned: Duration,
        ended: Ended,
        now: Duration,
    ) {
        if self.is_closed && ended == Ended::Lost {
            // Whoever had it has ended as it was told to. It counts as in flight, where the drain has left it.
            return;
        }
        self.at_work[stage] -= 1;
        self.batcher_changed |= stage == Stage::Detect;
        if ended != Ended::Done {
            images.into_iter().for_each(|image| self.fail(stage, image, ended));
            return;
        }
        self.account.window.did(stage, planned, now);
        match stage {
            Stage::Fetch => self.fetched.extend(images),
            Stage::Decode => images.into_iter().for_each(|image| self.decoded(image, now)),
            Stage::Detect => self.detected.push(images.into()),
            Stage::Post => images.into_iter().for_each(|image| self.complete(image, now)),
        }
    }

    /// Moves what can be moved, and takes out whom to wake for what can begin now. After every change.
    pub(super) fn settle(&mut self, now: Duration) -> Vec<Wake> {
        while self.hand_on_fetched(now) || self.hand_on_detected(now) || self.admit_from_line(now) {}
        let mut wakes = Vec::new();
        for stage in Stage::ALL {
            let startable = self.startable(stage);
            self.staff.wake(stage, startable, &mut wakes);
        }
        wakes
    }

    /// Has every worker told, when it asks, that nothing will come.
    pub(super) fn close(&mut self) -> Vec<Wake> {
        self.is_closed = true;
        let mut wakes = Vec::new();
        self.staff.wake_all(&mut wakes);
        wakes
    }

    pub(super) fn in_flight(&self) -> usize {
        let in_flight = self.admission.in_flight();
        in_flight.interactive + in_flight.bulk
    }

    /// Everything that is exported of this instant.
    pub(super) fn levels(&self) -> PipelineLevels {
        let Levels { queued, at_work, blocked, .. } = self.level();
        let mut busy = at_work;
        Stage::ALL.into_iter().for_each(|stage| busy[stage] += blocked[stage]);
        PipelineLevels {
            counts: self.counts_now(),
            queued,
            busy,
            compressed_bytes: self.bytes.of(Form::Compressed),
            decoded_bytes: self.bytes.of(Form::Decoded),
            in_flight_peak: self.admission.in_flight_peak() as u64,
        }
    }

    /// The account, with what is a level and not a count.
    pub(super) fn account_now(&self) -> PipelineAccount {
        let mut account = self.account.clone();
        account.counts = self.counts_now();
        account.in_flight_peak = self.admission.in_flight_peak() as u64;
        account.bytes_peak = self.bytes.peak();
        account.decoded_bytes_peak = self.bytes.decoded_peak();
        account
    }

    fn counts_now(&self) -> ByLane<LaneCounts> {
        let mut counts = self.account.counts;
        for lane in Lane::ALL {
            counts[lane].in_flight = self.admission.in_flight()[lane] as u64;
            counts[lane].waiting = self.line.iter().filter(|waiting| waiting.lane == lane).count() as u64;
        }
        counts
    }

    fn begin_fetch(&mut self) -> Option<Vec<Image>> {
        let (_, image) = self.fetch_queue.pop()?;
        self.bytes.take(Form::Compressed, self.setup.spec.image.compressed);
        Some(vec![image])
    }

    /// An image stays compressed until the batcher has room for it.
    fn begin_decode(&mut self) -> Option<Vec<Image>> {
        let lane = self.decode_queue.first()?;
        if !self.batcher.reserve(lane) {
            return None;
        }
        let (_, image) = self.decode_queue.pop().expect("it is the first");
        self.bytes.take(Form::Decoded, self.setup.spec.image.decoded);
        Some(vec![image])
    }

    /// What a stage takes for these images.
    fn planned(&self, stage: Stage, images: &[Image]) -> Duration {
        let sum = |cost: fn(&Image) -> Duration| images.iter().map(cost).sum();
        match stage {
            Stage::Fetch => sum(|image| image.costs.fetch),
            Stage::Decode => sum(|image| image.costs.decode),
            Stage::Detect => self.setup.spec.costs.of_batch(images.iter().map(|image| image.costs)),
            Stage::Post => sum(|image| image.costs.post),
        }
    }

    fn free_places(&self, stage: Stage) -> usize {
        let blocked = match stage {
            Stage::Fetch => self.fetched.len(),
            Stage::Detect => self.detected.len(),
            Stage::Decode | Stage::Post => 0,
        };
        self.setup.places(stage).saturating_sub(self.at_work[stage] + blocked)
    }

    /// How many workers of a stage could begin, as far as is known without asking the batcher.
    fn startable(&self, stage: Stage) -> usize {
        let waiting = match stage {
            Stage::Fetch => self.fetch_queue.len(),
            // One that cannot begin is not woken: it would ask, wait and be woken again for ever.
            Stage::Decode if self.decode_queue.first().is_some_and(|lane| self.batcher.has_room(lane)) => {
                self.decode_queue.len()
            }
            Stage::Decode => 0,
            Stage::Detect => usize::from(self.batcher_changed && self.batcher.waiting() != ByLane::default()),
            Stage::Post => self.post_queue.len(),
        };
        waiting.min(self.free_places(stage))
    }

    fn level(&self) -> Levels {
        let count = |waiting: ByLane<usize>| ByLane {
            interactive: waiting.interactive as u64,
            bulk: waiting.bulk as u64,
        };
        let at_work = |stage| self.at_work[stage] as u64;
        Levels {
            in_flight: self.in_flight() as u64,
            queued: ByStage {
                fetch: count(self.fetch_queue.waiting()),
                decode: count(self.decode_queue.waiting()),
                detect: count(self.batcher.waiting()),
                post: count(self.post_queue.waiting()),
            },
            at_work: ByStage {
                fetch: at_work(Stage::Fetch),
                decode: at_work(Stage::Decode),
                detect: at_work(Stage::Detect),
                post: at_work(Stage::Post),
            },
            blocked: ByStage {
                fetch: self.fetched.len() as u64,
                detect: self.detected.len() as u64,
                ..ByStage::default()
            },
        }
    }
}
