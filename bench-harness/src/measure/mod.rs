//! Carrying out cells: from a contestant and an experiment's values to rows.

mod blocking;
mod burst;
mod clients;
mod glimpse;
mod hold;
mod in_process;
mod memory;
mod over_http;
mod pipeline;
mod serving;
mod shard;
mod throughput;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use cell_control::{CellError, CellProcess, ControlGroups, Limits, QuotaError};
use cell_protocol::{CellSpec, PROTOCOL, Task};
use serde_json::Value;

use crate::audit::Computing;
use crate::contestant::Contestant;
use crate::experiment::{Experiment, Values};
use crate::interrupt::Interrupt;
use crate::limit::MachineLimits;
use crate::matrix::{Cell, Point};
use crate::place::{CpusBy, Place};
use crate::row::{CellId, Row, Status};

pub(crate) use clients::shard;
pub(crate) use memory::hold;
pub(crate) use throughput::Ceiling;

/// How long a runner may take to drain what it was given, when told to stop.
const DRAIN: Duration = Duration::from_secs(1);
/// For how long a busy machine may hold a child up.
const SLACK: Duration = Duration::from_secs(5);
/// How often a cell that is waited for is looked at: one that has ended is not waited for any longer than this.
const GLANCE: Duration = Duration::from_millis(20);

/// What all cells of a run have in common.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) values: Values,
    /// The runner whose ceiling sets the rates of open loops.
    pub(crate) floor: Option<Contestant>,
    pub(crate) ceiling: Ceiling,
    pub(crate) seed: u64,
    pub(crate) machine: MachineLimits,
    /// Of the compute kernel, where it was calibrated.
    pub(crate) rounds_per_us: Option<f64>,
    /// Where cells with a quota have their control groups; none where no cell has one.
    pub(crate) groups: Option<Rc<ControlGroups>>,
    pub(crate) interrupt: Interrupt,
}

/// Where rows go as they are made: a ramp makes many.
pub(crate) type Sink<'a> = dyn FnMut(Row) -> anyhow::Result<()> + 'a;

impl Bench {
    /// Carries out one cell of the matrix. What goes wrong with the cell is a row; an error is the harness's own.
    pub(crate) fn measure(&self, cell: &Cell<'_>, rows: &mut Sink<'_>) -> anyhow::Result<()> {
        let experiment = cell.point.experiment();
        if let Some(reason) = cell.contestant.refusal(experiment.ability()) {
            let id = cell_id(experiment, cell.contestant);
            return rows(Row::without_figures(id, cell.repetition, Status::Unsupported, reason));
        }
        match cell.point {
            Point::Burst { warm } => rows(burst::measure(self, cell, warm)),
            Point::HoldTasks => hold::measure(self, cell, &self.values.capacity.hold_tasks, rows),
            Point::Hold => hold::measure(self, cell, &self.values.capacity.hold, rows),
            Point::Tasks => memory::tasks(self, cell, &self.values.memory.tasks, rows),
            Point::Connections => rows(memory::connections(self, cell, &self.values.memory.connections)),
            Point::Probe { beside } => rows(blocking::probe(self, cell, beside)),
            Point::Pinning { blocker } => rows(blocking::pinning(self, cell, blocker)),
            Point::Pipeline { experiment, ref setting } => {
                rows(pipeline::measure(self, cell, experiment, setting))
            }
            Point::Closed { connections } => {
                rows(throughput::closed(self, cell, &self.values.throughput.closed, connections))
            }
            Point::Open => rows(throughput::open(self, cell, &self.values.throughput.open)),
        }
    }

    fn spec(&self, contestant: &Contestant, task: Task) -> CellSpec {
        CellSpec {
            protocol: PROTOCOL,
            variant: contestant.variant.clone(),
            workers: contestant.place.workers,
            cpus: contestant.place.cpus.clone(),
            control_group: None,
            offload_threads: None,
            task,
            drain_ns: ns(DRAIN),
        }
    }

    /// Starts a cell, in a control group of its own where its place is a quota.
    fn start(&self, contestant: &Contestant, spec: &CellSpec) -> Result<CellProcess, CellError> {
        let group = match (contestant.place.quota, &self.groups) {
            (None, _) => None,
            (Some(cpus), Some(groups)) => Some(groups.make(cpus)?),
            (Some(_), None) => return Err(QuotaError::NoController.into()),
        };
        let limits = Limits { interrupt: Some(self.interrupt.flag()), ..Limits::default() };
        CellProcess::start_in(&contestant.runner, spec, limits, group)
    }

    /// Sleeps until `instant`, or until there is no use in it: the run is interrupted, or the runner has ended.
    fn sleep_beside(&self, cell: &CellProcess, instant: Instant) {
        while Instant::now() < instant && !self.interrupt.is_raised() && cell.is_running() {
            self.interrupt.sleep_until(instant.min(after(Instant::now(), GLANCE)));
        }
    }

    /// Rounds of the compute kernel in a microsecond of CPU time: without it, nothing can compute for a time.
    fn calibrated(&self) -> Result<f64, NoFigures> {
        let unknown = || NoFigures::failed("the compute kernel was not calibrated on this machine");
        self.rounds_per_us.ok_or_else(unknown)
    }

    /// What planned computing comes to on a contestant's CPUs.
    fn computing(&self, place: &Place) -> Computing {
        // Of CPUs that cannot be counted there may be any number.
        let cpus = place.cpus_usable().unwrap_or(u64::MAX);
        Computing { rounds_per_us: self.rounds_per_us, cpus, ahead: place.ahead() }
    }
}

/// Why a cell has no figures.
#[derive(Clone, Debug)]
struct NoFigures {
    status: Status,
    reason: String,
}

impl NoFigures {
    fn failed(reason: impl Into<String>) -> NoFigures {
        NoFigures { status: Status::Failed, reason: reason.into() }
    }

    fn row(self, cell: CellId, repetition: u32) -> Row {
        Row::without_figures(cell, repetition, self.status, self.reason)
    }
}

impl From<&CellError> for NoFigures {
    fn from(error: &CellError) -> NoFigures {
        let status = match error {
            CellError::Interrupted { .. } => Status::Partial,
            _ => Status::Failed,
        };
        NoFigures { status, reason: error.to_string() }
    }
}

/// A cell without parameters of its experiment.
fn cell_id(experiment: Experiment, contestant: &Contestant) -> CellId {
    CellId {
        experiment: experiment.name().to_owned(),
        runtime: contestant.runtime.clone(),
        variant: contestant.variant.clone(),
        params: params(&contestant.place),
    }
}

/// What tells the rows of one place from those of another. A quota says that it is one.
fn params(place: &Place) -> BTreeMap<String, Value> {
    let cpus = place.cpu_count().map(|cpus| ("cpus".to_owned(), cpus.into()));
    let by = place.quota.map(|_| ("cpus_by".to_owned(), CpusBy::Quota.name().into()));
    cpus.into_iter().chain(by).collect()
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A figure per request, none where there was no request.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of CPU time are far below 2^53")]
fn per(total: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| total as f64 / count as f64)
}

/// `now + duration`, without the overflow that an absurd duration would cause.
fn after(now: Instant, duration: Duration) -> Instant {
    now.checked_add(duration).unwrap_or(now)
}

/// How long a child may take for what should take `own`, before it counts as hanging: a quarter longer, and the time for which
/// a busy machine may hold it up.
///
/// So the ladder of a cell whose requests are given up after L is, rung by rung:
///
/// | awaited | at most |
/// |---|---|
/// | that it is ready; each snapshot | 10 s, of [`Limits`] |
/// | its result, or the client's | 1.25 L + 5 s |
/// | that it has drained and is gone | 1.25 [`DRAIN`] + 5 s |
/// | that it is gone after SIGTERM | 2 s, and then SIGKILL |
///
/// That is for a child which does nothing and still runs. One that has ended, or is stopped by a signal, is noticed within
/// [`GLANCE`] on every rung.
fn patience(own: Duration) -> Duration {
    own.saturating_add(own / 4).saturating_add(SLACK)
}
