//! `serve`: becomes a runner that serves HTTP by hand.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;

use crate::cli::{Cli, Serve as Arguments};
use crate::contestant::Field;
use crate::exit::{Ending, usage};
use crate::place::Place;

pub(super) fn run(cli: &Cli, arguments: &Arguments) -> anyhow::Result<Ending> {
    let place = Place::new(arguments.workers)?;
    let contestant = Field::find(cli.runners.as_deref(), place)?.one(&arguments.runtime)?;
    if let Some(reason) = contestant.refusal(cell_protocol::Ability::Server) {
        return Err(usage(format!("{} does not serve: {reason}", contestant.label)));
    }
    let flags = [
        ("--variant", contestant.variant.clone()),
        ("--workers", contestant.place.workers.to_string()),
        ("--listen", arguments.listen.to_string()),
        ("--in-flight-limit", arguments.in_flight_limit.to_string()),
        ("--connections-max", arguments.connections_max.to_string()),
        ("--idle-timeout", humantime::format_duration(arguments.idle_timeout).to_string()),
        ("--request-timeout", humantime::format_duration(arguments.request_timeout).to_string()),
        ("--backlog", arguments.backlog.to_string()),
        ("--queue-capacity", arguments.queue_capacity.to_string()),
    ];
    let mut command = Command::new(&contestant.runner);
    command.arg("serve");
    for (flag, value) in flags {
        command.args([flag, &value]);
    }
    // This process becomes the runner, so that signals go to it and nothing stands between.
    let error = command.exec();
    Err(error).with_context(|| format!("cannot execute {}", contestant.runner.display()))
}
