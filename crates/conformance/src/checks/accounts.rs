//! Requests in process: each is accounted for, takes its time, burns its CPU, and proves its steps.

use std::time::Duration;

use cell_protocol::{Ability, ArrivalsResult};
use workload::Plan;
use workload::arrivals::{Arrivals, OpenArrivals, Pattern, Spacing};

use crate::failure::{Failure, Seen, ensure};
use crate::serving::{expect_status, run};
use crate::subject::{Subject, burst, ns, plan, server};

/// How much of the planned CPU must show.
const CPU_SHARE: f64 = 0.9;
const CPU_TRIES: usize = 3;

/// Plans with each kind of step, and with several.
fn plans(subject: &Subject<'_>) -> [Plan; 4] {
    let rounds = subject.calibration.rounds(Duration::from_micros(200));
    [
        plan(""),
        plan("wait=20ms"),
        plan(&format!("compute={rounds}")),
        plan(&format!("wait=5ms,compute={rounds},block=1ms,wait=5ms")),
    ]
}

/// How many requests of a burst take a bounded time on a variant with few places.
fn burst_size(subject: &Subject<'_>) -> u64 {
    subject.variant.in_flight_limit.map_or(100, |limit| (limit * 20).min(100))
}

/// Offered = completed, nothing lost, and every histogram holds every request.
pub(crate) fn burst_loses_nothing(subject: &Subject<'_>) -> Seen {
    let requests = burst_size(subject);
    for plan in &plans(subject) {
        let mut task = burst(plan, requests);
        task.warm = true;
        expect_all_completed(plan, requests, &subject.offer(task)?)?;
    }
    let plan = plan("wait=2ms");
    let mut spread = burst(&plan, requests);
    spread.arrivals = Pattern::Spread(Arrivals { requests, spread: Duration::from_millis(200) });
    let result = subject.offer(spread)?;
    expect_all_completed(&plan, requests, &result)?;
    ensure!(
        result.dispatch_elapsed_ns >= ns(Duration::from_millis(190)),
        "requests spread over 200 ms were dispatched in {} ns",
        result.dispatch_elapsed_ns
    );
    let poisson = OpenArrivals {
        rate_per_s: 5.0 * requests as f64,
        spacing: Spacing::Poisson,
        seed: 5,
        duration: Duration::from_millis(200),
    };
    let mut open = burst(&plan, requests);
    open.arrivals = Pattern::Open(poisson);
    let drawn = open.arrivals.requests();
    expect_all_completed(&plan, drawn, &subject.offer(open)?)?;
    Ok(format!("{requests} of {requests} completed, of each of 5 loads, and {drawn} of an open loop"))
}

fn expect_all_completed(plan: &Plan, requests: u64, result: &ArrivalsResult) -> Result<(), Failure> {
    let ArrivalsResult { offered, completed, lost, unfinished, .. } = *result;
    ensure!(
        (offered, completed, lost, unfinished) == (requests, requests, 0, 0),
        "/run/{plan}: of {requests} requests, {offered} were offered, {completed} completed, {lost} lost, \
         {unfinished} unfinished"
    );
    ensure!(result.rejected.is_empty(), "/run/{plan}: rejected {:?} with room for all", result.rejected);
    ensure!(result.failed.is_empty(), "/run/{plan}: failed {:?}", result.failed);
    for (name, histogram) in [
        ("response", &result.response),
        ("service", &result.service),
        ("queue wait", &result.queue_wait),
        ("send lag", &result.send_lag),
    ] {
        ensure!(histogram.count() == requests, "/run/{plan}: {} samples of {name}", histogram.count());
    }
    Ok(())
}

/// No request is over before its waits and blocks are, and no burst before the variant's limit lets it.
pub(crate) fn waits_take_their_time(subject: &Subject<'_>) -> Seen {
    let requests = burst_size(subject);
    let mut shortest = Vec::new();
    for text in ["wait=30ms", "wait=10ms,wait=10ms,wait=10ms", "block=2ms", "wait=10ms,block=1ms"] {
        let plan = plan(text);
        let result = subject.offer(burst(&plan, requests))?;
        let least = ns(plan.least_duration());
        // The histogram that this is from is exact to one part in a thousand.
        ensure!(
            result.service_min_ns + least / 1000 >= least,
            "{plan} was over after {} ns",
            result.service_min_ns
        );
        let bound = ns(subject.least_elapsed(requests, &plan));
        ensure!(
            result.elapsed_ns >= bound,
            "{requests} of {plan} took {} ns, less than the {bound} ns that the limit of {:?} leaves",
            result.elapsed_ns,
            subject.variant.in_flight_limit
        );
        shortest.push(format!(
            "{plan} {:.1} ms",
            Duration::from_nanos(result.service_min_ns).as_secs_f64() * 1e3
        ));
    }
    Ok(format!("shortest service times: {}", shortest.join(", ")))
}

/// A plan that computes burns the CPU time that its rounds take, in process and over HTTP.
pub(crate) fn compute_burns_cpu(subject: &Subject<'_>) -> Seen {
    let requests = 20;
    let rounds = subject.calibration.rounds(Duration::from_millis(5));
    let plan = plan(&format!("compute={rounds}"));
    let in_process = expect_cpu(subject, "in process", || {
        let result = subject.offer(burst(&plan, requests))?;
        Ok((Duration::from_nanos(result.usage.cpu_ns()), requests * rounds))
    })?;
    if subject.refusal(Ability::Server).is_some() {
        return Ok(in_process);
    }
    let mut serving = subject.serve(server())?;
    let mut client = serving.client()?;
    let over_http = expect_cpu(subject, "over HTTP", || {
        let before = serving.snapshot()?.usage;
        for seed in 0..requests {
            expect_status(&client.get(&run(&plan.to_string(), seed))?, 200, "a plan that computes")?;
        }
        let used = serving.snapshot()?.usage.since(before).cpu_ns();
        Ok((Duration::from_nanos(used), requests * rounds))
    })?;
    serving.stop()?;
    Ok(format!("{in_process}; {over_http}"))
}

/// Holds the CPU time that `load` used against that which its rounds take, both of which it tells. Tries again where it is
/// too little: a processor whose speed changed since it was calibrated is no fault of the runner, and a runner that skips
/// work is short every time.
pub(super) fn expect_cpu(
    subject: &Subject<'_>,
    place: &str,
    mut load: impl FnMut() -> Result<(Duration, u64), Failure>,
) -> Result<String, Failure> {
    let (mut used, mut planned) = (Duration::ZERO, Duration::MAX);
    for _ in 0..CPU_TRIES {
        let rounds;
        (used, rounds) = load()?;
        subject.calibration.refine();
        planned = subject.calibration.cpu(rounds);
        if used >= planned.mul_f64(CPU_SHARE) {
            return Ok(format!("{used:.1?} of CPU {place} for a plan of {planned:.1?}"));
        }
    }
    Err(Failure::Wrong(format!("{used:.1?} of CPU {place} for a plan of {planned:.1?}")))
}

/// The checksum of every request is that of its seed, rounds and steps.
pub(crate) fn checksums_are_right(subject: &Subject<'_>) -> Seen {
    let requests = burst_size(subject);
    let plans = plans(subject);
    let mixed = &plans[3];
    // From the last seeds on they must wrap.
    let loads = plans.iter().map(|plan| (plan, 7)).chain([(mixed, 0), (mixed, u64::MAX - 3)]);
    let mut right = 0;
    for (plan, seed) in loads {
        let mut task = burst(plan, requests);
        task.seed = seed;
        let result = subject.offer(task)?;
        ensure!(
            result.checksums_wrong == 0,
            "{} of {} checksums of /run/{plan} from seed {seed} are wrong",
            result.checksums_wrong,
            result.completed
        );
        ensure!(result.completed == requests, "{} of {requests} completed", result.completed);
        right += result.completed;
    }
    Ok(format!("{right} checksums right"))
}
