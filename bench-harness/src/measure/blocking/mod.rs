//! The blocking experiments: what a handler that keeps its thread does to others, and how long a burst of such takes.

mod arithmetic;
mod checks;
mod offer;
mod pinning;
mod probe;

use std::time::Duration;

use workload::{BlockingStrategy, Plan, Step};

use super::{Bench, NoFigures, cell_id, ns};
use crate::contestant::Contestant;
use crate::experiment::{Blocker, Experiment, Keeps};
use crate::row::{CellId, Row, Status};

pub(super) use pinning::measure as pinning;
pub(super) use probe::measure as probe;

/// A blocker on one contestant.
#[derive(Clone, Debug)]
struct Keeper {
    blocker: Blocker,
    /// For how long each keeps its thread, by sleeping or of CPU time.
    keep: Duration,
    plan: Plan,
    /// The most that keep their threads at one time; none where nothing limits them.
    threads: Option<u64>,
    /// The CPUs that the cell may use.
    cpus: u64,
    /// For how long they may be used beside the time that the cell takes.
    ahead: Duration,
}

impl Keeper {
    fn new(
        bench: &Bench,
        contestant: &Contestant,
        blocker: Blocker,
        keep: Duration,
    ) -> Result<Keeper, NoFigures> {
        let step = match blocker.keeps {
            Keeps::Block => Step::Block(keep),
            Keeps::Compute => Step::Compute(rounds(bench, keep)?),
        };
        let plan = Plan::new([step]).map_err(|error| NoFigures::failed(error.to_string()))?;
        let threads = match blocker.strategy {
            BlockingStrategy::Inline => contestant.handler_threads,
            BlockingStrategy::Offload => {
                let threads = blocker.offload_threads.or(contestant.offload_threads);
                threads.map(|threads| u64::try_from(threads).unwrap_or(u64::MAX))
            }
            // Each hands its worker's other tasks to another thread, and then has this one to itself.
            BlockingStrategy::InPlace => None,
        };
        let cpus = contestant.place.cpus_usable().map_err(|error| NoFigures::failed(format!("{error:#}")))?;
        Ok(Keeper { blocker, keep, plan, threads, cpus, ahead: contestant.place.ahead() })
    }

    /// As many as can go on at one time: computing takes a CPU, and sleeping none.
    fn at_once(&self) -> Option<u64> {
        match self.blocker.keeps {
            Keeps::Block => self.threads,
            Keeps::Compute => Some(self.threads.map_or(self.cpus, |threads| threads.min(self.cpus))),
        }
    }

    /// What limits them, in words.
    fn limited_by(&self) -> String {
        match (self.at_once(), self.threads, self.blocker.strategy) {
            (None, ..) => "nothing: each has a thread".to_owned(),
            (Some(limit), threads, _) if threads != Some(limit) => format!("CPUs: {limit}"),
            (Some(limit), _, BlockingStrategy::Offload) => format!("threads to offload to: {limit}"),
            (Some(limit), ..) => format!("threads that carry handlers out: {limit}"),
        }
    }

    /// The CPU time that so many of them burn, in nanoseconds.
    fn cpu_ns(&self, requests: u64) -> u64 {
        match self.blocker.keeps {
            Keeps::Block => 0,
            Keeps::Compute => ns(self.keep).saturating_mul(requests),
        }
    }

    /// What tells the rows of one blocker from those of another.
    fn describe(&self, id: &mut CellId) {
        let mut param = |name: &str, value: serde_json::Value| id.params.insert(name.to_owned(), value);
        param("blocker", self.blocker.keeps.name().into());
        param("strategy", self.blocker.strategy.name().into());
        param("keep_ns", ns(self.keep).into());
        if self.blocker.strategy == BlockingStrategy::Offload {
            param("offload_threads", self.threads.into());
        }
    }
}

fn rounds(bench: &Bench, keep: Duration) -> Result<u64, NoFigures> {
    Ok(crate::format::whole((keep.as_secs_f64() * 1e6 * bench.calibrated()?).round()))
}

/// The row of a strategy that the contestant refuses, whatever is kept and for how long.
fn refused(
    experiment: Experiment,
    contestant: &Contestant,
    blocker: Blocker,
    repetition: u32,
) -> Option<Row> {
    let reason = contestant.refuses(blocker.strategy)?;
    let mut id = cell_id(experiment, contestant);
    id.params.insert("strategy".to_owned(), blocker.strategy.name().into());
    Some(Row::without_figures(id, repetition, Status::Unsupported, reason))
}
