//! HTTP/1.1 as it may come over the wire: kept connections, pipelines, pieces, old versions.

use std::thread;
use std::time::Duration;

use crate::client::{Client, get};
use crate::failure::{Failure, Seen, ensure};
use crate::serving::{expect_answer, expect_status, run};
use crate::subject::{Subject, plan, server};

/// A connection serves as many requests as it is sent, and closes when it is asked to.
pub(crate) fn keeps_connections(subject: &Subject<'_>) -> Seen {
    let mut serving = subject.serve(server())?;
    let plan = plan("wait=1ms");
    let mut client = serving.client()?;
    for seed in 0..50 {
        let response = client.get(&run("wait=1ms", seed))?;
        expect_answer(&response, &plan, seed)?;
        ensure!(!response.closes(), "request {seed} of a kept connection closes it");
    }
    let opened = serving.counts()?.connections_accepted;
    ensure!(opened == 1, "the server counts {opened} connections");
    client.send("GET /run/wait=1ms?seed=51 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
    let last = client.response()?;
    expect_answer(&last, &plan, 51)?;
    ensure!(last.closes(), "the answer to `Connection: close` does not say so too");
    client.closed()?;
    serving.stop()?;
    Ok("51 requests on a connection".into())
}

/// HTTP/1.0 closes unless it is asked to keep the connection.
pub(crate) fn speaks_http_1_0(subject: &Subject<'_>) -> Seen {
    let serving = subject.serve(server())?;
    let mut client = serving.client()?;
    client.send("GET /run/wait=1ms?seed=3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")?;
    let response = client.response()?;
    expect_answer(&response, &plan("wait=1ms"), 3)?;
    let kept = response.field("connection").is_some_and(|value| value.eq_ignore_ascii_case("keep-alive"));
    ensure!(kept, "a kept connection of HTTP/1.0 is not told so: {:?}", response.fields);
    client.send("GET /run/wait=1ms?seed=4 HTTP/1.0\r\n\r\n")?;
    expect_answer(&client.response()?, &plan("wait=1ms"), 4)?;
    client.closed()?;
    serving.stop()?;
    Ok("kept when asked, closed otherwise".into())
}

/// The answer to `HEAD` is that to `GET` without its body.
pub(crate) fn answers_head(subject: &Subject<'_>) -> Seen {
    let serving = subject.serve(server())?;
    let mut client = serving.client()?;
    for (path, status) in [("/run/wait=1ms", 200), ("/healthz", 200), ("/nowhere", 404)] {
        let whole = client.get(path)?;
        client.send(get(path).replacen("GET", "HEAD", 1))?;
        let (head, length) = client.response_to_head()?;
        expect_status(&head, status, path)?;
        ensure!(
            length == whole.body.len(),
            "HEAD {path} counts {length} bytes, and GET has {}",
            whole.body.len()
        );
    }
    // Had a body followed, this answer would not be read right.
    expect_answer(&client.get(&run("compute=3", 5))?, &plan("compute=3"), 5)?;
    serving.stop()?;
    Ok("HEAD has the length and no body".into())
}

/// Ten requests at once, or byte by byte: ten answers, in order.
pub(crate) fn pipelines(subject: &Subject<'_>) -> Seen {
    let serving = subject.serve(server())?;
    let plans = [
        "wait=20ms",
        "",
        "compute=500",
        "wait=1ms,block=1ms",
        "nonsense",
        "",
        "wait=3ms",
        "",
        "compute=9",
        "",
    ];
    let requests: String = plans.iter().zip(1_u64..).map(|(plan, seed)| get(&run(plan, seed))).collect();

    let mut at_once = serving.client()?;
    at_once.send(&requests)?;
    expect_in_order(&mut at_once, &plans)?;

    let mut byte_by_byte = serving.client()?;
    for byte in requests.as_bytes() {
        byte_by_byte.send([*byte])?;
    }
    expect_in_order(&mut byte_by_byte, &plans)?;

    // The client that is done sending is still owed every answer.
    let mut and_gone = serving.client()?;
    and_gone.send(&requests)?;
    and_gone.finish_sending()?;
    expect_in_order(&mut and_gone, &plans)?;
    and_gone.closed()?;
    serving.stop()?;
    Ok("10 answers in order, three times".into())
}

fn expect_in_order(client: &mut Client, plans: &[&str]) -> Result<(), Failure> {
    for (text, seed) in plans.iter().zip(1..) {
        let response = client.response()?;
        match text.parse() {
            Ok(plan) => expect_answer(&response, &plan, seed)?,
            Err(_) => expect_status(&response, 400, text)?,
        }
    }
    Ok(())
}

/// A request that comes in two pieces is one request, wherever it is cut.
pub(crate) fn takes_pieces(subject: &Subject<'_>) -> Seen {
    let serving = subject.serve(server())?;
    let mut client = serving.client()?;
    let plan = plan("compute=5");
    let request = get(&run("compute=5", 9));
    for cut in 1..request.len() {
        client.send(&request[..cut])?;
        // Long enough for the piece to be read on its own.
        thread::sleep(Duration::from_millis(1));
        client.send(&request[cut..])?;
        let response = client.response()?;
        expect_answer(&response, &plan, 9)
            .map_err(|failure| Failure::Wrong(format!("cut after {cut} bytes: {failure}")))?;
    }
    serving.stop()?;
    Ok(format!("cut at each of {} places", request.len() - 1))
}

/// A client that has closed its sending side still gets what it asked for.
pub(crate) fn answers_a_half_closed_client(subject: &Subject<'_>) -> Seen {
    let mut serving = subject.serve(server())?;
    for text in ["wait=100ms", ""] {
        let mut client = serving.client()?;
        client.ask(&run(text, 6))?;
        client.finish_sending()?;
        expect_answer(&client.response()?, &plan(text), 6)?;
        client.closed()?;
    }
    // One that leaves in the middle of a request, or in the middle of its plan, disturbs nobody.
    for sent in ["GET /run/wa".to_owned(), get("/run/wait=50ms")] {
        let mut client = serving.client()?;
        client.send(sent)?;
        drop(client);
    }
    expect_status(&serving.client()?.get("/healthz")?, 200, "a request after clients that left")?;
    serving.await_counts("no connection and nothing in flight", |counts| {
        (counts.connections, counts.in_flight, counts.queued) == (0, 0, 0)
    })?;
    serving.stop()?;
    Ok("answered, and forgotten when gone".into())
}
