//! Time limits of connections: of idle ones, and of requests that do not arrive.

use std::thread;
use std::time::{Duration, Instant};

use crate::client::get;
use crate::failure::{Seen, ensure};
use crate::serving::{expect_answer, expect_status};
use crate::subject::{Subject, ns, plan, server};

const LIMIT: Duration = Duration::from_millis(500);
/// Loose: limits of seconds need not be looked at often, and the machine may be busy.
const AT_MOST: Duration = Duration::from_secs(5);

/// A connection on which nothing happens is closed without a word, new or used.
pub(crate) fn idle_connections_close(subject: &Subject<'_>) -> Seen {
    let mut task = server();
    task.idle_timeout_ns = ns(LIMIT);
    let mut serving = subject.serve(task)?;
    let opened = Instant::now();
    let mut new = serving.client()?;
    let mut used = serving.client()?;
    expect_status(&used.get("/healthz")?, 200, "/healthz")?;
    // A plan that takes longer than the limit is no idleness.
    let mut busy = serving.client()?;
    busy.ask("/run/wait=1200ms")?;
    for (what, client) in [("a new", &mut new), ("a used", &mut used)] {
        client.closed()?;
        let after = opened.elapsed();
        ensure!(
            after >= LIMIT,
            "{what} connection was closed after {after:?}, before its limit of {LIMIT:?}"
        );
        ensure!(after < AT_MOST, "{what} connection was closed after {after:?}, and its limit is {LIMIT:?}");
    }
    let took = opened.elapsed();
    expect_answer(&busy.response()?, &plan("wait=1200ms"), 0)?;
    busy.closed()?;
    serving.await_counts("no connection", |counts| counts.connections == 0)?;
    serving.stop()?;
    Ok(format!("closed after {took:.2?}, with a limit of {LIMIT:?}"))
}

/// A request that does not arrive whole in time is answered 408, also where it keeps trickling in.
pub(crate) fn slow_requests_are_answered_408(subject: &Subject<'_>) -> Seen {
    let mut task = server();
    task.request_timeout_ns = ns(LIMIT);
    let serving = subject.serve(task)?;
    let mut long = serving.client()?;
    // The limit is of the request's arrival, not of its plan.
    long.ask("/run/wait=1200ms")?;

    let mut stalled = serving.client()?;
    let begin = Instant::now();
    stalled.send("GET /run/wait=1ms HT")?;
    let mut trickling = serving.client()?;
    trickling.send("GET /healthz HTTP/1.1\r\nX: ")?;
    // A byte each 50 ms, for twice the limit: each must not start the time anew.
    let mut writer = trickling.duplicate()?;
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..20 {
                thread::sleep(Duration::from_millis(50));
                // It fails once the server has closed the connection.
                let _closed = writer.send("x");
            }
        });
        for (what, client) in [("a stalled", &mut stalled), ("a trickling", &mut trickling)] {
            let response = client.response()?;
            let after = begin.elapsed();
            expect_status(&response, 408, what)?;
            ensure!(response.closes(), "{what} request leaves the connection open");
            ensure!(after >= LIMIT, "{what} request was given up after {after:?}, before its {LIMIT:?}");
            ensure!(
                after < AT_MOST,
                "{what} request was given up after {after:?}, and its limit is {LIMIT:?}"
            );
        }
        Ok::<_, crate::failure::Failure>(())
    })?;
    stalled.closed()?;
    expect_answer(&long.response()?, &plan("wait=1200ms"), 0)?;
    drop(long);
    serving.stop()?;
    Ok(format!("408 with a limit of {LIMIT:?}, to a stalled and to a trickling request"))
}

/// A client that asks and asks and takes no answer is let go of.
pub(crate) fn untaken_answers_time_out(subject: &Subject<'_>) -> Seen {
    const REQUESTS: usize = 8000;
    let mut task = server();
    task.request_timeout_ns = ns(LIMIT);
    let mut serving = subject.serve(task)?;
    let mut client = serving.client()?;
    // So that it is counted as open before it is awaited to be closed.
    expect_status(&client.get("/healthz")?, 200, "/healthz")?;
    let requests = get("/metrics").repeat(REQUESTS);
    let begin = Instant::now();
    let after = thread::scope(|scope| {
        let mut writer = client.duplicate()?;
        // It ends with an error when the server has closed the connection.
        scope.spawn(move || writer.send(requests));
        let let_go = serving.await_counts("no connection", |counts| counts.connections == 0);
        // Where the server keeps the connection, the writer must not keep this check.
        client.finish_both_ways()?;
        let_go?;
        Ok::<_, crate::failure::Failure>(begin.elapsed())
    })?;
    ensure!(
        after >= LIMIT,
        "a client that took no answer was let go of after {after:?}, before its {LIMIT:?}"
    );
    serving.stop()?;
    Ok(format!("let go of after {after:.2?}, with a limit of {LIMIT:?}"))
}
