//! The checks of a memory row: each compares two things that come from different places. Pure.

use load_driver::http::Held;
use workload::{RequestCounts, ServerCounts};

use super::fit::Fits;
use super::look::Look;
use crate::audit::{at_most, equal};
use crate::format::whole;
use crate::row::Check;

/// How far a look may be from the line, as a share of what the figure grew by from the first look to the last.
const RESIDUAL_SHARE_MAX: f64 = 0.1;
/// And in any case: stacks and buffers that a process touches once, when it first needs them, and a table that doubles
/// where processes share connections unevenly. The interval of the slope tells what that is worth.
const RESIDUAL_BYTES_MAX: f64 = 131_072.0;

/// Where the requests were while one look was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// Requests that should be in service and wait.
    pub(super) in_service: u64,
    /// Those and the ones in the queue.
    pub(super) offered: u64,
    pub(super) before: RequestCounts,
    pub(super) after: RequestCounts,
}

/// What was counted while one look was taken, on three sides of the connections.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) connections: u64,
    /// By the client, after the look.
    pub(super) client: Held,
    /// By the server, since before the first connection; its gauges before and after the look.
    pub(super) server_before: ServerCounts,
    pub(super) server_after: ServerCounts,
}

/// All that were asked for were where they should be while each look was taken: the number of those in service is from
/// the stamps of whoever carries them out, before and after.
pub(super) fn waiting(all: &[Waiting]) -> Vec<Check> {
    let one = |waiting: &Waiting| {
        let Waiting { in_service, offered, before, after } = *waiting;
        [
            equal("in_service_before_look", before.in_service, in_service),
            equal("in_service_after_look", after.in_service, in_service),
            equal("offered_at_look", after.offered, offered),
            equal("ended_before_look", after.ended, 0),
        ]
    };
    worst(all.iter().map(one))
}

/// Where the model has a thread for each request, there were as many more threads as requests from look to look.
pub(super) fn threads(looks: &[Look]) -> Vec<Check> {
    let one = |pair: &[Look]| {
        let threads = pair[1].tree.threads.saturating_sub(pair[0].tree.threads);
        [equal("threads_more_from_look_to_look", threads, pair[1].units - pair[0].units)]
    };
    worst(looks.windows(2).map(one))
}

/// Client, server and kernel agree on how many connections were open while each look was taken, that each had served
/// one request, and that none was being served. `descriptors` are how many more the server's processes had at the
/// last look than before the first connection.
pub(super) fn open(all: &[Open], descriptors: u64) -> Vec<Check> {
    let one = |open: &Open| {
        let (before, after) = (&open.server_before, &open.server_after);
        [
            equal("open_by_client", open.client.open, open.connections),
            equal("open_by_server_before_look", before.connections, open.connections),
            equal("open_by_server_after_look", after.connections, open.connections),
            equal("served_by_client", open.client.served, open.connections),
            equal("served_by_server", after.completed, open.connections),
            equal("in_flight_at_look", before.in_flight.max(after.in_flight), 0),
        ]
    };
    let mut checks = worst(all.iter().map(one));
    if let Some(last) = all.last() {
        checks.push(equal("descriptors_of_server", descriptors, last.connections));
    }
    checks
}

/// What was measured is a line, and all of it was in memory.
pub(super) fn line(looks: &[Look], fits: &Fits) -> Vec<Check> {
    let units = |look: Option<&Look>| look.map_or(0, |look| look.units);
    #[expect(clippy::cast_precision_loss, reason = "numbers of units are far below 2^53")]
    let more = units(looks.last()).saturating_sub(units(looks.first())) as f64;
    let growth = fits.total.line.slope().abs() * more;
    let most = (growth * RESIDUAL_SHARE_MAX).max(RESIDUAL_BYTES_MAX);
    let swapped = looks.iter().map(|look| look.tree.swap_bytes).max().unwrap_or(0);
    vec![
        at_most("residual_max_bytes", whole(fits.total.residual_max.ceil()), whole(most)),
        at_most("swapped_bytes", swapped, 0),
    ]
}

/// Of checks that were made again and again, each where it failed first, or else the last time.
fn worst<const N: usize>(all: impl Iterator<Item = [Check; N]>) -> Vec<Check> {
    let mut kept: Option<[Check; N]> = None;
    for checks in all {
        match &mut kept {
            None => kept = Some(checks),
            Some(kept) => {
                for (kept, check) in kept.iter_mut().zip(checks).filter(|(kept, _)| kept.ok) {
                    *kept = check;
                }
            }
        }
    }
    kept.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
