//! The cell that a runner is asked to measure: one variant, one task, every value stated.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use workload::arrivals::Pattern;
use workload::{BlockingStrategy, Plan};

use crate::pipeline::PipelineTask;

/// The first line on a runner's standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellSpec {
    /// The version of the protocol, [`PROTOCOL`](crate::PROTOCOL).
    pub protocol: u32,
    /// The variant to start.
    pub variant: String,
    /// Worker threads of the runtime, or worker processes.
    pub workers: usize,
    /// The CPUs that the runner's processes may use; empty leaves them as they are.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// The directory of the control group that the runner is to join, with all processes that it will start, before it
    /// starts anything; none leaves it where it is.
    #[serde(default)]
    pub control_group: Option<PathBuf>,
    /// The most threads that blocking steps may be offloaded to; none leaves it at what the library has. Only for a
    /// variant that can offload.
    #[serde(default)]
    pub offload_threads: Option<usize>,
    /// What to do.
    pub task: Task,
    /// How long `stop` may take to drain, in nanoseconds.
    pub drain_ns: u64,
}

/// What a runner does between `go` and `stop`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Offer requests to the runtime in this process and time them.
    Arrivals(ArrivalsTask),
    /// Offer requests to the runtime in this process stage by stage, so that it can be looked at in between.
    Stages(StagesTask),
    /// Serve HTTP until told to stop.
    Serve(ServeTask),
    /// Send images through the batching pipeline in this process.
    Pipeline(Box<PipelineTask>),
}

/// Requests offered in process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrivalsTask {
    /// What each request does.
    pub plan: Plan,
    /// What a blocking step does.
    pub strategy: BlockingStrategy,
    /// The seed of request 0; request i has `seed + i`.
    pub seed: u64,
    /// How many requests there are, and when each is intended to begin: a burst, a spread, or an open loop.
    pub arrivals: Pattern,
    /// How many requests may wait to be started, where the model has a queue.
    pub queue_capacity: usize,
    /// Whether to do the whole once unmeasured, in the same process, before it is measured.
    pub warm: bool,
    /// When to give up on requests that have not finished, from the last intended start, in nanoseconds.
    pub time_limit_ns: u64,
}

/// Requests offered in process, in stages that pile up.
///
/// Each `go` adds the requests of one stage, all at once. One more `go`, after those of all stages, has the runner wait
/// until all requests have ended, and account for them: until then it allocates nothing that grows with their number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StagesTask {
    /// What each request does.
    pub plan: Plan,
    /// The seed of request 0; request i has `seed + i`.
    pub seed: u64,
    /// How many requests each stage adds.
    pub stages: Vec<u64>,
    /// How many requests may wait to be started, where the model has a queue.
    pub queue_capacity: usize,
    /// When to give up on requests that have not finished, from the last `go`, in nanoseconds.
    pub time_limit_ns: u64,
}

/// A server and its limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeTask {
    /// The address to listen on; port 0 takes a free one, which `ready` tells.
    pub listen: SocketAddr,
    /// The listen backlog, in connections.
    pub backlog: u32,
    /// The most requests in flight; more are answered 503.
    pub in_flight_limit: u64,
    /// The most connections; more are answered 503 and closed.
    pub connections_max: u64,
    /// How many requests may wait to be started, where the model has a queue.
    pub queue_capacity: usize,
    /// How long a connection may be idle between requests, in nanoseconds.
    pub idle_timeout_ns: u64,
    /// How long a request may take to arrive whole, or its response to be taken, in nanoseconds.
    pub request_timeout_ns: u64,
}
