//! Who works at which stage, and who of them waits to be woken.

use std::sync::Arc;

use workload::pipeline::{ByStage, Stage};

/// Rings the bell of a worker. It must not block, and may be called when the worker does not wait.
pub(super) type Wake = Arc<dyn Fn() + Send + Sync>;

/// The workers by their numbers.
#[derive(Default)]
pub(super) struct Staff {
    hired: Vec<Hired>,
    /// Those that wait, the one last that began last.
    idle: ByStage<Vec<usize>>,
    /// How many have been woken and have not asked since.
    woken: ByStage<usize>,
}

struct Hired {
    stage: Stage,
    wake: Wake,
    state: WorkerState,
}

#[derive(PartialEq, Eq)]
enum WorkerState {
    Awake,
    Idle,
    Woken,
}

impl Staff {
    pub(super) fn hire(&mut self, stage: Stage, wake: Wake) -> usize {
        self.hired.push(Hired { stage, wake, state: WorkerState::Awake });
        self.hired.len() - 1
    }

    /// A worker is awake and asks, whoever or whatever woke it.
    pub(super) fn asks(&mut self, worker: usize) {
        let Hired { stage, state, .. } = &mut self.hired[worker];
        match std::mem::replace(state, WorkerState::Awake) {
            WorkerState::Awake => {}
            WorkerState::Idle => self.idle[*stage].retain(|idle| *idle != worker),
            WorkerState::Woken => self.woken[*stage] -= 1,
        }
    }

    /// A worker is about to wait.
    pub(super) fn waits(&mut self, worker: usize) {
        let Hired { stage, state, .. } = &mut self.hired[worker];
        *state = WorkerState::Idle;
        self.idle[*stage].push(worker);
    }

    /// Takes out whom to wake for so much work at a stage, less those that are on their way to it.
    pub(super) fn wake(&mut self, stage: Stage, startable: usize, wakes: &mut Vec<Wake>) {
        for _ in self.woken[stage]..startable {
            let Some(worker) = self.idle[stage].pop() else { return };
            self.hired[worker].state = WorkerState::Woken;
            self.woken[stage] += 1;
            wakes.push(Arc::clone(&self.hired[worker].wake));
        }
    }

    /// Takes out everybody who waits.
    pub(super) fn wake_all(&mut self, wakes: &mut Vec<Wake>) {
        for stage in Stage::ALL {
            self.wake(stage, usize::MAX, wakes);
        }
    }
}
