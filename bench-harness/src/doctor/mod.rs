//! What this machine can and cannot measure, and whether it is quiet enough to measure on now.

mod limits;
mod noise;
mod quota;

use std::io;
use std::time::Duration;

use serde::Serialize;

use crate::environment::Machine;
use crate::exit::Refused;
use crate::interrupt::Interrupt;

pub(crate) use limits::Limit;
pub(crate) use noise::{NoiseNow, STEAL_SHARE_MOST, is_loaded};

/// All that the doctor finds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Examination {
    pub(crate) limits: Vec<Limit>,
    pub(crate) noise: NoiseNow,
    /// Why the machine is too busy to measure on; none where it is not.
    pub(crate) busy: Vec<String>,
}

/// How long `run --strict` listens before it measures.
const LISTEN: Duration = Duration::from_secs(2);

/// Reads the limits of a machine, and listens to its noise for so long, or until it is interrupted.
pub(crate) fn examine(
    machine: &Machine,
    duration: Duration,
    interrupt: &Interrupt,
) -> io::Result<Examination> {
    let noise = NoiseNow::listen(duration, interrupt)?;
    let busy = noise.reasons(machine.cpus);
    let mut limits = limits::of(machine);
    limits.push(quota::of(&crate::quota::find(1)));
    Ok(Examination { limits, noise, busy })
}

/// Listens to the machine, and refuses to go on where it is busy.
pub(crate) fn refuse_if_busy(machine: &Machine, interrupt: &Interrupt) -> anyhow::Result<()> {
    refuse(&NoiseNow::listen(LISTEN, interrupt)?.reasons(machine.cpus))
}

/// Refuses where there is a reason to.
pub(crate) fn refuse(busy: &[String]) -> anyhow::Result<()> {
    if busy.is_empty() {
        return Ok(());
    }
    Err(Refused(format!("the machine is too busy to measure on: {}", busy.join("; "))).into())
}
