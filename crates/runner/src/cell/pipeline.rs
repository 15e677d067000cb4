//! A cell that sends images through the pipeline: they are offered by threads of their own, while the first one obeys the
//! harness.

use std::process;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use cell_protocol::{
    CellSpec, Command, Event, PipelineLoad, PipelineResult, PipelineTask, PipelineWindow, Ready, Snapshot,
    Stopped,
};
use execution_model::pipeline::{PipelineSetup, Stages};
use execution_model::{Runtime, checked_drain};
use load_driver::pipeline::{PipelineOffer, PipelineOutcome, offer_images};

use super::{commands, ends_with_the_process, say, snapshot, stopped};
use crate::abilities::PipelineAbility;
use crate::ending::usage;
use crate::usage::usage as used;

/// The longest that a load may run.
const LOAD_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// What the load may take to say what came of it, when everything has ended or has been given up: it checks checksums.
const RESULT_GRACE: Duration = Duration::from_secs(4);
const INTERACTIVE_PER_S_MAX: f64 = 100_000.0;

/// How the pipeline is made, and what is offered.
pub(super) fn checked(task: &PipelineTask) -> anyhow::Result<(PipelineSetup, PipelineOffer)> {
    let PipelineTask { pipeline, strategy, rounds_per_us, seed, load, faults, drain_limit_ns } = task.clone();
    let setup = PipelineSetup { spec: pipeline, strategy, rounds_per_us, seed, faults };
    let setup = setup.checked().map_err(usage)?;
    let drain_limit = checked_drain(Duration::from_nanos(drain_limit_ns)).map_err(usage)?;
    let PipelineLoad { interactive_per_s, interactive_spacing, interactive_seed, bulk_images_max, .. } = load;
    if !(0.0..=INTERACTIVE_PER_S_MAX).contains(&interactive_per_s) {
        return Err(usage(format!(
            "the cell asks for {interactive_per_s} interactive images a second; give 0 to {INTERACTIVE_PER_S_MAX}"
        )));
    }
    let (warm_up, window) = (Duration::from_nanos(load.warm_up_ns), Duration::from_nanos(load.window_ns));
    if warm_up.saturating_add(window) > LOAD_MAX {
        return Err(usage(format!(
            "the cell asks for a load of {warm_up:?} and {window:?}; give a day at most"
        )));
    }
    let offer = PipelineOffer {
        interactive_per_s,
        interactive_spacing,
        interactive_seed,
        bulk_images_max,
        warm_up,
        window,
        drain_limit,
    };
    Ok((setup, offer))
}

pub(super) fn run<R: Runtime>(
    runtime: R,
    ability: &PipelineAbility<R>,
    setup: PipelineSetup,
    offer: &PipelineOffer,
    spec: &CellSpec,
) -> anyhow::Result<()> {
    let runtime = ends_with_the_process(Arc::new(runtime));
    let stages = Stages::new(setup);
    (ability.start)(&runtime, &stages).context("the pipeline cannot start")?;
    say(&Event::Ready(Ready { pid: process::id(), listen: None }))?;
    let mut measurement = None;
    for command in commands() {
        match command? {
            Command::Go if measurement.is_none() => {
                let (done, is_done) = mpsc::channel();
                let (runtime, stages, offer) = (Arc::clone(&runtime), Arc::clone(&stages), offer.clone());
                let measure = move || {
                    // A failure is said below: nobody has been told that it is done.
                    if let Ok(unfinished) = measure(runtime, &stages, &offer) {
                        let _gone = done.send(unfinished);
                    }
                };
                let measuring = thread::Builder::new().name("load".into()).spawn(measure);
                measuring.context("cannot start the thread that measures")?;
                measurement = Some(is_done);
            }
            Command::Go => bail!("go came twice"),
            Command::Snapshot => {
                let pipeline = Some(Box::new(stages.levels()));
                say(&Event::Snapshot(Snapshot { pipeline, ..snapshot(runtime.as_ref()) }))?;
            }
            Command::Stop => {
                let deadline = Instant::now() + Duration::from_nanos(spec.drain_ns);
                // In the middle of the load, what has been admitted is finished.
                stages.stop_admitting();
                let unfinished = stages.drain(deadline) as u64;
                match &measurement {
                    Some(is_done) => {
                        let left = deadline.saturating_duration_since(Instant::now());
                        is_done
                            .recv_timeout(left + RESULT_GRACE)
                            .context("the measurement came to no result")?;
                    }
                    None => {
                        let nothing =
                            PipelineOutcome { account: stages.account(), ..PipelineOutcome::default() };
                        say(&Event::Pipeline(Box::new(result(nothing))))?;
                    }
                }
                return match Arc::into_inner(std::mem::ManuallyDrop::into_inner(runtime)) {
                    Some(runtime) => stopped(runtime, deadline, unfinished, None),
                    // A runtime that is still used cannot be shut down: it ends with the process.
                    None => say(&Event::Stopped(Stopped {
                        unfinished: unfinished.max(1),
                        server: None,
                        usage: used(&[]),
                    })),
                };
            }
        }
    }
    // The harness is gone: end at once.
    Ok(())
}

/// Offers the images, says what came of them, and tells how many are unfinished.
fn measure<R: Runtime>(runtime: Arc<R>, stages: &Stages, offer: &PipelineOffer) -> anyhow::Result<u64> {
    let mut usages = Vec::with_capacity(2);
    let outcome = offer_images(stages, offer, || usages.push(used(&runtime.worker_processes())))?;
    // Whoever shuts it down must be its last owner.
    drop(runtime);
    let mut result = result(outcome);
    result.window.usage = usages[1].since(usages[0]);
    let unfinished = result.counts.interactive.in_flight + result.counts.bulk.in_flight;
    say(&Event::Pipeline(Box::new(result)))?;
    Ok(unfinished)
}

fn result(outcome: PipelineOutcome) -> PipelineResult {
    let PipelineOutcome { account, filled, window: length, elapsed, drain_elapsed, send_lag } = outcome;
    let wrong = account.samples.iter().filter(|sample| !sample.is_right()).count();
    let window = account.window;
    PipelineResult {
        counts: account.counts,
        overtaken: account.overtaken,
        refusal_example: account.refusal_example,
        elapsed_ns: nanoseconds(elapsed),
        drain_elapsed_ns: nanoseconds(drain_elapsed),
        filled_ns: filled.map(nanoseconds),
        in_flight_peak: account.in_flight_peak,
        bytes_peak: account.bytes_peak,
        decoded_bytes_peak: account.decoded_bytes_peak,
        checksums_checked: account.samples.len() as u64,
        checksums_wrong: wrong as u64,
        window: PipelineWindow {
            elapsed_ns: nanoseconds(length),
            completed: window.completed,
            batch_sizes: window.batch_sizes,
            in_flight_integral_ns: window.in_flight_integral_ns,
            queued_integral_ns: window.queued_integral_ns,
            queued_peak: window.queued_peak,
            busy_ns: window.busy_ns,
            blocked_ns: window.blocked_ns,
            planned_ns: window.planned_ns,
            usage: cell_protocol::Usage::default(),
            response: window.response,
            response_admitted: window.response_admitted,
            admission_wait: window.admission_wait,
            queue_wait: window.queue_wait,
            send_lag,
        },
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
