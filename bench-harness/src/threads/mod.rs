//! The threads of a process and its children, and what they did in an interval: who ran, who was made to wait, and where.

mod look;
mod text;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use look::Process;
pub(crate) use look::{LookError, Proc};
pub(crate) use text::{csv, text};

/// What was seen.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Seen {
    /// The version of this format.
    pub(crate) format: u32,
    /// From the first look at the process to the second.
    pub(crate) interval_ns: u64,
    /// The process that was named, and then its children and theirs.
    pub(crate) processes: Vec<SeenProcess>,
    /// Of all processes in their order, who used most of a CPU first.
    pub(crate) threads: Vec<SeenThread>,
}

/// A process.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SeenProcess {
    /// Its number.
    pub(crate) pid: u32,
    /// The number of the process that started it.
    pub(crate) parent: u32,
    /// As the kernel has it, up to 15 bytes.
    pub(crate) name: String,
    /// Threads at the second look.
    pub(crate) threads: usize,
    /// Threads that were not there at the first look.
    pub(crate) threads_started: usize,
    /// Threads that were not there any more at the second look.
    pub(crate) threads_ended: usize,
    /// Of one CPU, over the interval and all threads, those that ended among them; by ticks, of 10 ms by default.
    pub(crate) cpu_share: Option<f64>,
    /// `VmRSS`.
    pub(crate) resident_bytes: Option<u64>,
    /// `VmStk`: that of the first thread. The stacks of others are mappings like any other.
    pub(crate) main_stack_bytes: Option<u64>,
}

/// A thread.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SeenThread {
    /// The number of its process.
    pub(crate) pid: u32,
    /// Its own number; the first thread of a process has that of the process.
    pub(crate) tid: u32,
    /// As the kernel has it, up to 15 bytes.
    pub(crate) name: String,
    pub(crate) state: State,
    /// Whether it was not there at the first look: it used all that it has used in the interval.
    pub(crate) is_new: bool,
    /// Of one CPU, over the interval.
    pub(crate) cpu_share: Option<f64>,
    /// In user mode since it started, by ticks, of 10 ms by default.
    pub(crate) user_ns: u64,
    /// In the kernel since it started, likewise.
    pub(crate) system_ns: u64,
    /// On a CPU since it started, where the kernel tells it to the nanosecond.
    pub(crate) on_cpu_ns: Option<u64>,
    /// Context switches because it waited, since it started.
    pub(crate) voluntary_switches: Option<u64>,
    /// Context switches because its time was up, since it started.
    pub(crate) involuntary_switches: Option<u64>,
    /// The former, over the interval.
    pub(crate) voluntary_switches_per_s: Option<f64>,
    /// The latter, over the interval.
    pub(crate) involuntary_switches_per_s: Option<f64>,
    /// The function of the kernel in which it waits. Null where it does not, or the kernel does not tell this user.
    pub(crate) waits_in: Option<String>,
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// It runs, or would if a CPU were free.
    Running,
    /// It waits for something, and a signal would wake it.
    Sleeping,
    /// It waits for something that no signal interrupts, such as a disk.
    Uninterruptible,
    /// A signal or a debugger stopped it.
    Stopped,
    /// It has ended, and nobody has asked how.
    Ended,
    /// A thread of the kernel that has nothing to do.
    Idle,
    /// What this harness does not know.
    Unknown,
}

impl State {
    fn of(letter: char) -> State {
        match letter {
            'R' => State::Running,
            'S' => State::Sleeping,
            'D' => State::Uninterruptible,
            'T' | 't' => State::Stopped,
            'Z' | 'X' | 'x' => State::Ended,
            'I' => State::Idle,
            _ => State::Unknown,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Sleeping => "sleeping",
            State::Uninterruptible => "uninterruptible",
            State::Stopped => "stopped",
            State::Ended => "ended",
            State::Idle => "idle",
            State::Unknown => "unknown",
        }
    }
}

/// Looks at a process and its children twice, at least so long apart.
///
/// # Errors
///
/// Where there is no such process, where it ends meanwhile, and where this user may not look at it.
pub(crate) fn watch(proc: &Proc, pid: u32, interval: Duration) -> Result<Seen, LookError> {
    // Whoever looks at a shell that has started this program wants to know of the others.
    let without = std::process::id();
    let first = proc.look(pid, without)?;
    let first_ended = Instant::now();
    thread::sleep(interval);
    let second = proc.look(pid, without)?;
    // Of what has started meanwhile.
    let interval = interval.max(second[0].at.saturating_duration_since(first_ended));
    Ok(seen(&first, &second, interval))
}

fn seen(first: &[Process], second: &[Process], interval: Duration) -> Seen {
    let before: BTreeMap<u32, &Process> = first.iter().map(|process| (process.pid, process)).collect();
    let mut seen =
        Seen { format: crate::row::FORMAT, interval_ns: 0, processes: Vec::new(), threads: Vec::new() };
    for process in second {
        let earlier = before.get(&process.pid).copied();
        let mut threads: Vec<SeenThread> =
            process.threads.keys().map(|tid| seen_thread(process, earlier, *tid, interval)).collect();
        threads.sort_by(|a, b| b.cpu_share.unwrap_or(-1.0).total_cmp(&a.cpu_share.unwrap_or(-1.0)));
        let ended = earlier.map_or(0, |earlier| {
            earlier.threads.iter().filter(|(tid, thread)| same(process, **tid, thread).is_none()).count()
        });
        let elapsed = earlier.map_or(interval, |earlier| process.at.saturating_duration_since(earlier.at));
        if seen.processes.is_empty() {
            seen.interval_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        }
        let ticks = process.ticks.saturating_sub(earlier.map_or(0, |earlier| earlier.ticks));
        seen.processes.push(SeenProcess {
            pid: process.pid,
            parent: process.parent,
            name: process.name.clone(),
            threads: threads.len(),
            threads_started: threads.iter().filter(|thread| thread.is_new).count(),
            threads_ended: ended,
            cpu_share: rate(ns(ticks), elapsed).map(|share| share / 1e9),
            resident_bytes: process.resident_bytes,
            main_stack_bytes: process.main_stack_bytes,
        });
        seen.threads.extend(threads);
    }
    seen
}

fn seen_thread(process: &Process, earlier: Option<&Process>, tid: u32, interval: Duration) -> SeenThread {
    let thread = &process.threads[&tid];
    let before = earlier.and_then(|earlier| same(earlier, tid, thread));
    let elapsed = before.map_or(interval, |before| thread.at.saturating_duration_since(before.at));
    let used =
        |thread: &look::Thread| thread.on_cpu_ns.unwrap_or(ns(thread.user_ticks + thread.system_ticks));
    let since = |now: Option<u64>, then: Option<u64>| rate(now?.saturating_sub(then.unwrap_or(0)), elapsed);
    SeenThread {
        pid: process.pid,
        tid,
        name: thread.name.clone(),
        state: thread.state,
        is_new: before.is_none(),
        cpu_share: since(Some(used(thread)), before.map(used)).map(|share| share / 1e9),
        user_ns: ns(thread.user_ticks),
        system_ns: ns(thread.system_ticks),
        on_cpu_ns: thread.on_cpu_ns,
        voluntary_switches: thread.voluntary_switches,
        involuntary_switches: thread.involuntary_switches,
        voluntary_switches_per_s: since(
            thread.voluntary_switches,
            before.and_then(|before| before.voluntary_switches),
        ),
        involuntary_switches_per_s: since(
            thread.involuntary_switches,
            before.and_then(|before| before.involuntary_switches),
        ),
        waits_in: thread.waits_in.clone(),
    }
}

/// The thread of that number in another look, where it is the same one.
fn same<'a>(process: &'a Process, tid: u32, thread: &look::Thread) -> Option<&'a look::Thread> {
    process.threads.get(&tid).filter(|other| other.started_ticks == thread.started_ticks)
}

/// So many in so long, in a second.
#[expect(clippy::cast_precision_loss, reason = "a rate needs few digits")]
fn rate(count: u64, elapsed: Duration) -> Option<f64> {
    (!elapsed.is_zero()).then(|| count as f64 / elapsed.as_secs_f64())
}

fn ns(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

#[cfg(test)]
mod tests;
