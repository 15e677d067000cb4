//! `serve`: the same server by hand, for any load tool, until SIGINT or SIGTERM.

pub(crate) mod pipeline;

use std::time::Instant;

use anyhow::{Context, bail};
use execution_model::server::{ListenSpec, ServerLimits, ServerState};
use execution_model::{Runtime, RuntimeConfig, checked_drain, tell};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::abilities::{Abilities, Support};
use crate::cell::refuse_useless_threads;
use crate::command_line::{ServeOptions, Serving, default_workers};
use crate::ending::usage;
use crate::variant::variant_or_first;

pub(crate) fn run<R: Runtime>(abilities: &Abilities<R>, options: &ServeOptions) -> anyhow::Result<()> {
    let signals = signals()?;
    let serving = &options.serving;
    let workers = serving.workers.unwrap_or_else(default_workers);
    let offload_threads = options.offload_threads;
    let config = RuntimeConfig { workers, queue_capacity: options.queue_capacity, offload_threads };
    let config = config.checked().map_err(usage)?;
    let limits = limits(serving, options.in_flight_limit, options.connections_max)?;
    let listen = listen(serving)?;
    let drain = checked_drain(serving.drain_timeout).map_err(usage)?;
    let (variant, info) = variant_or_first::<R>(serving.variant.as_deref(), workers)?;
    let server_ability = match &abilities.server {
        Support::Yes(ability) => ability,
        Support::No(reason) => return Err(usage(format!("this runtime has no server: {reason}"))),
    };
    let label = format!("{}:{}", R::INFO.id, info.name);
    refuse_useless_threads(&info, offload_threads)?;
    let runtime = R::start(variant, &config).context("the runtime cannot start")?;
    let mut server = (server_ability.serve)(&runtime, &listen, ServerState::new(limits, info))?;
    let address = server.address();
    tell(format_args!("{label} on http://{address}/run/PLAN, /healthz, /metrics; interrupt to drain"));

    wait_for_a_signal(signals);
    let deadline = Instant::now() + drain;
    let unfinished = server.drain(deadline);
    // In every case: a runtime that is merely dropped may wait for its threads, however long they block.
    let timed_out = runtime.shutdown(deadline).is_err();
    if unfinished > 0 || timed_out {
        bail!("{unfinished} requests had not finished after {drain:?}");
    }
    Ok(())
}

/// To be called before any other thread exists, so that every thread leaves these signals to this one.
fn signals() -> anyhow::Result<Signals> {
    Signals::new([SIGINT, SIGTERM]).context("cannot watch for signals")
}

/// Waits for one. A second one does not wait for the drain.
fn wait_for_a_signal(mut signals: Signals) {
    signals.forever().next();
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::process::exit(130);
        }
    });
}

fn listen(serving: &Serving) -> anyhow::Result<ListenSpec> {
    let listen = ListenSpec { address: serving.listen, backlog: serving.backlog, reuse_port: false };
    listen.checked().map_err(usage)
}

fn limits(serving: &Serving, in_flight: u64, connections: u64) -> anyhow::Result<ServerLimits> {
    let (idle, request) = (serving.idle_timeout, serving.request_timeout);
    ServerLimits { in_flight, connections, idle, request }.checked().map_err(usage)
}
