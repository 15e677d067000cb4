//! Offers images to a pipeline in the same process: bulk work as fast as it is admitted, interactive work by a schedule
//! that does not wait for the pipeline.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use execution_model::pipeline::{Lane, PipelineAccount, Stages};
use workload::arrivals::{OpenArrivals, Spacing};

use crate::priority::Priority;
use crate::recorder::Histogram;

/// The images that are offered, and for how long.
#[derive(Clone, Debug)]
pub struct PipelineOffer {
    /// Interactive images a second; 0 for none.
    pub interactive_per_s: f64,
    /// How they are spaced.
    pub interactive_spacing: Spacing,
    /// The seed of their schedule.
    pub interactive_seed: u64,
    /// Bulk images, of which one is always ready; none for as many as are admitted.
    pub bulk_images_max: Option<u64>,
    /// How long the load runs before it is measured.
    pub warm_up: Duration,
    /// How long it is measured.
    pub window: Duration,
    /// How long what is in flight at the end may take.
    pub drain_limit: Duration,
}

/// What came of them.
#[derive(Clone, Debug, Default)]
pub struct PipelineOutcome {
    /// What the pipeline accounts for.
    pub account: PipelineAccount,
    /// From the first offer until for the first time as many images were in flight as bulk work may have; none where that
    /// never was.
    pub filled: Option<Duration>,
    /// How long the window was: shorter than asked for where the pipeline was stopped in the middle.
    pub window: Duration,
    /// From the first offer to the end of the drain.
    pub elapsed: Duration,
    /// From the end of the load until the last image had ended, or the limit had come.
    pub drain_elapsed: Duration,
    /// Intended start of an interactive image until it was offered, in the window.
    pub send_lag: Histogram,
}

/// Offers the images, drains the pipeline and closes it. `watch` is called at both ends of the window, so that the caller
/// can read usage. Whoever has the pipeline stop admitting meanwhile ends the load at once.
///
/// # Errors
///
/// A thread that offers could not be started.
pub fn offer_images(
    stages: &Stages,
    offer: &PipelineOffer,
    mut watch: impl FnMut(),
) -> io::Result<PipelineOutcome> {
    let begin = Instant::now();
    let from = begin + offer.warm_up;
    let until = from + offer.window;
    stages.measure(from, until);
    thread::scope(|scope| {
        let spawn = |name: &str| thread::Builder::new().name(name.into());
        let bulk = || offer_bulk(stages, offer.bulk_images_max.unwrap_or(u64::MAX), until);
        spawn("bulk").spawn_scoped(scope, bulk)?;
        let interactive = || offer_interactive(stages, offer, begin);
        let interactive = spawn("interactive").spawn_scoped(scope, interactive).inspect_err(|_| {
            // The other one is not waited for until the end.
            stages.stop_admitting();
        })?;
        // Where the pipeline is stopped before, the window is empty.
        let _admits = stages.admits_until(from);
        watch();
        let began = Instant::now();
        let _admits = stages.admits_until(until);
        let end = Instant::now();
        watch();
        stages.measure(from.min(end), until.min(end));
        stages.stop_admitting();
        let send_lag = interactive.join().expect("nothing panics that offers");
        let unfinished_at = end + offer.drain_limit;
        let _unfinished = stages.drain(unfinished_at);
        let account = stages.account();
        let since_begin = |at: Duration| (stages.epoch() + at).saturating_duration_since(begin);
        Ok(PipelineOutcome {
            filled: account.filled.map(since_begin),
            account,
            window: end.saturating_duration_since(began),
            elapsed: begin.elapsed(),
            drain_elapsed: end.elapsed(),
            send_lag,
        })
    })
}

/// One image is always ready, and waits until it is admitted.
fn offer_bulk(stages: &Stages, images_max: u64, until: Instant) {
    for _ in 0..images_max {
        if stages.admit(Lane::Bulk, Instant::now(), until).is_err() {
            return;
        }
    }
}

fn offer_interactive(stages: &Stages, offer: &PipelineOffer, begin: Instant) -> Histogram {
    let arrivals = OpenArrivals {
        rate_per_s: offer.interactive_per_s,
        spacing: offer.interactive_spacing,
        seed: offer.interactive_seed,
        duration: offer.warm_up + offer.window,
    };
    // The stages compute on every CPU, and whoever waits for a turn of theirs offers late. It is idle nearly always.
    Priority::First.take();
    let mut send_lag = Histogram::default();
    for start in arrivals.starts().map(Duration::from_nanos) {
        if !stages.admits_until(begin + start) {
            break;
        }
        if start >= offer.warm_up {
            let lag = (begin + start).elapsed();
            send_lag.record(u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX));
        }
        // What is refused is counted by the pipeline.
        let _counted = stages.offer_interactive(begin + start);
    }
    send_lag
}
