//! The whole pipeline on a virtual clock: the policy as it is, and stages that take exactly what they cost.

use std::collections::VecDeque;
use std::time::Duration;

use workload::pipeline::{
    Admission, Batch, Batcher, ByLane, Detector, Expected, ImageCosts, Lane, LaneQueue, Next, PipelineSpec,
    Turn,
};

use crate::cores::Cores;

/// An image on its way through the pipeline.
pub(crate) struct Image {
    lane: Lane,
    costs: ImageCosts,
    intended: Duration,
    admitted: Duration,
    expected: Option<Expected>,
}

/// What happened after the warm-up.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) completed: ByLane<usize>,
    /// From the intended start, and from admission.
    pub(crate) responses: Vec<Duration>,
    pub(crate) responses_admitted: Vec<Duration>,
    pub(crate) batch_sizes: Vec<usize>,
    pub(crate) rejected: usize,
    pub(crate) in_flight_peak: usize,
    /// Over the whole run: admitted, less completed, less those still in flight.
    pub(crate) unaccounted: i64,
}

/// How long to run, what is not counted, and when interactive images come.
pub(crate) struct Load {
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
    pub(crate) interactive: Vec<Duration>,
}

enum CpuWork {
    Decode(Image),
    Post(Image),
    Detect(Vec<Image>),
}

struct Pipeline<'a> {
    spec: &'a PipelineSpec,
    now: Duration,
    warm_up: Duration,
    admission: Admission,
    interactive: VecDeque<Duration>,
    interactive_waiting: VecDeque<(Turn, Duration)>,
    bulk_waiting: Option<Turn>,
    next_number: u64,
    fetch_queue: LaneQueue<Image>,
    fetching: Vec<(Duration, Image)>,
    decode_queue: LaneQueue<Image>,
    cores: Cores<CpuWork>,
    batcher: Batcher<Image>,
    // Batches on devices, with their ends; and one that cannot all be handed on yet.
    detecting: Vec<(Duration, Vec<Image>)>,
    detected: Vec<VecDeque<Image>>,
    wake: Option<Duration>,
    post_queue: LaneQueue<Image>,
    admitted_total: i64,
    completed_total: i64,
    outcome: Outcome,
}

/// Runs the pipeline. Bulk images are always ready.
pub(crate) fn run(spec: &PipelineSpec, cores: usize, load: &Load) -> Outcome {
    let (policy, queue) = (spec.policy, || LaneQueue::new(spec.policy.order, spec.queue_capacity));
    let mut pipeline = Pipeline {
        spec,
        now: Duration::ZERO,
        warm_up: load.warm_up,
        admission: Admission::new(policy.order, spec.in_flight_max, policy.interactive_reserved),
        interactive: load.interactive.iter().copied().collect(),
        interactive_waiting: VecDeque::new(),
        bulk_waiting: None,
        next_number: 0,
        fetch_queue: queue(),
        fetching: Vec::new(),
        decode_queue: queue(),
        cores: Cores::new(cores),
        batcher: Batcher::new(policy, spec.queue_capacity),
        detecting: Vec::new(),
        detected: Vec::new(),
        wake: None,
        post_queue: queue(),
        admitted_total: 0,
        completed_total: 0,
        outcome: Outcome::default(),
    };
    let end = load.warm_up + load.measured;
    while pipeline.now < end {
        while pipeline.settle() {}
        pipeline.advance();
    }
    let in_flight = pipeline.admission.in_flight();
    let in_flight = i64::try_from(in_flight.interactive + in_flight.bulk).expect("it is at most the limit");
    let unaccounted = pipeline.admitted_total - pipeline.completed_total - in_flight;
    Outcome { in_flight_peak: pipeline.admission.in_flight_peak(), unaccounted, ..pipeline.outcome }
}

impl Pipeline<'_> {
    /// Does what can be done now. False where there was nothing.
    fn settle(&mut self) -> bool {
        let steps: [fn(&mut Self) -> bool; 9] = [
            Self::hand_on_detected,
            Self::end_fetch,
            Self::end_detection,
            Self::begin_post,
            Self::begin_decode,
            Self::begin_detection,
            Self::begin_fetch,
            Self::admit_interactive,
            Self::admit_bulk,
        ];
        steps.into_iter().any(|step| step(self))
    }

    /// Goes to the next instant at which something ends or comes.
    fn advance(&mut self) {
        let fetched = self.fetching.iter().map(|(end, _)| *end);
        let detected = self.detecting.iter().map(|(end, _)| *end);
        let others = [self.wake, self.interactive.front().copied(), self.cores.next_end(self.now)];
        let all = fetched.chain(detected).chain(others.into_iter().flatten());
        let next = all.filter(|instant| *instant > self.now).min().expect("bulk work never ends");
        for done in self.cores.advance(next - self.now) {
            match done {
                CpuWork::Decode(mut image) => {
                    let expected = image.expected.take().expect("it is offered once");
                    self.batcher.offer_reserved(image, expected);
                }
                CpuWork::Post(image) => self.complete(next, &image),
                CpuWork::Detect(images) => self.detected.push(images.into()),
            }
        }
        self.now = next;
    }

    fn complete(&mut self, now: Duration, image: &Image) {
        self.admission.release(image.lane);
        self.completed_total += 1;
        if now < self.warm_up {
            return;
        }
        self.outcome.completed[image.lane] += 1;
        if image.lane == Lane::Interactive {
            self.outcome.responses.push(now - image.intended);
            self.outcome.responses_admitted.push(now - image.admitted);
        }
    }

    fn enter(&mut self, lane: Lane, intended: Duration) {
        let costs = self.spec.costs.of_image(self.next_number, self.spec.variation);
        self.next_number += 1;
        self.admitted_total += 1;
        let expected = Some(self.batcher.expect(lane, self.now + self.spec.costs.to_batcher()));
        let image = Image { lane, costs, intended, admitted: self.now, expected };
        assert!(self.fetch_queue.push(lane, image).is_ok(), "room was looked for");
    }

    /// Where a slice is reserved, an interactive image that finds no slot is refused; otherwise it waits.
    fn admit_interactive(&mut self) -> bool {
        if self.interactive.front().is_some_and(|due| *due <= self.now) {
            let intended = self.interactive.pop_front().expect("it is due");
            if self.spec.policy.interactive_reserved == 0 {
                self.interactive_waiting.push_back((self.admission.wait(Lane::Interactive), intended));
            } else if self.admission.try_admit(Lane::Interactive).is_ok() {
                self.enter(Lane::Interactive, intended);
            } else {
                self.outcome.rejected += 1;
            }
            return true;
        }
        if !self.fetch_queue.has_room(Lane::Interactive) {
            return false;
        }
        let Some((turn, intended)) = self.interactive_waiting.pop_front() else { return false };
        match self.admission.take_turn(turn) {
            Ok(()) => {
                self.enter(Lane::Interactive, intended);
                true
            }
            Err(turn) => {
                self.interactive_waiting.push_front((turn, intended));
                false
            }
        }
    }

    fn admit_bulk(&mut self) -> bool {
        if !self.fetch_queue.has_room(Lane::Bulk) {
            return false;
        }
        let turn = self.bulk_waiting.take().unwrap_or_else(|| self.admission.wait(Lane::Bulk));
        match self.admission.take_turn(turn) {
            Ok(()) => {
                self.enter(Lane::Bulk, self.now);
                true
            }
            Err(turn) => {
                self.bulk_waiting = Some(turn);
                false
            }
        }
    }

    fn begin_fetch(&mut self) -> bool {
        if self.fetching.len() >= self.spec.workers.fetch {
            return false;
        }
        let Some((_, image)) = self.fetch_queue.pop() else { return false };
        self.fetching.push((self.now + image.costs.fetch, image));
        true
    }

    /// A fetch that cannot hand its image on keeps its worker.
    fn end_fetch(&mut self) -> bool {
        let (queue, now) = (&self.decode_queue, self.now);
        let can_end = |(end, image): &(Duration, Image)| *end <= now && queue.has_room(image.lane);
        let Some(index) = self.fetching.iter().position(can_end) else { return false };
        let (_, image) = self.fetching.remove(index);
        assert!(self.decode_queue.push(image.lane, image).is_ok(), "there is room");
        true
    }

    /// An image stays compressed until the batcher has room for it.
    fn begin_decode(&mut self) -> bool {
        let decoding = self.cores.count(|work| matches!(work, CpuWork::Decode(_)));
        let Some(lane) = self.decode_queue.first() else { return false };
        if decoding >= self.spec.workers.decode || !self.batcher.reserve(lane) {
            return false;
        }
        let (_, image) = self.decode_queue.pop().expect("it is the first");
        self.cores.begin(image.costs.decode, CpuWork::Decode(image));
        true
    }

    fn begin_detection(&mut self) -> bool {
        self.wake = None;
        let on_cores = self.cores.count(|work| matches!(work, CpuWork::Detect(_)));
        let places = match self.spec.detector {
            Detector::Device { devices } => devices,
            Detector::Cpu { workers } => workers,
        };
        if self.detecting.len() + self.detected.len() + on_cores >= places {
            return false;
        }
        match self.batcher.next(self.now) {
            Next::Idle => false,
            Next::WaitUntil(instant) => {
                assert!(instant > self.now, "a wait is for later");
                self.wake = Some(instant);
                false
            }
            Next::Batch(Batch { images }) => {
                if self.now >= self.warm_up {
                    self.outcome.batch_sizes.push(images.len());
                }
                let images: Vec<Image> = images.into_iter().map(|(_, image)| image).collect();
                let cost = self.spec.costs.of_batch(images.iter().map(|image| image.costs));
                match self.spec.detector {
                    Detector::Device { .. } => self.detecting.push((self.now + cost, images)),
                    Detector::Cpu { .. } => self.cores.begin(cost, CpuWork::Detect(images)),
                }
                true
            }
        }
    }

    fn end_detection(&mut self) -> bool {
        let Some(index) = self.detecting.iter().position(|(end, _)| *end <= self.now) else { return false };
        let (_, images) = self.detecting.remove(index);
        self.detected.push(images.into());
        true
    }

    /// A device is free when the next stage has taken its whole batch.
    fn hand_on_detected(&mut self) -> bool {
        for images in &mut self.detected {
            while let Some(image) = images.pop_front() {
                if !self.post_queue.has_room(image.lane) {
                    images.push_front(image);
                    break;
                }
                assert!(self.post_queue.push(image.lane, image).is_ok(), "there is room");
            }
        }
        let before = self.detected.len();
        self.detected.retain(|images| !images.is_empty());
        self.detected.len() < before
    }

    fn begin_post(&mut self) -> bool {
        if self.cores.count(|work| matches!(work, CpuWork::Post(_))) >= self.spec.workers.post {
            return false;
        }
        let Some((_, image)) = self.post_queue.pop() else { return false };
        self.cores.begin(image.costs.post, CpuWork::Post(image));
        true
    }
}
