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
use crate::command_line::{ServeOptions, default_workers};
use crate::ending::usage;
use crate::variant::variant;

pub(crate) fn run<R: Runtime>(abilities: &Abilities<R>, options: &ServeOptions) -> anyhow::Result<()> {
    // Before any other thread exists, so that every thread leaves these signals to this one.
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot watch for signals")?;
    let workers = options.workers.unwrap_or_else(default_workers);
    let offload_threads = options.offload_threads;
    let config = RuntimeConfig { workers, queue_capacity: options.queue_capacity, offload_threads };
    let config = config.checked().map_err(usage)?;
    let limits = ServerLimits {
        in_flight: options.in_flight_limit,
        connections: options.connections_max,
        idle: options.idle_timeout,
        request: options.request_timeout,
    };
    let limits = limits.checked().map_err(usage)?;
    let listen = ListenSpec { address: options.listen, backlog: options.backlog, reuse_port: false };
    let listen = listen.checked().map_err(usage)?;
    let drain = checked_drain(options.drain_timeout).map_err(usage)?;
    let (variant, info) = match &options.variant {
        Some(name) => variant::<R>(name, workers)?,
        None => {
            let default = R::variants().swap_remove(0);
            let info = R::describe(&default, workers);
            (default, info)
        }
    };
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

    signals.forever().next();
    std::thread::spawn(move || {
        // A second signal does not wait for the drain.
        if signals.forever().next().is_some() {
            std::process::exit(130);
        }
    });
    let deadline = Instant::now() + drain;
    let unfinished = server.drain(deadline);
    // In every case: a runtime that is merely dropped may wait for its threads, however long they block.
    let timed_out = runtime.shutdown(deadline).is_err();
    if unfinished > 0 || timed_out {
        bail!("{unfinished} requests had not finished after {drain:?}");
    }
    Ok(())
}
