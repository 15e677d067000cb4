//! A handler that panics: it is told, and nothing is lost by it but its own request.

use std::collections::BTreeMap;

use crate::failure::{Seen, ensure};
use crate::serving::{expect_answer, expect_status};
use crate::subject::{Subject, burst, plan, server};

/// How many panics: more than any pool's threads would outlast if each cost one.
const PANICS: u64 = 100;

/// In process, each panic is a failed request, and the workers outlast them.
pub(crate) fn panics_are_told(subject: &Subject<'_>) -> Seen {
    let requests = PANICS + subject.variant.in_flight_limit.map_or(0, |limit| limit.min(500));
    for text in ["panic", "wait=1ms,panic"] {
        let result = subject.offer(burst(&plan(text), requests))?;
        ensure!(
            result.failed == BTreeMap::from([("panicked".to_owned(), requests)]) && result.completed == 0,
            "{requests} x {text}: {} completed, failed {:?}, {} lost, {} unfinished",
            result.completed,
            result.failed,
            result.lost,
            result.unfinished
        );
    }
    Ok(format!("{requests} panics told, twice"))
}

/// Over HTTP, a panic is answered 500 on a connection that goes on, and costs no capacity.
pub(crate) fn panics_are_answered_500(subject: &Subject<'_>) -> Seen {
    let mut serving = subject.serve(server())?;
    let mut client = serving.client()?;
    for number in 0..PANICS {
        let plan = if number % 2 == 0 { "panic" } else { "wait=1ms,panic" };
        let response = client.get(&format!("/run/{plan}"))?;
        expect_status(&response, 500, &format!("panic {number}"))?;
        ensure!(!response.closes(), "panic {number} cost the connection");
    }
    expect_answer(&client.get("/run/wait=1ms?seed=3")?, &plan("wait=1ms"), 3)?;
    let counts = serving.counts()?;
    ensure!(
        (counts.failed, counts.completed, counts.in_flight, counts.queued) == (PANICS, 1, 0, 0),
        "after {PANICS} panics and 1 answer, the server's account is {counts:?}"
    );
    let capacity = subject.variant.in_flight_limit.unwrap_or(100).min(1000);
    // More than the limit where there is one: the kernel spreads connections over processes unevenly, and each
    // has its share of the limit.
    let asked = if subject.variant.in_flight_limit.is_some() { capacity * 8 } else { capacity };
    let _asking = serving.asking(asked, "/run/wait=60s")?;
    serving.await_counts("as many in flight as before the panics", |counts| counts.in_flight == capacity)?;
    serving.kill();
    Ok(format!("{PANICS} x 500 on a connection, and {capacity} in flight after that"))
}
