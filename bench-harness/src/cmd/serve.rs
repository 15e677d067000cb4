//! `serve`: becomes a runner that serves HTTP by hand.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;
use cell_protocol::Ability;

use crate::cli::{Cli, Serve as Arguments};
use crate::contestant::Field;
use crate::exit::{Ending, usage};
use crate::output::only_text;
use crate::place::Place;

pub(super) fn run(cli: &Cli, arguments: &Arguments) -> anyhow::Result<Ending> {
    only_text(cli, "serve")?;
    let place = Place::new(arguments.workers)?;
    let contestant = Field::find(cli.runners.as_deref(), place)?.one(&arguments.runtime)?;
    let ability = if arguments.pipeline.is_some() { Ability::Pipeline } else { Ability::Server };
    if let Some(reason) = contestant.refusal(ability) {
        return Err(usage(format!("{} does not serve that: {reason}", contestant.label)));
    }
    let mut command = Command::new(&contestant.runner);
    let mut flags = vec![
        ("--variant", contestant.variant.clone()),
        ("--workers", contestant.place.workers.to_string()),
        ("--listen", arguments.listen.to_string()),
        ("--idle-timeout", humantime::format_duration(arguments.idle_timeout).to_string()),
        ("--request-timeout", humantime::format_duration(arguments.request_timeout).to_string()),
        ("--backlog", arguments.backlog.to_string()),
    ];
    flags.extend(arguments.connections_max.map(|most| ("--connections-max", most.to_string())));
    match &arguments.pipeline {
        Some(policy) => {
            command.args(["serve-pipeline", policy]);
            flags.push(("--rounds-per-us", conformance::rounds_per_us().to_string()));
        }
        None => {
            command.arg("serve");
            flags.extend([
                ("--in-flight-limit", arguments.in_flight_limit.to_string()),
                ("--queue-capacity", arguments.queue_capacity.to_string()),
            ]);
        }
    }
    for (flag, value) in flags {
        command.args([flag, &value]);
    }
    // This process becomes the runner, so that signals go to it and nothing stands between.
    let error = command.exec();
    Err(error).with_context(|| format!("cannot execute {}", contestant.runner.display()))
}
