//! One process in which requests pile up stage by stage, and are looked at.

use std::thread;
use std::time::{Duration, Instant};

use cell_control::{CellError, CellProcess, End};
use cell_protocol::{ArrivalsResult, CellSpec, StagesTask, Task};
use workload::{Plan, RequestCounts, Step};

use super::checks::Waiting;
use super::look::Look;
use crate::experiment::Tasks;
use crate::matrix::Cell;
use crate::measure::{Bench, DRAIN, NoFigures, ns, patience};

/// How long all requests of a stage may take to be in service, or in the queue: 10,000 threads need a second.
const STAGE_LIMIT: Duration = Duration::from_secs(20);
/// How often a runner is asked where its requests are.
const ASK: Duration = Duration::from_millis(2);
/// The shortest time that a runner takes for a limit.
const AT_ONCE: Duration = Duration::from_millis(1);

/// Which requests grow in number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// Those that wait in service.
    InService,
    /// Those that wait in the queue for a model that has all the requests in service that it lets in.
    Queued { limit: u64 },
}

/// One process from its start to its end.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    task: StagesTask,
    place: Where,
    units: &'a [u64],
}

/// What was seen of it.
#[derive(Debug)]
pub(super) struct Seen {
    /// Before the first request.
    pub(super) before: Look,
    pub(super) looks: Vec<Look>,
    pub(super) waiting: Vec<Waiting>,
    /// When all have ended, where they are waited for.
    pub(super) after: Option<Look>,
    pub(super) result: ArrivalsResult,
    pub(super) wall: Duration,
    pub(super) end: End,
}

impl Where {
    /// Requests in front of the queue.
    fn in_front(self) -> u64 {
        match self {
            Where::InService => 0,
            Where::Queued { limit } => limit,
        }
    }

    /// How many of `offered` are in service.
    fn in_service(self, offered: u64) -> u64 {
        match self {
            Where::InService => offered,
            Where::Queued { limit } => limit,
        }
    }
}

impl<'a> Trial<'a> {
    /// A process whose requests wait this long, and which is looked at once for each of `units`.
    pub(super) fn new(
        bench: &Bench,
        wait: Duration,
        place: Where,
        units: &'a [u64],
    ) -> Result<Trial<'a>, NoFigures> {
        let plan = Plan::new([Step::Wait(wait)]).map_err(|error| NoFigures::failed(error.to_string()))?;
        // What fills the model up comes before the first look.
        let mut totals = match place {
            Where::InService => Vec::new(),
            Where::Queued { limit } => vec![limit],
        };
        totals.extend(units.iter().map(|units| place.in_front() + units));
        let more = |totals: &[u64]| totals[1] - totals[0];
        let stages = totals.first().copied().into_iter().chain(totals.windows(2).map(more)).collect();
        let requests = totals.last().copied().unwrap_or(0);
        // Where they are waited for, all have ended when the last call comes.
        let time_limit = if place == Where::InService { DRAIN } else { AT_ONCE };
        let task = StagesTask {
            plan,
            seed: bench.seed,
            stages,
            queue_capacity: usize::try_from(requests).unwrap_or(usize::MAX),
            time_limit_ns: ns(time_limit),
        };
        Ok(Trial { task, place, units })
    }

    /// Starts the process, watches it, and ends it.
    pub(super) fn run(&self, bench: &Bench, cell: &Cell<'_>, values: &Tasks) -> Result<Seen, NoFigures> {
        let mut spec = bench.spec(cell.contestant, Task::Stages(self.task.clone()));
        if self.place != Where::InService {
            // What is queued is given up at once.
            spec = CellSpec { drain_ns: ns(AT_ONCE), ..spec };
        }
        let mut process = bench.start(cell.contestant, &spec).map_err(none)?;
        let began = Instant::now();
        let Watched { before, looks, waiting, after } = self.watch(bench, values, &mut process)?;
        process.go().map_err(none)?;
        let result = process.result(patience(Duration::ZERO)).map_err(none)?;
        let wall = began.elapsed();
        let end = process.stop(patience(DRAIN)).map_err(none)?;
        Ok(Seen { before, looks, waiting, after, result, wall, end })
    }

    /// Calls for one stage after the other, and looks at each.
    fn watch(&self, bench: &Bench, values: &Tasks, process: &mut CellProcess) -> Result<Watched, NoFigures> {
        let leader = process.pid();
        let usage = process.snapshot().map_err(none)?.usage;
        let before = Look::take(leader, 0, usage)?;
        let (mut looks, mut waiting) = (Vec::new(), Vec::new());
        if self.place != Where::InService {
            self.stage(process, self.place.in_front())?;
        }
        for units in self.units {
            let offered = self.place.in_front() + units;
            self.stage(process, offered)?;
            bench.interrupt.sleep_until(Instant::now() + values.settle);
            let first = process.snapshot().map_err(none)?;
            looks.push(Look::take(leader, *units, first.usage)?);
            let second = process.snapshot().map_err(none)?;
            waiting.push(Waiting {
                in_service: self.place.in_service(offered),
                offered,
                before: counts(first.requests)?,
                after: counts(second.requests)?,
            });
        }
        let after = match self.place {
            Where::InService => Some(self.release(process)?),
            Where::Queued { .. } => None,
        };
        Ok(Watched { before, looks, waiting, after })
    }

    /// Calls for a stage, and waits until its requests are where they should be, or have ended, or are late: which it
    /// is, is a check of the row.
    fn stage(&self, process: &mut CellProcess, offered: u64) -> Result<(), NoFigures> {
        process.go().map_err(none)?;
        let all = self.place.in_service(offered);
        let are_there = |counts: &RequestCounts| counts.in_service + counts.ended >= all;
        wait_for(process, STAGE_LIMIT, |counts| counts.offered == offered && are_there(counts))
    }

    /// Waits until all requests have ended, and looks at what is left.
    fn release(&self, process: &mut CellProcess) -> Result<Look, NoFigures> {
        let all: u64 = self.task.stages.iter().sum();
        let longest = patience(self.task.plan.least_duration());
        wait_for(process, longest, |counts| counts.ended == all)?;
        let usage = process.snapshot().map_err(none)?.usage;
        Look::take(process.pid(), 0, usage)
    }
}

/// What was seen before the requests were accounted for.
#[derive(Debug)]
struct Watched {
    before: Look,
    looks: Vec<Look>,
    waiting: Vec<Waiting>,
    after: Option<Look>,
}

impl Seen {
    /// Whether requests ended before the last look, for no other reason than that their wait was over.
    pub(super) fn ended_too_early(&self) -> bool {
        self.result.rejected.is_empty() && self.waiting.iter().any(|waiting| waiting.after.ended > 0)
    }
}

/// Asks where the requests are until that is as it should be or the time is over.
fn wait_for(
    process: &mut CellProcess,
    limit: Duration,
    is_so: impl Fn(&RequestCounts) -> bool,
) -> Result<(), NoFigures> {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if is_so(&counts(process.snapshot().map_err(none)?.requests)?) {
            break;
        }
        thread::sleep(ASK);
    }
    Ok(())
}

fn counts(requests: Option<RequestCounts>) -> Result<RequestCounts, NoFigures> {
    requests.ok_or_else(|| NoFigures::failed("the runner does not say where its requests are"))
}

fn none(error: CellError) -> NoFigures {
    NoFigures::from(&error)
}
