//! `threads`: what the threads of a process and its children are doing.

use crate::cli::{Cli, Threads as Arguments};
use crate::exit::{Ending, Refused, usage};
use crate::output::Forms;
use crate::threads::{self, LookError, Proc, Seen};

/// # Errors
///
/// A usage error where there is no such process, and a refusal where this user may not look at it.
pub(super) fn run(cli: &Cli, arguments: &Arguments) -> anyhow::Result<Ending> {
    let seen = watch(arguments)?;
    Forms {
        text: &|style| threads::text(&seen, style),
        csv: &|| threads::csv(&seen),
        json: &|| serde_json::to_string_pretty(&seen),
    }
    .print(cli)?;
    Ok(Ending::Done)
}

fn watch(arguments: &Arguments) -> anyhow::Result<Seen> {
    let proc = Proc::new();
    let named = proc.process_of(arguments.pid);
    let pid = named.map_err(|error| match error {
        LookError::NoProcess(pid) => {
            usage(format!("there is no process {pid}; pgrep -a runtime- shows the servers that run here"))
        }
        other => refused(other),
    })?;
    threads::watch(&proc, pid, arguments.duration).map_err(|error| match error {
        LookError::NoProcess(pid) => anyhow::anyhow!("process {pid} ended while it was looked at"),
        other => refused(other),
    })
}

fn refused(error: LookError) -> anyhow::Error {
    match error {
        LookError::Hidden(..) => Refused(format!("{error}; be its user, or root")).into(),
        other => other.into(),
    }
}
