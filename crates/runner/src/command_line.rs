//! The command line of a runner.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use workload::pipeline::Policy;

/// A runner: one execution model that carries out cells for the harness, or serves by hand.
#[derive(Debug, Parser)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Print what this runtime is and can do, as one JSON line.
    Describe(DescribeOptions),
    /// Carry out the cell whose spec is the first line of standard input.
    Cell,
    /// Serve HTTP until interrupted.
    Serve(ServeOptions),
    /// Serve the batching pipeline over HTTP until interrupted.
    ServePipeline(PipelineOptions),
}

#[derive(Debug, Args)]
pub(crate) struct DescribeOptions {
    /// Describe this variant too, also where it is not among those that reports show.
    #[arg(long)]
    pub(crate) variant: Option<String>,
    /// The number of workers to describe for, since it limits some variants.
    #[arg(long)]
    pub(crate) workers: Option<usize>,
}

/// What a server is told, whatever it serves.
#[derive(Debug, Args)]
pub(crate) struct Serving {
    /// The variant to run [default: the runtime's first].
    #[arg(long)]
    pub(crate) variant: Option<String>,
    /// Worker threads or processes [default: the CPUs this process may use].
    #[arg(long)]
    pub(crate) workers: Option<usize>,
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// The listen backlog, in connections.
    #[arg(long, default_value_t = 4096)]
    pub(crate) backlog: u32,
    /// How long a connection may be idle between requests.
    #[arg(long, default_value = "60s", value_parser = humantime::parse_duration)]
    pub(crate) idle_timeout: Duration,
    /// How long a request may take to arrive whole, an image to go through, or a response to be taken.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) request_timeout: Duration,
    /// How long a drain may take before the server ends all the same.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) drain_timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    #[command(flatten)]
    pub(crate) serving: Serving,
    /// The most requests accepted at one time; more are answered 503.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) in_flight_limit: u64,
    /// The most connections; more are answered 503 and closed.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) connections_max: u64,
    /// How many requests may wait to be started, where the model has a queue.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) queue_capacity: usize,
    /// The most threads that blocking steps are offloaded to [default: what the library has]
    #[arg(long)]
    pub(crate) offload_threads: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct PipelineOptions {
    /// The policy: fifo1, fifo16, lanes16, join, hold8 or hold4.
    pub(crate) policy: Policy,
    /// Rounds of the compute kernel that a microsecond of CPU time holds here.
    #[arg(long)]
    pub(crate) rounds_per_us: f64,
    #[command(flatten)]
    pub(crate) serving: Serving,
    /// The most connections, each of which has a thread; more are answered 503 and closed.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) connections_max: u64,
}

/// The number of workers where none is given: the CPUs that this process may use, by affinity and quota.
pub(crate) fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
