//! `cell`: carries out one cell as the protocol says, and answers the harness from a thread outside
//! the runtime.

use std::io::{self, BufRead, Write};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use cell_protocol::{
    ArrivalsResult, ArrivalsTask, CellSpec, Command, Event, PROTOCOL, Ready, ServeTask, Snapshot, Stopped,
    Task,
};
use execution_model::server::{ListenSpec, ServerLimits, ServerState};
use execution_model::{Job, Runtime, RuntimeConfig};
use load_driver::in_process::{Account, Offer};
use load_driver::pace;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use workload::arrivals::Arrivals;

use crate::abilities::{Abilities, HandlerAbility, RunningServer, ServerAbility, Support};
use crate::usage::usage;

pub(crate) fn run<R: Runtime>(abilities: &Abilities<R>) -> anyhow::Result<()> {
    let mut commands = io::stdin().lock().lines();
    let spec = read_spec(commands.next())?;
    pin(&spec.cpus)?;
    let variant = R::parse_variant(&spec.variant).map_err(anyhow::Error::msg)?;
    let info = R::describe(&variant, spec.workers);
    match &spec.task {
        Task::Arrivals(task) => {
            let ability = supported(&abilities.handler, "handler")?;
            if let Some(reason) = info.refuses(task.strategy) {
                bail!("strategy {} cannot be used here: {reason}", task.strategy);
            }
            let runtime = start::<R>(variant, spec.workers, task.queue_capacity)?;
            run_arrivals(runtime, ability, task, &spec, commands)
        }
        Task::Serve(task) => {
            let ability = supported(&abilities.server, "server")?;
            let runtime = start::<R>(variant, spec.workers, task.queue_capacity)?;
            let server = serve(&runtime, ability, task, ServerState::new(limits(task), info))?;
            run_server(runtime, server, &spec, commands)
        }
    }
}

type Lines = io::Lines<io::StdinLock<'static>>;

fn read_spec(line: Option<io::Result<String>>) -> anyhow::Result<CellSpec> {
    let line = line
        .context("standard input closed before the cell's spec")?
        .context("cannot read standard input")?;
    let spec: CellSpec = serde_json::from_str(&line).context("the cell's spec cannot be read")?;
    if spec.protocol != PROTOCOL {
        bail!("the cell speaks protocol {}, this runner {PROTOCOL}", spec.protocol);
    }
    if spec.workers == 0 {
        bail!("the cell asks for 0 workers; the least is 1");
    }
    Ok(spec)
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
        Support::No(reason) => bail!("this runtime has no {name}: {reason}"),
    }
}

fn start<R: Runtime>(variant: R::Variant, workers: usize, queue_capacity: usize) -> anyhow::Result<R> {
    R::start(variant, &RuntimeConfig { workers, queue_capacity }).context("the runtime cannot start")
}

fn run_arrivals<R: Runtime>(
    runtime: R,
    ability: &HandlerAbility<R>,
    task: &ArrivalsTask,
    spec: &CellSpec,
    commands: Lines,
) -> anyhow::Result<()> {
    say(&Event::Ready(Ready { pid: std::process::id(), listen: None }))?;
    let runtime = ends_with_the_process(Arc::new(runtime));
    let mut measurement = None;
    for line in commands {
        match read_command(line)? {
            Command::Go if measurement.is_none() => {
                measurement = Some(measure(Arc::clone(&runtime), ability, task.clone())?);
            }
            Command::Go => bail!("go came twice"),
            Command::Snapshot => say(&snapshot(runtime.as_ref(), None))?,
            Command::Stop => {
                let deadline = Instant::now() + Duration::from_nanos(spec.drain_ns);
                let unfinished = measurement.map_or(0, |measurement| join(measurement, deadline));
                // A runtime that is still used cannot be shut down: it ends with the process.
                let timed_out = Arc::into_inner(ManuallyDrop::into_inner(runtime))
                    .is_none_or(|runtime| runtime.shutdown(deadline).is_err());
                return say(&Event::Stopped(Stopped { unfinished: unfinished.max(u64::from(timed_out)) }));
            }
        }
    }
    // The harness is gone: end at once.
    Ok(())
}

/// Measures on a thread of its own, so that this one can still answer.
fn measure<R: Runtime>(
    runtime: Arc<R>,
    ability: &HandlerAbility<R>,
    task: ArrivalsTask,
) -> anyhow::Result<JoinHandle<u64>> {
    let offer_with = ability.offer;
    let measure = move || {
        let offer = Offer {
            job: Job { plan: task.plan, seed: task.seed, strategy: task.strategy },
            arrivals: Arrivals { requests: task.requests, spread: Duration::from_nanos(task.spread_ns) },
            time_limit: Duration::from_nanos(task.time_limit_ns),
        };
        if task.warm {
            offer_with(&runtime, &offer, &mut || {});
        }
        let mut used = Vec::with_capacity(2);
        let account = offer_with(&runtime, &offer, &mut || used.push(usage(&runtime.worker_processes())));
        let unfinished = account.unfinished;
        let mut result = result(account, task.requests);
        result.usage = used[1].since(used[0]);
        // Where the harness is gone there is nobody to tell.
        let _gone = say(&Event::Result(Box::new(result)));
        unfinished
    };
    thread::Builder::new()
        .name("generator".into())
        .spawn(measure)
        .context("cannot start the generator's thread")
}

fn result(account: Account, offered: u64) -> ArrivalsResult {
    let mut failed = std::collections::BTreeMap::new();
    for (class, count) in [("panicked", account.panicked), ("killed", account.killed)] {
        if count > 0 {
            failed.insert(class.to_owned(), count);
        }
    }
    ArrivalsResult {
        offered,
        completed: account.completed,
        rejected: account.rejected.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect(),
        failed,
        unfinished: account.unfinished,
        lost: account.lost,
        checksums_wrong: account.checksums_wrong,
        rejection_example: account.rejection_example,
        elapsed_ns: account.elapsed_ns,
        dispatch_elapsed_ns: account.dispatch_elapsed_ns,
        in_flight_peak: account.in_flight_peak,
        in_flight_integral_ns: account.in_flight_integral_ns,
        service_min_ns: account.service_min_ns,
        usage: cell_protocol::Usage::default(),
        response: account.response,
        service: account.service,
        queue_wait: account.queue_wait,
        send_lag: account.send_lag,
    }
}

/// Waits for the generator until the deadline. Returns how many requests it left unfinished, at least 1
/// where it has not ended itself.
fn join(measurement: JoinHandle<u64>, deadline: Instant) -> u64 {
    while !measurement.is_finished() {
        if Instant::now() >= deadline {
            return 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    measurement.join().unwrap_or(1)
}

fn serve<R: Runtime>(
    runtime: &R,
    ability: &ServerAbility<R>,
    task: &ServeTask,
    state: Arc<ServerState>,
) -> anyhow::Result<Box<dyn RunningServer>> {
    let listen = ListenSpec { address: task.listen, backlog: task.backlog, reuse_port: false };
    Ok((ability.serve)(runtime, &listen, state)?)
}

fn limits(task: &ServeTask) -> ServerLimits {
    ServerLimits {
        in_flight: task.in_flight_limit,
        connections: task.connections_max,
        idle: Duration::from_nanos(task.idle_timeout_ns),
        request: Duration::from_nanos(task.request_timeout_ns),
    }
}

fn run_server<R: Runtime>(
    runtime: R,
    server: Box<dyn RunningServer>,
    spec: &CellSpec,
    commands: Lines,
) -> anyhow::Result<()> {
    let runtime = ends_with_the_process(runtime);
    say(&Event::Ready(Ready { pid: std::process::id(), listen: Some(server.address()) }))?;
    for line in commands {
        match read_command(line)? {
            Command::Go => {}
            Command::Snapshot => say(&snapshot(&*runtime, Some(server.as_ref())))?,
            Command::Stop => {
                let deadline = Instant::now() + Duration::from_nanos(spec.drain_ns);
                let unfinished = server.drain(deadline);
                let timed_out = ManuallyDrop::into_inner(runtime).shutdown(deadline).is_err();
                return say(&Event::Stopped(Stopped { unfinished: unfinished.max(u64::from(timed_out)) }));
            }
        }
    }
    Ok(())
}

/// A runtime that is shut down or nothing. Where the harness is gone or talks nonsense, the runner must
/// end at once, and a library may wait for its threads when its runtime is dropped, however long they block.
fn ends_with_the_process<T>(runtime: T) -> ManuallyDrop<T> {
    ManuallyDrop::new(runtime)
}

fn snapshot<R: Runtime>(runtime: &R, server: Option<&dyn RunningServer>) -> Event {
    Event::Snapshot(Snapshot {
        at_monotonic_ns: pace::monotonic_ns(),
        server: server.map(RunningServer::counts),
        usage: usage(&runtime.worker_processes()),
    })
}

fn read_command(line: io::Result<String>) -> anyhow::Result<Command> {
    let line = line.context("cannot read standard input")?;
    serde_json::from_str(&line).with_context(|| format!("{line:?} is not a command"))
}

/// Writes one event as a line. The lock keeps lines whole: the generator's thread speaks too.
fn say(event: &Event) -> anyhow::Result<()> {
    static SPEAKING: Mutex<()> = Mutex::new(());
    let line = serde_json::to_string(event)? + "\n";
    let _speaking = SPEAKING.lock().expect("nothing panics while it speaks");
    let mut output = io::stdout().lock();
    output.write_all(line.as_bytes()).and_then(|()| output.flush()).context("cannot write to standard output")
}
