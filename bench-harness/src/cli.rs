//! The command line.

mod compare;
mod document;
mod refusal;
#[cfg(test)]
mod tests;
mod threads;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use workload::pipeline::Policy;

use crate::baseline::Name;
use crate::output::Format;
use crate::place::CpusBy;
use crate::predict::{amdahl, little, pipeline, pool};
use crate::style::Color;

pub(crate) use compare::Compare;
pub(crate) use document::Document;
pub(crate) use refusal::{parse, parse_recorded};
pub(crate) use threads::Threads;

/// Runs the same workloads on every execution model, and reports what was measured.
#[derive(Debug, Parser)]
#[command(version, about, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Look for runners in this directory; by default in that of this executable
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) runners: Option<PathBuf>,
    /// How results are written to standard output
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) color: Color,
}

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 run error, 2 usage, 3 verification failed, 4 regression, \
    5 environment refused, 6 incomparable, 130 interrupted (what was finished is kept).";

const TOO_BUSY: &str = "Too busy is: a load of more than 0.5 for each CPU over the last minute, more than 10 % of the \
    CPU time used, more than 1 % of it taken by the hypervisor, a task that waits for a CPU in more than 10 % of the \
    time, stalls of more than 1 ms at p99, or a quota that holds this control group back.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List runtimes with their variants and refusals, and experiments
    List,
    /// Say what this machine can and cannot measure, and how noisy it is now
    Doctor(Doctor),
    /// Check that each variant does what is required of it; nothing is measured
    Verify(Verify),
    /// Run experiments, and write a report
    Run(Run),
    /// Measure one cell as if it were two: the noise floor, false alarms, and whether a planted slowdown is found
    Aa(Aa),
    /// Run one cell and print its rows
    Cell(Cell),
    /// Serve HTTP with one runtime, for any load tool
    Serve(Serve),
    /// Write summary.json, cells.csv and the reports of a run again, from its rows
    Report {
        /// The directory of the run
        directory: PathBuf,
        /// Take the figures of the primitives from Criterion's directory into the run's: target/criterion, after cargo
        /// bench; by default it keeps those that it has
        #[arg(long, value_name = "DIR")]
        benches: Option<PathBuf>,
        /// Put what was found between the markers of this document, a README's findings; by default of none
        #[arg(long, value_name = "FILE")]
        into: Option<PathBuf>,
    },
    /// Say what changed from one run to another, by more than noise
    Compare(Compare),
    /// Say what the laws predict for given values; nothing is measured
    Predict(Predict),
    /// Drive any HTTP server with the load client: a closed loop, or an open one with --rate
    Load(Load),
    /// Say what the threads of a process and its children do: who uses the CPUs, who waits, and where
    Threads(Threads),
    /// Print the JSON Schema of a file that this harness writes; without a name, say which there are
    Schema {
        /// Which one; by default none, but the list of them
        name: Option<Document>,
    },
    /// Write a script that completes this command line in a shell to standard output
    Completions {
        /// The shell
        shell: Shell,
    },
    /// One shard of a load: a specification on standard input, a result on standard output
    #[command(hide = true)]
    LoadShard {
        /// Go before other processes, where the kernel allows it
        #[arg(long)]
        first: bool,
    },
    /// One shard of connections that are held: a specification and then numbers on standard input
    #[command(hide = true)]
    HoldShard,
}

#[derive(Debug, Args)]
#[command(after_help = TOO_BUSY)]
pub(crate) struct Doctor {
    /// Exit with 5, and the reasons, where the machine is too busy to measure on
    #[arg(long)]
    pub(crate) strict: bool,
    /// How long to listen to the machine's noise
    #[arg(short, long, default_value = "2s", value_parser = humantime::parse_duration)]
    pub(crate) duration: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Runtimes, such as tokio for all its variants, tokio:current-thread, or threads:pool=50; by default all
    #[arg(short = 'm', long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) runtimes: Vec<String>,
    /// Checks by name; by default all
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) checks: Vec<String>,
    /// Worker threads, or processes, of each runtime; by default the CPUs that this process may use
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub(crate) workers: Option<u32>,
    /// How many checks run at one time
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub(crate) parallel: u16,
    /// No line for each check on standard error
    #[arg(long)]
    pub(crate) no_progress: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Experiments such as capacity.burst, or a family such as capacity; by default all
    pub(crate) experiments: Vec<String>,
    /// Runtimes, such as tokio for all its variants, tokio:current-thread, or threads:pool=50; by default all
    #[arg(short = 'm', long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) runtimes: Vec<String>,
    /// Small sizes and one repetition
    #[arg(long)]
    pub(crate) quick: bool,
    /// Repetitions of each cell; by default what the experiment says
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) repetitions: Option<u32>,
    /// Seed of the order of cells and of the requests; by default from the clock, and recorded
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// The directory of the results; by default a new one under reports/
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with the run of this directory that was interrupted: the same command, seed and order, where what is
    /// finished is not measured again; by default a run is begun
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "experiments", "runtimes", "quick", "repetitions", "seed", "out", "noise", "workers", "cpus", "cpus_by",
        "experiments_file", "save_baseline", "baseline", "baselines", "fail_on_regression",
    ])]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: measure what is finished and invalid again, too, and keep its first rows in replaced.jsonl; by
    /// default it stays
    #[arg(long, requires = "resume")]
    pub(crate) remeasure_invalid: bool,
    /// Refuse, with 5 and the reasons, to measure on a machine that is too busy (see doctor)
    #[arg(long)]
    pub(crate) strict: bool,
    /// The noise floor, an aa.json or its directory: what differs by less is called a tie; by default what has
    /// overlapping intervals
    #[arg(long, value_name = "FILE")]
    pub(crate) noise: Option<PathBuf>,
    /// Keep the run, when it has ended, as the baseline of this name; by default it is kept as none
    #[arg(long, value_name = "NAME")]
    pub(crate) save_baseline: Option<Name>,
    /// Compare the run, when it has ended, with the baseline of this name; by default with none
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<Name>,
    /// Where baselines are; by default `baselines` beside the directory of the results
    #[arg(long, value_name = "DIR")]
    pub(crate) baselines: Option<PathBuf>,
    /// Exit with 4 where a figure is worse than that of the baseline
    #[arg(long, requires = "baseline")]
    pub(crate) fail_on_regression: bool,
    /// Print the plan and how long it will take, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// No progress on standard error
    #[arg(long)]
    pub(crate) no_progress: bool,
    #[command(flatten)]
    pub(crate) values: Values,
}

#[derive(Debug, Args)]
pub(crate) struct Aa {
    /// The runtime, such as tokio for its default variant, or tokio:current-thread; by default the work with no model
    /// around it
    #[arg(short = 'm', long, value_name = "NAME")]
    pub(crate) runtime: Option<String>,
    /// How many times to compare the cell with itself; by default what the experiment says
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) pairs: Option<u32>,
    /// Runs of each side of a pair, of which fewer than five have no interval; by default what the experiment says
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) repetitions: Option<u32>,
    /// Measure a third side whose plan is so many times as long, where 1.10 must be found; by default there is none
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub(crate) plant: Option<f64>,
    /// Seed of the order, of the requests and of the intervals; by default from the clock, and recorded
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// The directory of the results; by default a new one under reports/
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Refuse, with 5 and the reasons, to measure on a machine that is too busy (see doctor)
    #[arg(long)]
    pub(crate) strict: bool,
    /// No progress on standard error
    #[arg(long)]
    pub(crate) no_progress: bool,
    #[command(flatten)]
    pub(crate) values: Values,
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if factor > 1.0 && factor <= 10.0 => Ok(factor),
        _ => Err("write a number above 1 and up to 10, such as 1.10".to_owned()),
    }
}

/// What decides the values of cells.
#[derive(Debug, Args)]
pub(crate) struct Values {
    /// Worker threads, or processes, of each runtime; by default the CPUs that this process may use
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub(crate) workers: Option<u32>,
    /// Repeat every cell on so many CPUs: 1,2 tells what one CPU changes; by default on all that this process may use
    #[arg(long, value_delimiter = ',', value_name = "COUNTS")]
    pub(crate) cpus: Vec<usize>,
    /// How cells are kept to these, by default by affinity; affinity,quota has a cell for each
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "WAYS",
        requires = "cpus",
        hide_default_value = true,
        default_values_t = [CpusBy::Affinity]
    )]
    pub(crate) cpus_by: Vec<CpusBy>,
    /// Take the values that this file states; by default those of the harness's own experiments
    #[arg(long = "experiments", value_name = "FILE")]
    pub(crate) experiments_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Cell {
    /// The runtime: tokio for its default variant, tokio:current-thread, threads:pool=50
    pub(crate) runtime: String,
    /// The experiment, such as capacity.burst
    pub(crate) experiment: String,
    /// Values in the place of the experiment's own, as its file names them: requests=2000, plan=wait=1ms,
    /// steps=100,500; by default none
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) values_given: Vec<String>,
    /// The quick size
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seed of the requests
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) values: Values,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The runtime: tokio for its default variant, tokio:current-thread, threads:pool=50
    pub(crate) runtime: String,
    /// Serve the batching pipeline with this policy, and no plans; by default it serves plans
    #[arg(long, value_name = "POLICY", value_parser = PossibleValuesParser::new(Policy::ALL.map(|(name, _)| name)))]
    pub(crate) pipeline: Option<String>,
    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Worker threads, or processes; by default the CPUs that this process may use
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub(crate) workers: Option<u32>,
    /// The most requests in flight; more are answered 503
    #[arg(long, default_value_t = 10_000, conflicts_with = "pipeline")]
    pub(crate) in_flight_limit: u64,
    /// The most connections; more are answered 503 and closed; by default 100,000, and 1,000 in front of a pipeline,
    /// where each has a thread
    #[arg(long)]
    pub(crate) connections_max: Option<u64>,
    /// How many requests may wait to be started, where the model has a queue
    #[arg(long, default_value_t = 10_000, conflicts_with = "pipeline")]
    pub(crate) queue_capacity: u64,
    /// The listen backlog, in connections
    #[arg(long, default_value_t = 4_096)]
    pub(crate) backlog: u32,
    /// How long a connection may be idle between requests
    #[arg(long, default_value = "60s", value_parser = humantime::parse_duration)]
    pub(crate) idle_timeout: Duration,
    /// How long a request may take to arrive whole, or its response to be taken
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) request_timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Predict {
    #[command(subcommand)]
    pub(crate) law: Law,
    /// Take the values that this TOML file states, as detect_batch for --detect-batch, where no flag says otherwise; by
    /// default there is no file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) values: Option<PathBuf>,
}

/// The laws, each with its inputs as flags.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Law {
    /// A batching pipeline: stages, batches, memory, the limit in flight, and the ceiling
    Pipeline(Box<pipeline::Pipeline>),
    /// Little's law: in flight = rate x time
    Little(little::Little),
    /// Amdahl's law: what one lock leaves of many threads
    Amdahl(amdahl::Amdahl),
    /// A bounded worker pool: its workers and its queue
    Pool(pool::Pool),
}

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// What to request, such as http://127.0.0.1:8080/run/
    pub(crate) url: String,
    /// Connections: a closed loop sends on each as soon as it is answered, an open one on whichever is free
    #[arg(short, long, default_value_t = 64)]
    pub(crate) connections: usize,
    /// Requests a second, however the server keeps up: an open loop; by default the loop is closed
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) rate: Option<f64>,
    /// How the requests of an open loop follow each other
    #[arg(long, value_enum, default_value_t)]
    pub(crate) arrivals: ArrivalsOfLoad,
    /// What the gaps of Poisson arrivals are drawn from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// How long to measure
    #[arg(short, long, default_value = "5s", value_parser = humantime::parse_duration)]
    pub(crate) duration: Duration,
    /// How long to load before measuring
    #[arg(short, long, default_value = "1s", value_parser = humantime::parse_duration)]
    pub(crate) warmup: Duration,
    /// The CPUs that the client may use, such as 1 or 0,1; by default all that this process may use
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(crate) cpus: Vec<usize>,
    /// When a request that has no answer has timed out
    #[arg(long, default_value = "5s", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Duration,
}

/// How requests follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ArrivalsOfLoad {
    /// All gaps are alike
    Constant,
    /// As of many clients that know nothing of each other
    #[default]
    Poisson,
}
