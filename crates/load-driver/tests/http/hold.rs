//! Connections that are held open, on servers that keep them and servers that do not.

use std::thread::sleep;
use std::time::Duration;

use load_driver::http::{Held, HoldSpec, hold};

use crate::servers::{BODY, MS, More, Server, ok, response};

fn spec(server: &Server) -> HoldSpec {
    HoldSpec {
        server: server.address,
        target: "/run/wait=1ms?seed=7".to_owned(),
        expected_body: Some(BODY.to_owned()),
        connections_max: 400,
        timeout_ns: 2_000 * MS,
        spread_sources: true,
    }
}

/// What is held before the first of `steps`, and after each of them.
fn held(spec: &HoldSpec, steps: &[usize]) -> Vec<Held> {
    let (mut seen, mut steps) = (Vec::new(), steps.iter().copied());
    hold(spec, |held| {
        seen.push(held.clone());
        steps.next()
    })
    .expect("held");
    seen
}

#[test]
fn each_connection_serves_one_request_and_stays() {
    let server = Server::constant(ok());
    let seen = held(&spec(&server), &[150, 300, 300, 400]);
    let all = |count| Held { open: count, served: count, ..Held::default() };
    assert_eq!(seen, [all(0), all(150), all(300), all(300), all(400)]);
    assert_eq!(server.accepted(), 400);
}

#[test]
fn a_connection_that_the_server_closes_is_not_held() {
    let asked = Server::constant(response("200 OK", "Connection: close\r\n", BODY));
    let after_a_while = Server::responding(|stream| {
        use std::io::Write as _;
        stream.write_all(&ok()).expect("an open socket");
        More::No
    });
    for server in [asked, after_a_while] {
        let mut looks = 0;
        let mut last = Held::default();
        hold(&spec(&server), |held| {
            last = held.clone();
            looks += 1;
            // The server's end is seen at the next look.
            sleep(Duration::from_millis(200));
            (looks < 3).then_some(5)
        })
        .expect("held");
        assert_eq!((last.open, last.served), (0, 5), "{last:?}");
    }
}

#[test]
fn what_fails_is_counted_and_not_tried_again() {
    let busy = Server::constant(response("503 Service Unavailable", "Retry-After: 1\r\n", ""));
    let last = held(&spec(&busy), &[3]).pop().expect("a look");
    assert_eq!((last.served, last.failed["rejected"], busy.accepted()), (0, 3, 3), "{last:?}");

    let wrong = Server::constant(response("200 OK", "", "{}"));
    let last = held(&spec(&wrong), &[3]).pop().expect("a look");
    assert_eq!((last.served, last.failed["wrong-body"]), (0, 3));
    assert!(last.example.expect("words").contains("another body"));

    let silent = Server::responding(|_| {
        sleep(Duration::from_secs(3));
        More::No
    });
    let last = held(&HoldSpec { timeout_ns: 50 * MS, ..spec(&silent) }, &[3]).pop().expect("a look");
    assert_eq!((last.open, last.served, last.failed["timed-out"]), (0, 0, 3), "{last:?}");

    let nobody = spec(&Server::constant(ok()));
    sleep(Duration::from_millis(100));
    let last = held(&nobody, &[3]).pop().expect("a look");
    assert_eq!((last.open, last.failed["connect-refused"]), (0, 3), "{last:?}");
}

#[test]
fn more_than_announced_is_refused() {
    let server = Server::constant(ok());
    let error = hold(&spec(&server), |_| Some(401)).expect_err("refused").to_string();
    assert!(error.contains("401 connections are more than the 400 announced"), "{error}");
}
