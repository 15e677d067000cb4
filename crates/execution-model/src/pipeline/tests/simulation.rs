//! The pipeline on a virtual clock: the state as it is, and stages that take exactly what they cost.

use std::collections::VecDeque;
use std::time::Duration;

use workload::BlockingStrategy;
use workload::pipeline::{Lane, PipelineSpec, PlannedFault, Stage};

use super::cores::Cores;
use crate::pipeline::account::PipelineAccount;
use crate::pipeline::image::Image;
use crate::pipeline::setup::PipelineSetup;
use crate::pipeline::state::{Begin, Ended, State};

/// How long to run, what is not counted, and when interactive images come.
pub(super) struct Load {
    pub(super) warm_up: Duration,
    pub(super) measured: Duration,
    pub(super) interactive: Vec<Duration>,
}

/// What a worker has.
struct Busy {
    stage: Stage,
    images: Vec<Image>,
    planned: Duration,
}

struct Simulation {
    state: State,
    now: Duration,
    interactive: VecDeque<Duration>,
    interactive_refused: u64,
    waiting: Vec<(Duration, Busy)>,
    cores: Cores<Busy>,
    /// When the batcher is to be asked again.
    wake: Option<Duration>,
}

/// Runs the pipeline. Bulk images are always ready.
pub(super) fn run(spec: &PipelineSpec, cores: usize, load: &Load) -> PipelineAccount {
    let setup = PipelineSetup {
        spec: spec.clone(),
        strategy: BlockingStrategy::Inline,
        rounds_per_us: 1.0,
        seed: 0,
        faults: Vec::<PlannedFault>::new(),
    };
    let mut state = State::new(setup.checked().unwrap());
    let end = load.warm_up + load.measured;
    state.account.window.from = load.warm_up;
    state.account.window.until = end;
    let mut simulation = Simulation {
        state,
        now: Duration::ZERO,
        interactive: load.interactive.iter().copied().collect(),
        interactive_refused: 0,
        waiting: Vec::new(),
        cores: Cores::new(cores),
        wake: None,
    };
    while simulation.now < end {
        while simulation.do_what_can_be_done() {}
        simulation.advance();
    }
    let mut account = simulation.state.account_now();
    account.counts.interactive.refused = simulation.interactive_refused;
    account
}

impl Simulation {
    /// False where there was nothing. Whom to wake is not asked: every stage is asked each time.
    fn do_what_can_be_done(&mut self) -> bool {
        let any = self.bring_interactive() | self.bring_bulk();
        let _wakes = self.state.settle(self.now);
        // The later stages first, which make room for those before them.
        Stage::ALL.into_iter().rev().fold(any, |any, stage| any | self.begin(stage))
    }

    fn begin(&mut self, stage: Stage) -> bool {
        match self.state.begin(stage, self.now) {
            Begin::Work { images, planned } => {
                let busy = Busy { stage, images, planned };
                if self.state.setup.computes(stage) {
                    self.cores.begin(planned, busy);
                } else {
                    self.waiting.push((self.now + planned, busy));
                }
                true
            }
            Begin::Wait(until) => {
                if stage == Stage::Detect {
                    self.wake = until;
                }
                false
            }
            Begin::Closed => unreachable!("it is never closed"),
        }
    }

    /// Goes to the next instant at which something ends or comes.
    fn advance(&mut self) {
        let waits = self.waiting.iter().map(|(end, _)| *end);
        let others = [self.wake, self.interactive.front().copied(), self.cores.next_end(self.now)];
        let all = waits.chain(others.into_iter().flatten());
        let next = all.filter(|instant| *instant > self.now).min().expect("bulk work never ends");
        let mut ended = self.cores.advance(next - self.now);
        self.now = next;
        self.state.pass(next);
        ended.extend(self.waiting.extract_if(.., |(end, _)| *end <= next).map(|(_, busy)| busy));
        for Busy { stage, images, planned } in ended {
            self.state.end(stage, images, planned, Ended::Done, next);
            let _wakes = self.state.settle(next);
        }
    }

    fn bring_interactive(&mut self) -> bool {
        let Some(intended) = self.interactive.front().copied().filter(|due| *due <= self.now) else {
            return false;
        };
        self.interactive.pop_front();
        if self.state.setup.spec.policy.interactive_reserved == 0 {
            self.state.stand_in_line(Lane::Interactive, intended, false, None);
        } else if self.state.try_admit(Lane::Interactive, intended, self.now, None).is_err() {
            self.interactive_refused += 1;
        }
        true
    }

    fn bring_bulk(&mut self) -> bool {
        let stands = self.state.line.iter().any(|waiting| waiting.lane == Lane::Bulk);
        if !stands {
            self.state.stand_in_line(Lane::Bulk, self.now, false, None);
        }
        !stands
    }
}
