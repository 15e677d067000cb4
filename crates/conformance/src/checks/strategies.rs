//! What becomes of a blocking step under each strategy that a variant has, and of those that it has not.

use std::time::Duration;

use cell_protocol::{ArrivalsTask, CellSpec, Task};
use workload::BlockingStrategy;

use crate::failure::{Failure, Seen, ensure};
use crate::serving::{expect_answer, expect_status};
use crate::subject::{Subject, burst, ns, plan, server};

/// In process: a strategy is carried out, or refused with the reason that the description has.
pub(crate) fn strategies_in_process(subject: &Subject<'_>) -> Seen {
    let mut seen = Vec::new();
    for strategy in BlockingStrategy::ALL {
        let mut task = burst(&plan("wait=5ms,block=250ms"), 8);
        task.strategy = strategy;
        if let Some(reason) = subject.refuses(strategy) {
            let Err(failure) = subject.start(Task::Arrivals(task), Duration::from_secs(1)) else {
                return Err(Failure::Wrong(format!(
                    "{strategy} is refused, and the cell starts all the same"
                )));
            };
            let said = failure.to_string();
            ensure!(said.contains(reason), "{strategy} is refused with {said:?}, not with {reason:?}");
            seen.push(format!("{strategy} refused"));
            continue;
        }
        let plan = task.plan.clone();
        let result = subject.offer(task)?;
        ensure!(
            (result.completed, result.checksums_wrong, result.lost) == (8, 0, 0),
            "{strategy}: of 8, {} completed, {} lost, {} checksums wrong",
            result.completed,
            result.lost,
            result.checksums_wrong
        );
        let elapsed = Duration::from_nanos(result.elapsed_ns);
        ensure!(
            result.elapsed_ns >= ns(plan.least_duration()),
            "{strategy}: {plan} was over after {elapsed:?}"
        );
        if strategy != BlockingStrategy::Inline && subject.variant.in_flight_limit.is_none() {
            // One after the other they take 2 s.
            ensure!(
                elapsed < Duration::from_millis(1500),
                "{strategy}: 8 blocks of 250 ms took {elapsed:?}: they held one another up"
            );
        }
        seen.push(format!("{strategy} {elapsed:.2?}"));
    }
    Ok(seen.join(", "))
}

/// Two threads to offload to hold two blocks at one time; where nothing can be offloaded, they are refused.
pub(crate) fn offload_threads_are_a_limit(subject: &Subject<'_>) -> Seen {
    const THREADS: usize = 2;
    const BLOCKS: u64 = 6;
    let mut task = burst(&plan("block=100ms"), BLOCKS);
    let refusal = subject.refuses(BlockingStrategy::Offload);
    let of_its_own = subject.variant.offload_threads;
    ensure!(
        of_its_own.is_some() == refusal.is_none(),
        "it has {of_its_own:?} threads to offload to, and refuses to offload with {refusal:?}"
    );
    if let Some(reason) = refusal {
        let spec = spec(subject, task, THREADS);
        let Err(failure) = subject.start_spec(&spec) else {
            return Err(Failure::Wrong("offloading is refused, and threads for it are taken".into()));
        };
        let said = failure.to_string();
        ensure!(
            said.contains(reason),
            "threads to offload to are refused with {said:?}, not with {reason:?}"
        );
        return Ok("refused".into());
    }
    task.strategy = BlockingStrategy::Offload;
    let mut cell = subject.start_spec(&spec(subject, task, THREADS))?;
    cell.go()?;
    let result = cell.result(Duration::from_secs(60))?;
    cell.stop(Duration::from_secs(10))?;
    let elapsed = Duration::from_nanos(result.elapsed_ns);
    ensure!(result.completed == BLOCKS, "{} of {BLOCKS} completed", result.completed);
    ensure!(
        elapsed >= Duration::from_millis(300),
        "{BLOCKS} blocks of 100 ms on {THREADS} threads were over after {elapsed:?}"
    );
    // Where they were one thread, or ran inline one by one, they would take 600 ms.
    ensure!(elapsed < Duration::from_millis(550), "{BLOCKS} blocks on {THREADS} threads took {elapsed:?}");
    Ok(format!("{BLOCKS} blocks on {THREADS} threads took {elapsed:.2?}"))
}

fn spec(subject: &Subject<'_>, task: ArrivalsTask, threads: usize) -> CellSpec {
    CellSpec { offload_threads: Some(threads), ..subject.spec(Task::Arrivals(task), Duration::from_secs(1)) }
}

/// Over HTTP: a strategy is carried out, or answered 400 with the reason that the description has.
pub(crate) fn strategies_over_http(subject: &Subject<'_>) -> Seen {
    let serving = subject.serve(server())?;
    let mut client = serving.client()?;
    let plan = plan("block=5ms,compute=1000,wait=5ms");
    let mut seen = Vec::new();
    for strategy in BlockingStrategy::ALL {
        let path = format!("/run/{plan}?strategy={strategy}&seed=11");
        let response = client.get(&path)?;
        match subject.refuses(strategy) {
            Some(reason) => {
                expect_status(&response, 400, &path)?;
                let said = response.text();
                ensure!(said.contains(reason), "{path} is refused with {said:?}, not with {reason:?}");
                seen.push(format!("{strategy} 400"));
            }
            None => {
                expect_answer(&response, &plan, 11)?;
                seen.push(format!("{strategy} 200"));
            }
        }
    }
    serving.stop()?;
    Ok(seen.join(", "))
}
