//! A server's limits: beyond them, each is told at once, and within them, nobody notices.

use crate::client::Response;
use crate::failure::{Failure, Seen, ensure};
use crate::serving::{expect_answer, expect_status};
use crate::subject::{Subject, plan, server};

/// N + k at once with a limit of N: N times 200 and k times 503.
pub(crate) fn in_flight_limit(subject: &Subject<'_>) -> Seen {
    const WAIT: &str = "wait=1500ms";
    let limit = subject.variant.in_flight_limit.map_or(16, |limit| (2 * limit).min(16));
    let beyond = 24;
    let mut task = server();
    task.in_flight_limit = limit;
    let mut serving = subject.serve(task)?;
    let mut clients = serving.asking(limit + beyond, &format!("/run/{WAIT}?seed=1"))?;
    let mut turned_away = 0;
    for client in &mut clients {
        let response = client.response()?;
        if response.status == 503 {
            turned_away += 1;
            expect_turned_away(&response)?;
        } else {
            expect_answer(&response, &plan(WAIT), 1)?;
        }
    }
    ensure!(
        turned_away == beyond,
        "of {} requests at once with a limit of {limit}, {turned_away} were answered 503",
        limit + beyond
    );
    let counts = serving.counts()?;
    ensure!(
        (counts.accepted, counts.completed, counts.rejected) == (limit, limit, beyond)
            && counts.in_flight_peak <= limit,
        "the server's account is {counts:?}"
    );
    // A place that was given back is free again, and a connection that was turned away is not lost.
    for client in &mut clients {
        expect_answer(&client.get("/run/wait=1ms?seed=2")?, &plan("wait=1ms"), 2)?;
    }
    drop(clients);
    serving.stop()?;
    Ok(format!("{limit} x 200 and {beyond} x 503"))
}

fn expect_turned_away(response: &Response) -> Result<(), Failure> {
    let retry = response.field("retry-after");
    ensure!(retry.is_some_and(|seconds| seconds.parse::<u32>().is_ok()), "a 503 says Retry-After: {retry:?}");
    ensure!(!response.closes(), "a 503 for want of a place costs the connection");
    ensure!(!response.text().trim().is_empty(), "a 503 has no reason");
    Ok(())
}

/// A full queue answers 503 too, and the rest completes.
pub(crate) fn full_queue_answers_503(subject: &Subject<'_>) -> Seen {
    let Some(places) = subject.variant.in_flight_limit else {
        return Ok("no queue: nothing in the model limits what is in flight".into());
    };
    let (queue, beyond) = (4, 20);
    let mut task = server();
    task.queue_capacity = 4;
    let mut serving = subject.serve(task)?;
    let mut clients = serving.asking(places + queue + beyond, "/run/wait=700ms")?;
    let (mut completed, mut rejected) = (0, 0);
    for client in &mut clients {
        let response = client.response()?;
        if response.status == 503 {
            rejected += 1;
            expect_turned_away(&response)?;
        } else {
            expect_answer(&response, &plan("wait=700ms"), 0)?;
            completed += 1;
        }
    }
    ensure!(
        rejected >= beyond && completed >= queue,
        "with {places} places and a queue of {queue}, {completed} completed and {rejected} were rejected"
    );
    let counts = serving.counts()?;
    ensure!(
        (counts.completed, counts.rejected, counts.in_flight, counts.queued) == (completed, rejected, 0, 0),
        "the client saw {completed} completed and {rejected} rejected, and the server says {counts:?}"
    );
    drop(clients);
    serving.stop()?;
    Ok(format!("{completed} x 200 and {rejected} x 503"))
}

/// A connection over the limit is told 503 and closed; one that closes makes room.
pub(crate) fn connection_limit(subject: &Subject<'_>) -> Seen {
    const LIMIT: u64 = 3;
    let mut task = server();
    task.connections_max = LIMIT;
    let mut serving = subject.serve(task)?;
    let mut clients = serving.clients(LIMIT)?;
    for client in &mut clients {
        expect_status(&client.get("/healthz")?, 200, "/healthz within the limit")?;
    }
    let mut one_too_many = serving.client()?;
    let response = one_too_many.response()?;
    expect_status(&response, 503, "a connection over the limit")?;
    ensure!(response.closes(), "the 503 of a connection over the limit does not say that it closes");
    ensure!(response.field("retry-after").is_some(), "it says nothing of when to retry");
    one_too_many.closed()?;
    expect_status(&clients[0].get("/healthz")?, 200, "a connection within the limit")?;

    drop(clients.pop());
    serving.await_counts("a free place", |counts| counts.connections < LIMIT)?;
    let mut next = serving.client()?;
    expect_status(&next.get("/healthz")?, 200, "a connection after one has closed")?;
    let rejected = serving.counts()?.connections_rejected;
    ensure!(rejected == 1, "the server counts {rejected} connections over its limit");
    drop((clients, next));
    serving.stop()?;
    Ok(format!("connection {} was told 503 and closed", LIMIT + 1))
}
