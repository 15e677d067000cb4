//! How many requests are in flight at one time, on how many threads, and what happens beyond.

use std::thread;
use std::time::{Duration, Instant};

use cell_protocol::Ability;

use crate::failure::{Failure, Seen, ensure};
use crate::proc;
use crate::subject::{Subject, burst, plan, server};

/// Threads that a runner may have beside its workers: main, generator, accept loop, timers, signals.
const THREADS_BESIDE: u64 = 8;
/// How many requests wait while threads are counted.
const WAITING: u64 = 1000;

/// The peak is the declared limit, or all that were offered where there is none.
pub(crate) fn peak_is_the_limit(subject: &Subject<'_>) -> Seen {
    let limit = subject.variant.in_flight_limit;
    // Without a limit: as many as a thread each can be had for.
    let requests = limit.map_or(200, |limit| 2 * limit + 10);
    let expected = limit.unwrap_or(requests);
    let mut peak = 0;
    // Where the first are over before the last has begun, the machine was slow, and longer waits tell.
    for wait in ["wait=300ms", "wait=1s", "wait=4s"] {
        let result = subject.offer(burst(&plan(wait), requests))?;
        ensure!(result.completed == requests, "{} of {requests} completed", result.completed);
        peak = result.in_flight_peak;
        if peak >= expected {
            break;
        }
    }
    ensure!(
        peak == expected,
        "{requests} at once had a peak of {peak} in flight, and the declared limit is {limit:?}"
    );
    Ok(format!("{peak} in flight of {requests}"))
}

/// Threads do not grow with waiting requests, or are declared to. Otherwise a pool hides behind the waits.
pub(crate) fn threads_while_waiting(subject: &Subject<'_>) -> Seen {
    let in_process = threads_in_process(subject)?;
    if subject.refusal(Ability::Server).is_some() {
        return Ok(in_process);
    }
    Ok(format!("{in_process}; {}", threads_over_http(subject)?))
}

fn threads_in_process(subject: &Subject<'_>) -> Result<String, Failure> {
    let requests = subject.variant.in_flight_limit.map_or(WAITING, |limit| (limit * 2).min(WAITING));
    let mut most = 0;
    let result = subject.offer_and_watch(burst(&plan("wait=1s"), requests), |cell| {
        // The first wait ends a second from now at the earliest, and the burst needs some of that.
        let until = Instant::now() + Duration::from_millis(950);
        while Instant::now() < until {
            most = most.max(proc::threads(cell.pid())?);
            thread::sleep(Duration::from_millis(25));
        }
        Ok(())
    })?;
    ensure!(result.completed == requests, "{} of {requests} completed", result.completed);
    expect_few_threads(subject, "in process", requests, most)
}

fn threads_over_http(subject: &Subject<'_>) -> Result<String, Failure> {
    let mut serving = subject.serve(server())?;
    let _asking = serving.asking(WAITING, "/run/wait=60s")?;
    let counts = serving.await_counts("1,000 plans in flight or queued", |counts| {
        counts.in_flight + counts.queued == WAITING && counts.in_flight == subject.at_most_in_flight(WAITING)
    })?;
    let threads = proc::threads(serving.pid())?;
    serving.kill();
    // Here, where all wait at one time for certain, a thread each must be true where it is declared.
    ensure!(
        !subject.variant.thread_per_request || threads >= counts.in_flight,
        "{threads} OS threads for {} requests in flight over HTTP, and a thread each is declared",
        counts.in_flight
    );
    expect_few_threads(subject, "over HTTP", WAITING, threads)
}

fn expect_few_threads(
    subject: &Subject<'_>,
    place: &str,
    requests: u64,
    threads: u64,
) -> Result<String, Failure> {
    let declared = match subject.variant.in_flight_limit {
        _ if subject.variant.thread_per_request => requests,
        Some(limit) => limit,
        None => 0,
    };
    let most = declared + subject.workers as u64 + THREADS_BESIDE;
    ensure!(
        threads <= most,
        "{threads} OS threads while {requests} requests wait {place}, and {most} are what is declared"
    );
    Ok(format!("{threads} OS threads for {requests} requests {place}"))
}

/// A full queue hands requests back by name, and the rest completes.
pub(crate) fn full_queue_is_told(subject: &Subject<'_>) -> Seen {
    let queue = 8;
    let beyond = 50;
    let requests = subject.variant.in_flight_limit.unwrap_or(100) + queue + beyond;
    let mut task = burst(&plan("wait=500ms"), requests);
    task.queue_capacity = usize::try_from(queue).unwrap_or(usize::MAX);
    let result = subject.offer(task)?;
    let rejected: u64 = result.rejected.values().sum();
    ensure!(
        result.completed + rejected == requests && result.lost == 0,
        "of {requests} requests, {} completed, {:?} rejected, {} lost, {} unfinished",
        result.completed,
        result.rejected,
        result.lost,
        result.unfinished
    );
    ensure!(
        result.rejected.keys().all(|reason| reason == "queue-full"),
        "a burst beyond the queue was rejected as {:?}",
        result.rejected
    );
    ensure!(
        result.rejection_example.is_some() == (rejected > 0),
        "{rejected} rejected, and what was said is {:?}",
        result.rejection_example
    );
    if subject.variant.in_flight_limit.is_some() {
        ensure!(
            rejected >= beyond && result.completed >= queue,
            "{requests} at once with a queue of {queue}: {rejected} rejected"
        );
    }
    Ok(format!("{} completed, {rejected} rejected", result.completed))
}
