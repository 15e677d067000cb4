//! `cell`: carries out one cell as the protocol says.

mod arrivals;
mod pipeline;
mod serve;
mod stages;

use std::fs;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use cell_protocol::{CellSpec, Command, Event, PROTOCOL, Snapshot, Stopped, Task};
use execution_model::server::ServerState;
use execution_model::{Runtime, RuntimeConfig, VariantInfo, checked_drain};
use load_driver::pace;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use workload::{BlockingStrategy, ServerCounts};

use crate::abilities::{Abilities, Support};
use crate::ending::usage;
use crate::usage::usage as used;
use crate::variant::variant;

pub(crate) fn run<R: Runtime>(abilities: &Abilities<R>) -> anyhow::Result<()> {
    let spec = read_spec()?;
    join(spec.control_group.as_deref())?;
    pin(&spec.cpus)?;
    let config = config(&spec).checked().map_err(usage)?;
    checked_drain(Duration::from_nanos(spec.drain_ns)).map_err(usage)?;
    let (variant, info) = variant::<R>(&spec.variant, spec.workers)?;
    refuse_useless_threads(&info, spec.offload_threads)?;
    match &spec.task {
        Task::Arrivals(task) => {
            let ability = supported(&abilities.handler, "handler")?;
            refuse_strategy(&info, task.strategy)?;
            let runtime = start::<R>(variant, &config)?;
            arrivals::run(runtime, ability, task, &spec)
        }
        Task::Stages(task) => {
            let ability = supported(&abilities.handler, "handler")?;
            let runtime = start::<R>(variant, &config)?;
            stages::run(runtime, ability, task, &spec)
        }
        Task::Serve(task) => {
            let ability = supported(&abilities.server, "server")?;
            let (listen, limits) = serve::checked(task)?;
            let runtime = start::<R>(variant, &config)?;
            let server = (ability.serve)(&runtime, &listen, ServerState::new(limits, info))?;
            serve::run(runtime, server, &spec)
        }
        Task::Pipeline(task) => {
            let ability = supported(&abilities.pipeline, "pipeline")?;
            let (setup, offer) = pipeline::checked(task)?;
            refuse_strategy(&info, task.strategy)?;
            let runtime = start::<R>(variant, &config)?;
            pipeline::run(runtime, ability, setup, &offer, &spec)
        }
    }
}

fn read_spec() -> anyhow::Result<CellSpec> {
    let mut line = String::new();
    if io::stdin().read_line(&mut line).context("cannot read standard input")? == 0 {
        return Err(usage("standard input closed before the cell's spec"));
    }
    let spec: CellSpec = serde_json::from_str(&line).context("the cell's spec cannot be read")?;
    if spec.protocol != PROTOCOL {
        bail!("the cell speaks protocol {}, this runner {PROTOCOL}", spec.protocol);
    }
    Ok(spec)
}

/// Moves this process to a control group, and with it all threads and processes that it will start; none leaves it where
/// it is.
fn join(group: Option<&Path>) -> anyhow::Result<()> {
    let Some(group) = group else { return Ok(()) };
    // 0 is whoever writes it, in whatever namespace of process ids.
    fs::write(group.join("cgroup.procs"), "0")
        .with_context(|| format!("the cell asks for the control group {}", group.display()))
}

/// Keeps this thread, and all threads and processes that it will start, to `cpus`; empty leaves it as it is.
fn pin(cpus: &[usize]) -> anyhow::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu).with_context(|| format!("the cell asks for CPU {cpu}"))?;
    }
    sched_setaffinity(Pid::from_raw(0), &set).with_context(|| format!("the cell asks for the CPUs {cpus:?}"))
}

fn supported<'a, T>(support: &'a Support<T>, name: &str) -> anyhow::Result<&'a T> {
    match support {
        Support::Yes(ability) => Ok(ability),
        Support::No(reason) => Err(usage(format!("this runtime has no {name}: {reason}"))),
    }
}

fn refuse_strategy(info: &VariantInfo, strategy: BlockingStrategy) -> anyhow::Result<()> {
    match info.refuses(strategy) {
        Some(reason) => Err(usage(format!("strategy {strategy} cannot be used here: {reason}"))),
        None => Ok(()),
    }
}

/// A pool of threads that nothing is offloaded to would be a value in a row that means nothing.
pub(crate) fn refuse_useless_threads(
    info: &VariantInfo,
    offload_threads: Option<usize>,
) -> anyhow::Result<()> {
    match (offload_threads, info.refuses_offload) {
        (Some(threads), Some(reason)) => {
            Err(usage(format!("{threads} threads to offload to cannot be used here: {reason}")))
        }
        _ => Ok(()),
    }
}

fn config(spec: &CellSpec) -> RuntimeConfig {
    let queue_capacity = match &spec.task {
        Task::Arrivals(task) => task.queue_capacity,
        Task::Stages(task) => task.queue_capacity,
        Task::Serve(task) => task.queue_capacity,
        // The pipeline has queues of its own. A pool gets at most what they let through, or whoever works at a stage.
        Task::Pipeline(task) => task.pipeline.in_flight_max.max(task.pipeline.workers_total()),
    };
    let CellSpec { workers, offload_threads, .. } = *spec;
    RuntimeConfig { workers, queue_capacity, offload_threads }
}

fn start<R: Runtime>(variant: R::Variant, config: &RuntimeConfig) -> anyhow::Result<R> {
    R::start(variant, config).context("the runtime cannot start")
}

/// A runtime that is shut down or nothing. Where the harness is gone or talks nonsense, the runner must
/// end at once, and a library may wait for its threads when its runtime is dropped, however long they block.
fn ends_with_the_process<T>(runtime: T) -> ManuallyDrop<T> {
    ManuallyDrop::new(runtime)
}

/// What the process has used by now; whoever has counts adds them.
fn snapshot<R: Runtime>(runtime: &R) -> Snapshot {
    let usage = used(&runtime.worker_processes());
    let at_monotonic_ns = pace::monotonic_ns();
    Snapshot { at_monotonic_ns, server: None, loop_lag: None, requests: None, pipeline: None, usage }
}

/// Ends the runtime and says so, with what a server has counted to its end.
fn stopped<R: Runtime>(
    runtime: R,
    deadline: Instant,
    unfinished: u64,
    server: Option<ServerCounts>,
) -> anyhow::Result<()> {
    // Those that have ended by then are counted as children.
    let workers = runtime.worker_processes();
    let timed_out = runtime.shutdown(deadline).is_err();
    let unfinished = unfinished.max(u64::from(timed_out));
    say(&Event::Stopped(Stopped { unfinished, server, usage: used(&workers) }))
}

/// The harness's commands as they come, until it is gone.
fn commands() -> impl Iterator<Item = anyhow::Result<Command>> {
    io::stdin().lines().map(|line| {
        let line = line.context("cannot read standard input")?;
        serde_json::from_str(&line).with_context(|| format!("{line:?} is not a command"))
    })
}

/// Writes one event as a line. The lock keeps lines whole: two threads speak.
fn say(event: &Event) -> anyhow::Result<()> {
    static SPEAKING: Mutex<()> = Mutex::new(());
    let line = serde_json::to_string(event)? + "\n";
    let _speaking = SPEAKING.lock().expect("nothing panics while it speaks");
    let mut output = io::stdout().lock();
    output.write_all(line.as_bytes()).and_then(|()| output.flush()).context("cannot write to standard output")
}
