//! A cell whose requests are offered in this process, by its first thread, while another one obeys the
//! harness.
//!
//! The first thread because glibc's allocator treats it better: it takes memory from the system by the 128 KiB
//! for that thread, and page by page, with a system call each that holds up every page fault of the process, for
//! any other. Where the library allocates a task in the thread that dispatches it, that would be the harness's cost
//! and not the model's: 3 to 5 % of a burst of 10,000 on one event loop.

use std::mem::ManuallyDrop;
use std::process;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use cell_protocol::{ArrivalsResult, ArrivalsTask, CellSpec, Command, Event, Ready, Stopped};
use execution_model::{Job, Runtime};
use load_driver::in_process::{Account, Offer};
use workload::arrivals::Pattern;

use super::{commands, ends_with_the_process, say, snapshot, stopped};
use crate::abilities::{HandlerAbility, OfferWith};
use crate::ending::{end, usage};
use crate::usage::usage as used;

/// The most requests of one cell: 1 GiB of their account.
const REQUESTS_MAX: f64 = 16_777_216.0;

pub(super) fn run<R: Runtime>(
    runtime: R,
    ability: &HandlerAbility<R>,
    task: &ArrivalsTask,
    spec: &CellSpec,
) -> anyhow::Result<()> {
    check(&task.arrivals)?;
    say(&Event::Ready(Ready { pid: process::id(), listen: None }))?;
    let (offer_with, task) = (ability.offer, task.clone());
    let drain = Duration::from_nanos(spec.drain_ns);
    let (go, measurements) = mpsc::channel::<Measurement<R>>();
    let obey = move || {
        let begin = |runtime, done| {
            let measurement = Measurement { runtime, offer_with, task: task.clone(), done };
            // It fails where the first thread has panicked, and then the process is about to end.
            let _begun = go.send(measurement);
        };
        // The first thread may be in a measurement that does not end.
        process::exit(end::<R>(obey(Arc::new(runtime), drain, begin)).into());
    };
    let obeying = thread::Builder::new().name("commands".into()).spawn(obey);
    let obeying = obeying.context("cannot start the thread that obeys commands")?;
    for measurement in measurements {
        measurement.make()?;
    }
    // The thread ends the process, or panics.
    let Err(_panicked) = obeying.join();
    bail!("the thread that obeys commands has panicked")
}

/// A schedule is made whole before its first request begins, so it must be one that fits.
fn check(arrivals: &Pattern) -> anyhow::Result<()> {
    let expected = match arrivals {
        Pattern::Spread(arrivals) => arrivals.requests as f64,
        Pattern::Open(arrivals) => {
            let rate_per_s = arrivals.rate_per_s;
            if !(rate_per_s.is_finite() && rate_per_s > 0.0) {
                return Err(usage(format!(
                    "the cell asks for {rate_per_s} requests a second; it must be above 0 and finite"
                )));
            }
            arrivals.requests_expected()
        }
    };
    if expected > REQUESTS_MAX {
        return Err(usage(format!(
            "the cell asks for {expected:.0} requests in this process; the most is {REQUESTS_MAX}"
        )));
    }
    Ok(())
}

/// Does what the harness says until it says "stop", or is gone.
fn obey<R: Runtime>(
    runtime: Arc<R>,
    drain: Duration,
    begin: impl Fn(Arc<R>, Sender<u64>),
) -> anyhow::Result<()> {
    let runtime = ends_with_the_process(runtime);
    let mut measurement = None;
    for command in commands() {
        match command? {
            Command::Go if measurement.is_none() => {
                let (done, is_done) = mpsc::channel();
                begin(Arc::clone(&runtime), done);
                measurement = Some(is_done);
            }
            Command::Go => bail!("go came twice"),
            Command::Snapshot => say(&Event::Snapshot(snapshot(runtime.as_ref())))?,
            Command::Stop => return stop(runtime, measurement.as_ref(), drain),
        }
    }
    // The harness is gone: end at once.
    Ok(())
}

/// Ends the measurement, where there is one, and the runtime.
pub(super) fn stop<R: Runtime>(
    runtime: ManuallyDrop<Arc<R>>,
    measurement: Option<&Receiver<u64>>,
    drain: Duration,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + drain;
    let unfinished = measurement.map_or(0, |measurement| wait(measurement, deadline));
    match Arc::into_inner(ManuallyDrop::into_inner(runtime)) {
        Some(runtime) => stopped(runtime, deadline, unfinished, None),
        // A runtime that is still used cannot be shut down: it ends with the process.
        None => {
            say(&Event::Stopped(Stopped { unfinished: unfinished.max(1), server: None, usage: used(&[]) }))
        }
    }
}

/// Waits for a measurement until the deadline. Returns how many requests it left unfinished, at least 1
/// where it has not ended itself.
fn wait(measurement: &Receiver<u64>, deadline: Instant) -> u64 {
    measurement.recv_timeout(deadline.saturating_duration_since(Instant::now())).unwrap_or(1)
}

/// Requests to be offered, and who waits for their end.
struct Measurement<R> {
    runtime: Arc<R>,
    offer_with: OfferWith<R>,
    task: ArrivalsTask,
    done: Sender<u64>,
}

impl<R: Runtime> Measurement<R> {
    /// Offers them, says what came of it, and tells how many are unfinished.
    fn make(self) -> anyhow::Result<()> {
        let Measurement { runtime, offer_with, task, done } = self;
        let offer = Offer {
            job: Job { plan: task.plan, seed: task.seed, strategy: task.strategy },
            arrivals: task.arrivals,
            time_limit: Duration::from_nanos(task.time_limit_ns),
        };
        if task.warm {
            let account = offer_with(&runtime, &offer, &mut || {});
            if account.completed < account.offered || account.checksums_wrong > 0 {
                // What is left of it would be measured with what follows.
                bail!("the unmeasured round came to {}", words(&account));
            }
        }
        let mut usages = Vec::with_capacity(2);
        let account = offer_with(&runtime, &offer, &mut || usages.push(used(&runtime.worker_processes())));
        // Whoever shuts it down must be its last owner.
        drop(runtime);
        let unfinished = account.unfinished;
        let mut result = result(account);
        result.usage = usages[1].since(usages[0]);
        // Where the harness is gone there is nobody to tell.
        let _gone = say(&Event::Result(Box::new(result)));
        let _gone = done.send(unfinished);
        Ok(())
    }
}

fn words(account: &Account) -> String {
    format!(
        "{} of {} requests completed, {} rejected, {} failed, {} unfinished, {} lost, {} with a wrong checksum",
        account.completed,
        account.offered,
        account.rejected_total(),
        account.panicked + account.killed,
        account.unfinished,
        account.lost,
        account.checksums_wrong
    )
}

pub(super) fn result(account: Account) -> ArrivalsResult {
    let mut failed = std::collections::BTreeMap::new();
    for (class, count) in [("panicked", account.panicked), ("killed", account.killed)] {
        if count > 0 {
            failed.insert(class.to_owned(), count);
        }
    }
    ArrivalsResult {
        offered: account.offered,
        completed: account.completed,
        rejected: account.rejected.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect(),
        failed,
        unfinished: account.unfinished,
        lost: account.lost,
        checksums_wrong: account.checksums_wrong,
        rejection_example: account.rejection_example,
        schedule_ns: account.schedule_ns,
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
