//! `serve-pipeline`: the batching pipeline behind HTTP by hand, until SIGINT or SIGTERM. `/image/interactive` is answered
//! 429 where its slots are taken, and `/image/bulk` waits for a slot.

mod front;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use execution_model::pipeline::{PipelineSetup, Stages};
use execution_model::server::ServerState;
use execution_model::{Runtime, RuntimeConfig, Server, checked_drain, tell};
use workload::BlockingStrategy;
use workload::pipeline::PipelineSpec;

use super::{limits, listen, signals, wait_for_a_signal};
use crate::abilities::{Abilities, Support};
use crate::command_line::{PipelineOptions, default_workers};
use crate::ending::usage;
use crate::variant::variant_or_first;

pub(crate) fn run<R: Runtime>(abilities: &Abilities<R>, options: &PipelineOptions) -> anyhow::Result<()> {
    let signals = signals()?;
    let serving = &options.serving;
    let ability = match &abilities.pipeline {
        Support::Yes(ability) => ability,
        Support::No(reason) => return Err(usage(format!("this runtime has no pipeline: {reason}"))),
    };
    let workers = serving.workers.unwrap_or_else(default_workers);
    let drain = checked_drain(serving.drain_timeout).map_err(usage)?;
    let (variant, info) = variant_or_first::<R>(serving.variant.as_deref(), workers)?;
    let strategy = match info.refuses(BlockingStrategy::Offload) {
        None => BlockingStrategy::Offload,
        Some(_) => BlockingStrategy::Inline,
    };
    let spec = PipelineSpec { policy: options.policy, ..PipelineSpec::of_the_study(workers) };
    let limits = limits(serving, spec.in_flight_max as u64, options.connections_max)?;
    let queue_capacity = spec.in_flight_max.max(spec.workers_total());
    let setup =
        PipelineSetup { spec, strategy, rounds_per_us: options.rounds_per_us, seed: 1, faults: Vec::new() };
    let setup = setup.checked().map_err(usage)?;
    let config = RuntimeConfig { workers, queue_capacity, offload_threads: None };
    let config = config.checked().map_err(usage)?;
    let listen = listen(serving)?;
    let label = format!("{}:{}", R::INFO.id, info.name);
    let runtime = R::start(variant, &config).context("the runtime cannot start")?;
    let stages = Stages::new(setup);
    (ability.start)(&runtime, &stages).context("the pipeline cannot start")?;
    // Of all that happens, so that the metrics tell of it.
    stages.measure(stages.epoch(), stages.epoch() + FOR_EVER);
    let mut server = front::serve(&listen, ServerState::new(limits, info), Arc::clone(&stages))?;
    let address = server.address();
    tell(format_args!(
        "{label} on http://{address}/image/interactive, /image/bulk, /healthz, /metrics; interrupt to drain"
    ));

    wait_for_a_signal(signals);
    let deadline = Instant::now() + drain;
    // First those who wait for an answer, whose images are on their way.
    server.drain(deadline);
    let unfinished = stages.drain(deadline);
    let timed_out = runtime.shutdown(deadline).is_err();
    if unfinished > 0 || timed_out {
        bail!("{unfinished} images had not gone through after {drain:?}");
    }
    Ok(())
}

/// Longer than anybody serves.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);
