//! `describe`: what the runtime is, as one JSON line.

use std::io::{self, ErrorKind, Write};

use anyhow::Context;
use cell_protocol::{Ability, Description, PROTOCOL, REVISION, Refusal, VariantDescription};
use execution_model::{Runtime, RuntimeConfig};

use crate::abilities::Abilities;
use crate::command_line::{DescribeOptions, default_workers};
use crate::ending::usage;
use crate::variant::variant;

pub(crate) fn run<R: Runtime>(abilities: &Abilities<R>, options: &DescribeOptions) -> anyhow::Result<()> {
    let mut variants = R::variants();
    let workers = options.workers.unwrap_or_else(default_workers);
    RuntimeConfig { workers, queue_capacity: 1, offload_threads: None }.checked().map_err(usage)?;
    if let Some(name) = &options.variant {
        let (asked, _info) = variant::<R>(name, workers)?;
        if variants.iter().all(|variant| R::describe(variant, workers).name != *name) {
            variants.push(asked);
        }
    }
    let description = description(abilities, &variants, workers);
    let line = serde_json::to_string(&description)? + "\n";
    match io::stdout().write_all(line.as_bytes()) {
        // Whoever asked has heard enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}

fn description<R: Runtime>(abilities: &Abilities<R>, variants: &[R::Variant], workers: usize) -> Description {
    let mut description = Description {
        protocol: PROTOCOL,
        revision: REVISION.to_owned(),
        runtime: R::INFO.id.to_owned(),
        library: R::INFO.library.to_owned(),
        library_version: R::INFO.library_version.to_owned(),
        execution_model: R::INFO.execution_model.to_owned(),
        suspends_by: R::INFO.suspends_by.to_owned(),
        variants: Vec::new(),
        refusals: Vec::new(),
    };
    let mut refuse = |ability, variant: Option<&str>, reason: Option<&str>| {
        description.refusals.extend(reason.map(|reason| Refusal {
            ability,
            variant: variant.map(str::to_owned),
            reason: reason.to_owned(),
        }));
    };
    refuse(Ability::Handler, None, abilities.handler.reason());
    refuse(Ability::Server, None, abilities.server.reason());
    refuse(Ability::Pipeline, None, abilities.pipeline.reason());
    for variant in variants {
        let info = R::describe(variant, workers);
        refuse(Ability::Offload, Some(&info.name), info.refuses_offload);
        refuse(Ability::InPlace, Some(&info.name), info.refuses_in_place);
        description.variants.push(VariantDescription {
            name: info.name,
            summary: info.summary,
            in_flight_limit: info.in_flight_limit,
            thread_per_request: info.thread_per_request,
            handler_threads: R::handler_threads(variant, workers)
                .map(|threads| u64::try_from(threads).unwrap_or(u64::MAX)),
            offload_threads: R::offload_threads(variant),
        });
    }
    description
}
