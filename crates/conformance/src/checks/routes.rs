//! What each path answers.

use std::time::{Duration, Instant};

use workload::http::HEAD_BYTES_MAX;

use crate::client::get;
use crate::failure::{Seen, ensure};
use crate::serving::{expect_answer, expect_status, run};
use crate::subject::{Subject, plan, server};

/// `/run` carries out the plan in the URL and proves it.
pub(crate) fn answers_plans(subject: &Subject<'_>) -> Seen {
    let serving = subject.serve(server())?;
    let mut client = serving.client()?;
    let most = ["wait=1ms"; workload::STEPS_MAX].join(",");
    let texts =
        ["", "wait=30ms", "compute=1000", "block=3ms", "wait=10ms,compute=77,block=2ms,wait=10ms", &most];
    let mut answers = 0;
    for text in texts {
        let plan = plan(text);
        for seed in [0, 7, u64::MAX] {
            let begin = Instant::now();
            expect_answer(&client.get(&run(text, seed))?, &plan, seed)?;
            let took = begin.elapsed();
            ensure!(took >= plan.least_duration(), "{plan} was answered after {took:?}");
            answers += 1;
        }
    }
    // As a browser, a proxy and a client without parameters write it.
    let plan = plan("wait=1ms,compute=5");
    for path in ["/run/wait%3D1ms%2Ccompute%3d5", "http://localhost/run/wait=1ms,compute=5"] {
        expect_answer(&client.get(path)?, &plan, 0)?;
        answers += 1;
    }
    serving.stop()?;
    Ok(format!("{answers} answers right"))
}

/// What is wrong with a request is named, and does not cost the connection where HTTP lets it live.
pub(crate) fn names_what_is_wrong(subject: &Subject<'_>) -> Seen {
    let serving = subject.serve(server())?;
    let mut client = serving.client()?;
    for (path, status, reason) in [
        ("/run/sleep=1s", 400, "wait, compute, block and panic"),
        ("/run/wait=fast", 400, "is not a duration"),
        ("/run/wait=601s", 400, "last 601s together"),
        ("/run/wait=400s,block=201s", 400, "last 601s together"),
        ("/run/compute=1500000000,compute=1500000000", 400, "3000000000 rounds together"),
        ("/run/compute=x", 400, "number of rounds"),
        ("/run/wait=1ms?seed=x", 400, "bad seed"),
        ("/run/wait=1ms?strategy=x", 400, "inline, offload and in-place"),
        ("/run/wait=1ms?sede=1", 400, "unknown parameter"),
        ("/", 404, "/run/PLAN or /image/LANE, /healthz and /metrics"),
        ("/run", 404, "/run/PLAN or /image/LANE, /healthz and /metrics"),
    ] {
        let response = client.get(path)?;
        expect_status(&response, status, path)?;
        let said = response.text();
        ensure!(said.contains(reason), "{path} is refused with {said:?}, which does not say {reason:?}");
        ensure!(!response.closes(), "{path} cost the connection");
    }
    client.send("POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")?;
    let response = client.response()?;
    expect_status(&response, 405, "POST")?;
    ensure!(response.field("allow") == Some("GET, HEAD"), "405 allows {:?}", response.field("allow"));
    client.send("GET /healthz HTTP/1.1\r\n\r\n")?;
    let response = client.response()?;
    expect_status(&response, 400, "a request without Host")?;
    ensure!(response.text().contains("Host"), "a request without Host is refused with {:?}", response.text());
    expect_status(&client.get("/healthz")?, 200, "a request after all of them")?;

    for (what, request) in [
        ("a body", "GET /healthz HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"),
        (
            "a chunked body",
            "GET /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        ),
        ("no HTTP", "\u{1}\u{2}\u{3}\r\n\r\n"),
    ] {
        let mut client = serving.client()?;
        client.send(request)?;
        let response = client.response()?;
        expect_status(&response, 400, what)?;
        ensure!(response.closes(), "{what} leaves the connection open, though where it ends is unknown");
        client.finish_sending()?;
        client.closed()?;
    }
    serving.stop()?;
    Ok("400, 404 and 405 with their reasons".into())
}

/// A head over the limit is answered 431, which arrives whole although the client is still sending.
pub(crate) fn refuses_long_heads(subject: &Subject<'_>) -> Seen {
    let serving = subject.serve(server())?;
    // Just within the limit is served.
    let short = get("/healthz");
    let mut padded = short.trim_end().to_owned() + "\r\nX-Pad: ";
    padded.push_str(&"p".repeat(HEAD_BYTES_MAX - padded.len() - 4));
    padded.push_str("\r\n\r\n");
    let mut client = serving.client()?;
    client.send(&padded)?;
    expect_status(&client.response()?, 200, "a head of 8 KiB")?;

    for (what, request) in [
        ("a long path", format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(64 * 1024))),
        ("a long field", format!("GET / HTTP/1.1\r\nX-Pad: {}\r\n\r\n", "a".repeat(64 * 1024))),
        ("many fields", format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(5000))),
    ] {
        let mut client = serving.client()?;
        client.send(&request)?;
        // What is sent must reach the server before the answer is read: that is when a careless
        // server resets the connection.
        std::thread::sleep(Duration::from_millis(50));
        let response = client.response()?;
        expect_status(&response, 431, what)?;
        ensure!(response.closes(), "{what} leaves the connection open");
        client.closed()?;
    }
    serving.stop()?;
    Ok("3 heads answered 431 whole".into())
}
