//! How long a run will take, by formula.

use std::time::Duration;

use prediction::little;

use crate::contestant::Contestant;
use crate::experiment::{Capacity, Experiment, Hold, Size};
use crate::limit::MachineLimits;
use crate::matrix::Cell;

/// The time of one cell of the matrix; for a ramp, of all steps that it is expected to take.
pub(crate) fn cell(capacity: &Capacity, size: Size, machine: &MachineLimits, cell: &Cell<'_>) -> Duration {
    match cell.experiment {
        Experiment::Burst => burst(capacity, size, cell),
        Experiment::HoldTasks | Experiment::Hold => ramp(capacity, size, machine, cell),
    }
}

fn burst(capacity: &Capacity, size: Size, cell: &Cell<'_>) -> Duration {
    let values = capacity.burst(size);
    let limit = cell.contestant.in_flight_limit;
    let requests = values.requests(limit);
    let bound = little::burst_bound(requests, values.plan.least_duration(), limit);
    let rounds = if cell.warm { 2 } else { 1 };
    capacity.estimate.process + (bound + each(capacity.estimate.request, requests)) * rounds
}

fn ramp(capacity: &Capacity, size: Size, machine: &MachineLimits, cell: &Cell<'_>) -> Duration {
    let values = capacity.hold(cell.experiment, size);
    let mut steps = expected(values, machine, cell.experiment, cell.contestant);
    if !steps.contains(&values.common_step) {
        steps.push(values.common_step);
    }
    let one = |requests: u64| {
        let step = values.step(requests);
        let bound = little::burst_bound(requests, step.wait, cell.contestant.in_flight_limit);
        let at_most = step.spread + step.wait * 15;
        let client = match cell.experiment {
            Experiment::Hold => capacity.estimate.client + each(capacity.estimate.request, requests),
            Experiment::HoldTasks | Experiment::Burst => Duration::ZERO,
        };
        // A model that nothing limits dispatches while it waits; what that costs is within the spread.
        capacity.estimate.process + client + (step.spread + bound).min(at_most)
    };
    steps.iter().map(|requests| one(*requests)).sum()
}

/// The steps up to the first one above a limit that is known beforehand, and those of the bisection.
fn expected(
    values: &Hold,
    machine: &MachineLimits,
    experiment: Experiment,
    contestant: &Contestant,
) -> Vec<u64> {
    let descriptors = match experiment {
        Experiment::Hold => machine.descriptors,
        Experiment::HoldTasks | Experiment::Burst => None,
    };
    let threads = machine.threads.map(|(max, _)| max).filter(|_| contestant.thread_per_request);
    let known = [contestant.in_flight_limit, descriptors, threads].into_iter().flatten().min();
    let mut ascending = values.steps.clone();
    ascending.extend(contestant.in_flight_limit);
    ascending.sort_unstable();
    let mut steps = Vec::new();
    for step in ascending {
        steps.push(step);
        if known.is_some_and(|known| step > known) {
            // Where threads end, no step shows beforehand, so the ramp bisects.
            let bisected = contestant.thread_per_request && values.tolerance.is_some();
            steps.extend(std::iter::repeat_n(step, if bisected { 4 } else { 0 }));
            break;
        }
    }
    steps
}

fn each(cost: Duration, requests: u64) -> Duration {
    cost * u32::try_from(requests).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use cell_protocol::{Description, PROTOCOL, REVISION, VariantDescription};

    use super::*;
    use crate::contestant;
    use crate::matrix::cells;

    /// The four variants of the foundation, and the floor.
    fn contestants() -> Vec<Contestant> {
        let runtime = |name: &str, variants: &[(&str, Option<u64>)]| {
            let variants = variants.iter().map(|(name, limit)| VariantDescription {
                name: (*name).into(),
                summary: String::new(),
                in_flight_limit: *limit,
                thread_per_request: *name == "per-request",
            });
            contestant::all_of(&Description {
                protocol: PROTOCOL,
                revision: REVISION.into(),
                runtime: name.into(),
                library: name.into(),
                library_version: "1".into(),
                execution_model: String::new(),
                suspends_by: String::new(),
                variants: variants.collect(),
                refusals: vec![],
            })
        };
        [
            runtime("floor", &[("heap", None)]),
            runtime("threads", &[("per-request", None), ("pool=200", Some(200))]),
            runtime("tokio", &[("multi-thread", None), ("current-thread", None)]),
        ]
        .concat()
    }

    fn sum(size: Size) -> Duration {
        let capacity = Capacity::load(None).unwrap();
        let machine = MachineLimits {
            descriptors: Some(20_000),
            threads: Some((32_768, "kernel.pid_max")),
            ..MachineLimits::default()
        };
        let contestants = contestants();
        let all = cells(&capacity, size, &Experiment::ALL, &contestants, None, 1);
        all.iter().map(|one| cell(&capacity, size, &machine, one)).sum()
    }

    #[test]
    fn the_quick_size_fits_its_budget() {
        // A third of the three minutes that three experiments on eight variants may take.
        let quick = sum(Size::Quick);
        assert!(quick < Duration::from_secs(60), "{quick:?}");
        assert!(quick > Duration::from_secs(5), "{quick:?}: the formula leaves something out");
    }

    #[test]
    fn the_full_size_is_known_to_be_long() {
        let full = sum(Size::Full);
        assert!(full > Duration::from_secs(300) && full < Duration::from_secs(7_200), "{full:?}");
    }
}
