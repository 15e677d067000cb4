//! How long a run will take, by formula.

mod blocking;

use std::time::Duration;

use cell_protocol::Ability;
use prediction::little;

use crate::contestant::Contestant;
use crate::experiment::{Hold, Values};
use crate::limit::MachineLimits;
use crate::matrix::{Cell, Point};

/// The time of one cell of the matrix; for a ramp, of all steps that it is expected to take.
pub(crate) fn cell(values: &Values, machine: &MachineLimits, cell: &Cell<'_>) -> Duration {
    match cell.point {
        Point::Burst { warm } => burst(values, cell.contestant, warm),
        Point::HoldTasks => {
            let one = |requests| step(values, &values.capacity.hold_tasks, cell.contestant, requests);
            let known = threads(machine, cell.contestant);
            expected(&values.capacity.hold_tasks, known, cell.contestant).into_iter().map(one).sum()
        }
        Point::Closed { .. } => {
            let closed = &values.throughput.closed;
            values.estimate.process + values.estimate.client + closed.warmup + closed.duration
        }
        Point::Open => {
            let open = &values.throughput.open;
            values.estimate.process + values.estimate.client + open.warmup + open.duration
        }
        Point::Tasks => tasks(values, cell.contestant),
        Point::Connections => {
            let connections = &values.memory.connections;
            let started = values.estimate.process + values.estimate.client;
            started + looks(values, &connections.units, connections.settle)
        }
        Point::Probe { beside } => blocking::probe(values, cell.contestant, beside),
        Point::Pinning { blocker } => blocking::pinning(values, cell.contestant, blocker),
        Point::Pipeline { .. } if cell.contestant.refusal(Ability::Pipeline).is_some() => Duration::ZERO,
        Point::Pipeline { experiment, .. } => {
            let of = values.pipeline(experiment);
            // What is in flight at the end takes a second or two of a slow policy, and a part of one of the others.
            values.estimate.process + of.warmup + of.duration + Duration::from_millis(700)
        }
        Point::Hold => {
            let hold = &values.capacity.hold;
            let client = |requests| values.estimate.client + each(values.estimate.request, requests);
            let one = |requests| client(requests) + step(values, hold, cell.contestant, requests);
            let known = threads(machine, cell.contestant).into_iter().chain(machine.descriptors).min();
            expected(hold, known, cell.contestant).into_iter().map(one).sum()
        }
    }
}

fn burst(values: &Values, contestant: &Contestant, warm: bool) -> Duration {
    let burst = &values.capacity.burst;
    let limit = contestant.in_flight_limit;
    let requests = burst.requests(limit);
    let bound = little::burst_bound(requests, burst.plan.least_duration(), limit);
    let rounds = if warm { 2 } else { 1 };
    values.estimate.process + (bound + each(values.estimate.request, requests)) * rounds
}

/// One process, and another one for what waits in the queue of a model that has one.
fn tasks(values: &Values, contestant: &Contestant) -> Duration {
    let tasks = &values.memory.tasks;
    let process = |units: &[u64]| values.estimate.process + looks(values, units, tasks.settle);
    match contestant.in_flight_limit {
        None => process(&tasks.units) + tasks.wait,
        Some(limit) => {
            let units = tasks.up_to(limit);
            let in_service = if units.is_empty() { Duration::ZERO } else { process(&units) + tasks.wait };
            in_service + process(&tasks.units)
        }
    }
}

/// Looks at one process that grows to the last of `units`.
fn looks(values: &Values, units: &[u64], settle: Duration) -> Duration {
    let looks = u32::try_from(units.len()).unwrap_or(u32::MAX);
    let last = units.last().copied().unwrap_or(0);
    (settle + values.estimate.look) * looks + each(values.estimate.request, last)
}

/// One step of a ramp.
fn step(values: &Values, hold: &Hold, contestant: &Contestant, requests: u64) -> Duration {
    let step = hold.step(requests);
    let bound = little::burst_bound(requests, step.wait, contestant.in_flight_limit);
    let at_most = step.spread + step.wait * 15;
    // A model that nothing limits dispatches while it waits; what that costs is within the spread.
    values.estimate.process + (step.spread + bound).min(at_most)
}

/// The most threads that the machine allows, where the model needs one for each request.
fn threads(machine: &MachineLimits, contestant: &Contestant) -> Option<u64> {
    machine.threads_max().filter(|_| contestant.thread_per_request)
}

/// The steps up to the first one above a limit that is `known` beforehand, those of the bisection, and the common one.
fn expected(hold: &Hold, known: Option<u64>, contestant: &Contestant) -> Vec<u64> {
    let known = known.into_iter().chain(contestant.in_flight_limit).min();
    let mut ascending = hold.steps.clone();
    ascending.extend(contestant.in_flight_limit);
    ascending.sort_unstable();
    let mut steps = Vec::new();
    for step in ascending {
        steps.push(step);
        if known.is_some_and(|known| step > known) {
            // Where threads end, no step shows beforehand, so the ramp bisects.
            let bisected = contestant.thread_per_request && hold.tolerance.is_some();
            steps.extend(std::iter::repeat_n(step, if bisected { 4 } else { 0 }));
            break;
        }
    }
    if !steps.contains(&hold.common_step) {
        steps.push(hold.common_step);
    }
    steps
}

fn each(cost: Duration, requests: u64) -> Duration {
    cost * u32::try_from(requests).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use cell_protocol::{Ability, Description, PROTOCOL, REVISION, Refusal, VariantDescription};

    use super::*;
    use crate::contestant;
    use crate::experiment::{Experiment, Size};
    use crate::limit::{ThreadLimit, Threads};
    use crate::matrix::cells;

    type Variant = (&'static str, &'static str, Option<u64>);

    /// What the headline experiments are held against, with the limits of two workers.
    const MAIN: [Variant; 9] = [
        ("floor", "deadline-heap", None),
        ("threads", "per-request", None),
        ("threads", "pool=200", Some(200)),
        ("tokio", "multi-thread", None),
        ("tokio", "current-thread", None),
        ("smol", "multi-thread", None),
        ("rayon", "workers", Some(2)),
        ("may", "default", None),
        ("processes", "event-loop", None),
    ];
    const OTHERS: [Variant; 6] = [
        ("smol", "current-thread", None),
        ("async-std", "multi-thread", None),
        ("rayon", "pool=64", Some(64)),
        ("may", "pool=20000", None),
        ("processes", "threads", Some(128)),
        ("processes", "event-loop,reuse-port", None),
    ];
    const HEADLINES: [&str; 3] = ["capacity", "memory", "blocking"];

    const OFFLOADS: [&str; 4] = ["async-std", "may", "smol", "tokio"];

    /// What cannot be carried out takes no time.
    fn refusals(runtime: &str, variant: &str) -> Vec<Refusal> {
        let offload = (!OFFLOADS.contains(&runtime)).then_some(Ability::Offload);
        let pipeline = ["floor", "processes"].contains(&runtime).then_some(Ability::Pipeline);
        let in_place = ((runtime, variant) != ("tokio", "multi-thread")).then_some(Ability::InPlace);
        let refuse = |ability| Refusal { ability, variant: None, reason: "it cannot".into() };
        offload.into_iter().chain(in_place).chain(pipeline).map(refuse).collect()
    }

    fn contestants(variants: &[Variant]) -> Vec<Contestant> {
        let described = |&(runtime, variant, in_flight_limit): &Variant| Description {
            protocol: PROTOCOL,
            revision: REVISION.into(),
            runtime: runtime.into(),
            library: runtime.into(),
            library_version: "1".into(),
            execution_model: String::new(),
            suspends_by: String::new(),
            variants: vec![VariantDescription {
                name: variant.into(),
                summary: String::new(),
                in_flight_limit,
                thread_per_request: variant == "per-request",
                handler_threads: match variant {
                    "per-request" => None,
                    "deadline-heap" | "current-thread" => Some(1),
                    _ => Some(in_flight_limit.unwrap_or(2)),
                },
                offload_threads: OFFLOADS.contains(&runtime).then_some(512),
            }],
            refusals: refusals(runtime, variant),
        };
        let each = variants.iter().flat_map(|variant| contestant::all_of(&described(variant)));
        let mut contestants: Vec<Contestant> = Vec::new();
        for mut contestant in each {
            // The first one of a runtime is its default.
            contestant.is_default = !contestants.iter().any(|known| known.runtime == contestant.runtime);
            contestants.push(contestant);
        }
        contestants
    }

    fn sum(size: Size, experiments: &[Experiment], variants: &[Variant]) -> Duration {
        let values = Values::built_in(size).unwrap();
        let machine = MachineLimits {
            descriptors: Some(20_000),
            threads: vec![ThreadLimit { max: 32_768, of: Threads::Machine, source: "kernel.pid_max" }],
            ..MachineLimits::default()
        };
        let contestants = contestants(variants);
        let all = cells(&values, experiments, &contestants, None, 1);
        all.iter().map(|one| cell(&values, &machine, one)).sum()
    }

    #[test]
    fn the_quick_size_fits_its_budgets() {
        let mut headlines = Experiment::ALL.to_vec();
        headlines.retain(|experiment| HEADLINES.contains(&experiment.family()));
        let main = sum(Size::Quick, &headlines, &MAIN);
        assert!(main < Duration::from_secs(3 * 60), "{main:?}");
        let blocking = sum(Size::Quick, &Experiment::select(&["blocking".to_owned()]).unwrap(), &MAIN);
        assert!(blocking < Duration::from_secs(75), "{blocking:?}");
        let all = sum(Size::Quick, &Experiment::ALL, &[&MAIN[..], &OTHERS].concat());
        assert!(all < Duration::from_secs(8 * 60), "{all:?}");
        assert!(
            main > Duration::from_secs(30) && all > main,
            "{main:?}, {all:?}: the formula leaves something out"
        );
    }

    #[test]
    fn the_full_size_fits_an_hour() {
        let all = [&MAIN[..], &OTHERS].concat();
        let each =
            Experiment::ALL.map(|experiment| (experiment.name(), sum(Size::Full, &[experiment], &all)));
        let full: Duration = each.iter().map(|(_, time)| *time).sum();
        assert!(full < Duration::from_secs(57 * 60), "{full:?}: {each:?}");
        assert!(full > Duration::from_secs(30 * 60), "{full:?}: the formula leaves something out");
    }
}
