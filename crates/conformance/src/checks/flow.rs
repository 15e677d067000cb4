//! Connections beside one another: waiting, idle and slow ones do not hold up the rest.

use std::thread;
use std::time::{Duration, Instant};

use crate::client::get;
use crate::failure::{Failure, Seen, ensure};
use crate::proc;
use crate::serving::{expect_answer, expect_status};
use crate::subject::{Subject, plan, server};

/// Requests wait beside one another, not one after the other.
pub(crate) fn waits_overlap(subject: &Subject<'_>) -> Seen {
    let serving = subject.serve(server())?;
    let requests = subject.variant.in_flight_limit.map_or(100, |limit| (2 * limit).min(100));
    let plan = plan("wait=200ms");
    let least = subject.least_elapsed(requests, &plan);
    let mut clients = serving.clients(requests)?;
    let begin = Instant::now();
    for client in &mut clients {
        client.ask("/run/wait=200ms")?;
    }
    for client in &mut clients {
        expect_answer(&client.response()?, &plan, 0)?;
    }
    let took = begin.elapsed();
    ensure!(took >= least, "{requests} x {plan} took {took:?}, less than the least, {least:?}");
    let most = least * 4 + Duration::from_secs(2);
    ensure!(took < most, "{requests} x {plan} took {took:?}, and {least:?} is what they need");
    serving.stop()?;
    Ok(format!("{requests} x {plan} in {took:.2?}"))
}

/// Idle connections, more than there are workers or places, do not keep a new one from being served.
pub(crate) fn idle_connections_cost_no_worker(subject: &Subject<'_>) -> Seen {
    let serving = subject.serve(server())?;
    let number = subject.variant.in_flight_limit.map_or(300, |limit| (limit + 50).min(1000));
    let mut idle = serving.clients(number)?;
    // Half of them have been served before, as a browser's or a proxy's would have been.
    for client in idle.iter_mut().step_by(2) {
        expect_status(&client.get("/healthz")?, 200, "/healthz")?;
    }
    let begin = Instant::now();
    expect_answer(&serving.client()?.get("/run/wait=1ms?seed=2")?, &plan("wait=1ms"), 2)?;
    let took = begin.elapsed();
    ensure!(took < Duration::from_secs(2), "a request beside {number} idle connections took {took:?}");
    for client in &mut idle {
        client.ask("/run/")?;
    }
    for client in &mut idle {
        expect_answer(&client.response()?, &plan(""), 0)?;
    }
    drop(idle);
    serving.stop()?;
    Ok(format!("served in {took:.2?} beside {number} idle connections"))
}

/// Clients that ask for much and read late get all of it, from a server that has not piled it up.
pub(crate) fn slow_readers_get_everything(subject: &Subject<'_>) -> Seen {
    const REQUESTS: usize = 8000;
    const GROWTH_MAX: u64 = 6 * 1024 * 1024;
    let serving = subject.serve(server())?;
    let mut other = serving.client()?;
    let length = other.get("/metrics")?.body.len();
    let before = proc::resident_bytes(serving.pid())?;
    let mut readers = serving.clients(2)?;
    let requests = get("/metrics").repeat(REQUESTS);
    let growth = thread::scope(|scope| {
        for reader in &mut readers {
            let mut writer = reader.duplicate()?;
            let requests = &requests;
            // It ends with an error where the check has failed and the server is gone.
            scope.spawn(move || writer.send(requests));
        }
        // Long enough for the buffers between to fill, or for a careless server to pile answers up.
        thread::sleep(Duration::from_millis(700));
        let growth = proc::resident_bytes(serving.pid())?.saturating_sub(before);
        let healthy = other.get("/healthz");
        for reader in &mut readers {
            for _ in 0..REQUESTS {
                expect_status(&reader.response()?, 200, "a pipelined /metrics")?;
            }
        }
        expect_status(&healthy?, 200, "/healthz beside slow readers")?;
        Ok::<_, Failure>(growth)
    })?;
    ensure!(
        growth < GROWTH_MAX,
        "the server grew by {growth} bytes while 2 clients that had asked for {} did not read",
        2 * REQUESTS * length
    );
    serving.stop()?;
    Ok(format!("2 x {REQUESTS} answers whole, {} KiB of growth meanwhile", growth / 1024))
}
