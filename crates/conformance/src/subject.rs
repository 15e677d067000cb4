//! The variant under test, and the cells that checks start of it.

use std::path::Path;
use std::time::Duration;

use cell_control::{CellProcess, Limits};
use cell_protocol::{
    Ability, ArrivalsResult, ArrivalsTask, CellSpec, Description, PROTOCOL, ServeTask, Task,
    VariantDescription,
};
use workload::arrivals::Pattern;
use workload::{BlockingStrategy, Plan};

use crate::calibration::Calibration;
use crate::failure::{Failure, ensure};
use crate::serving::Serving;

/// How long a drain may take where a check does not say otherwise.
const DRAIN: Duration = Duration::from_secs(10);
/// How long a cell may take to end beyond its drain deadline. Loose: the machine may be busy.
pub(crate) const END_GRACE: Duration = Duration::from_secs(5);
/// How long a result may take. Loose too: what a check expects of time it says itself.
const RESULT_LIMIT: Duration = Duration::from_secs(60);

/// One variant of one runner.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The runner's executable.
    pub runner: &'a Path,
    /// What it says of itself.
    pub description: &'a Description,
    /// The variant.
    pub variant: &'a VariantDescription,
    /// With how many workers it is started.
    pub workers: usize,
    pub(crate) calibration: &'a Calibration,
}

impl<'a> Subject<'a> {
    /// Why the variant cannot do something, where it says so.
    #[must_use]
    pub fn refusal(&self, ability: Ability) -> Option<&'a str> {
        self.description.refusal(ability, &self.variant.name)
    }

    /// Why the variant cannot carry out blocking steps with `strategy`, where it says so.
    pub(crate) fn refuses(&self, strategy: BlockingStrategy) -> Option<&'a str> {
        match strategy {
            BlockingStrategy::Inline => None,
            BlockingStrategy::Offload => self.refusal(Ability::Offload),
            BlockingStrategy::InPlace => self.refusal(Ability::InPlace),
        }
    }

    /// `requests`, or fewer where the model lets fewer run at one time.
    pub(crate) fn at_most_in_flight(&self, requests: u64) -> u64 {
        self.variant.in_flight_limit.map_or(requests, |limit| limit.min(requests))
    }

    /// The least time that `requests` of `plan` take, by the variant's own limit and the plan's waits.
    pub(crate) fn least_elapsed(&self, requests: u64, plan: &Plan) -> Duration {
        let limit = self.variant.in_flight_limit.unwrap_or(requests).max(1);
        let rounds = requests.div_ceil(limit);
        plan.least_duration() * u32::try_from(rounds).unwrap_or(u32::MAX)
    }

    pub(crate) fn spec(&self, task: Task, drain: Duration) -> CellSpec {
        CellSpec {
            cpus: vec![],
            control_group: None,
            offload_threads: None,
            protocol: PROTOCOL,
            variant: self.variant.name.clone(),
            workers: self.workers,
            task,
            drain_ns: ns(drain),
        }
    }

    pub(crate) fn start(&self, task: Task, drain: Duration) -> Result<CellProcess, Failure> {
        self.start_spec(&self.spec(task, drain))
    }

    /// Starts a cell of which more is said than its task.
    pub(crate) fn start_spec(&self, spec: &CellSpec) -> Result<CellProcess, Failure> {
        let limits = Limits { ready: Duration::from_secs(20), ..Limits::default() };
        Ok(CellProcess::start(self.runner, spec, limits)?)
    }

    /// Offers requests in process, and ends the cell.
    pub(crate) fn offer(&self, task: ArrivalsTask) -> Result<ArrivalsResult, Failure> {
        self.offer_and_watch(task, |_| Ok(()))
    }

    /// As [`offer`](Self::offer); `watch` is called once the requests are on their way.
    pub(crate) fn offer_and_watch(
        &self,
        task: ArrivalsTask,
        watch: impl FnOnce(&mut CellProcess) -> Result<(), Failure>,
    ) -> Result<ArrivalsResult, Failure> {
        let mut cell = self.start(Task::Arrivals(task), DRAIN)?;
        cell.go()?;
        watch(&mut cell)?;
        let result = cell.result(RESULT_LIMIT)?;
        cell.stop(DRAIN + END_GRACE)?;
        Ok(result)
    }

    /// Starts a server.
    pub(crate) fn serve(&self, task: ServeTask) -> Result<Serving, Failure> {
        self.serve_with_drain(task, DRAIN)
    }

    pub(crate) fn serve_with_drain(&self, task: ServeTask, drain: Duration) -> Result<Serving, Failure> {
        let mut cell = self.start(Task::Serve(task), drain)?;
        cell.go()?;
        let address = cell.listen()?;
        ensure!(address.port() != 0, "`ready` tells port 0");
        Ok(Serving::new(cell, address, drain))
    }
}

/// A burst of `requests` of `plan`, with room for all of them in a queue.
pub(crate) fn burst(plan: &Plan, requests: u64) -> ArrivalsTask {
    ArrivalsTask {
        plan: plan.clone(),
        strategy: BlockingStrategy::Inline,
        seed: 7,
        arrivals: Pattern::burst(requests),
        queue_capacity: 100_000,
        warm: false,
        time_limit_ns: ns(Duration::from_secs(30)),
    }
}

/// A server whose limits are out of the way.
pub(crate) fn server() -> ServeTask {
    ServeTask {
        listen: std::net::SocketAddr::from(([127, 0, 0, 1], 0)),
        backlog: 4096,
        in_flight_limit: 100_000,
        connections_max: 100_000,
        queue_capacity: 100_000,
        idle_timeout_ns: ns(Duration::from_secs(60)),
        request_timeout_ns: ns(Duration::from_secs(20)),
    }
}

/// A plan that is known to be one.
pub(crate) fn plan(text: &str) -> Plan {
    text.parse().expect("the suite's own plans are right")
}

pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
