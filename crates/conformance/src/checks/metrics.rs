//! `/healthz` and `/metrics`: well-formed, and in agreement with the client and the snapshot.

use workload::ServerCounts;

use crate::client::Client;
use crate::exposition::{Sample, parse_exposition};
use crate::failure::{Failure, Seen, ensure};
use crate::serving::{expect_status, run};
use crate::subject::{Subject, server};

type Count = fn(&ServerCounts) -> u64;

/// Each metric that a server must have, and the count that it shows.
const METRICS: [(&str, Count); 11] = [
    ("requests_in_flight", |counts| counts.in_flight),
    ("requests_queued", |counts| counts.queued),
    ("requests_in_flight_peak", |counts| counts.in_flight_peak),
    ("requests_accepted_total", |counts| counts.accepted),
    ("requests_completed_total", |counts| counts.completed),
    ("requests_rejected_total", |counts| counts.rejected),
    ("requests_failed_total", |counts| counts.failed),
    ("requests_refused_total", |counts| counts.refused),
    ("connections", |counts| counts.connections),
    ("connections_accepted_total", |counts| counts.connections_accepted),
    ("connections_rejected_total", |counts| counts.connections_rejected),
];

/// The three accounts of one load are one.
pub(crate) fn metrics_agree(subject: &Subject<'_>) -> Seen {
    let mut serving = subject.serve(server())?;
    let mut client = serving.client()?;
    let health = client.get("/healthz")?;
    expect_status(&health, 200, "/healthz")?;
    ensure!(health.text() == "ok\n", "/healthz says {:?}", health.text());
    for (path, status) in [
        (run("wait=1ms", 1), 200),
        (run("", 2), 200),
        (run("compute=10", 3), 200),
        (run("panic", 4), 500),
        ("/run/nonsense".into(), 400),
        ("/nowhere".into(), 404),
    ] {
        expect_status(&client.get(&path)?, status, &path)?;
    }
    let done = ServerCounts {
        accepted: 4,
        completed: 3,
        failed: 1,
        refused: 2,
        in_flight_peak: 1,
        connections_accepted: 1,
        connections: 1,
        ..ServerCounts::default()
    };
    agree("after 7 requests", &done, &serving.counts()?, &scrape(&mut client)?)?;

    let waiting = subject.at_most_in_flight(5);
    let asking = serving.asking(waiting, "/run/wait=60s")?;
    let during = ServerCounts {
        accepted: 4 + waiting,
        in_flight: waiting,
        in_flight_peak: waiting,
        connections_accepted: 1 + waiting,
        connections: 1 + waiting,
        ..done
    };
    serving.await_counts("the waiting plans in flight", |counts| counts.in_flight == waiting)?;
    agree("while plans wait", &during, &serving.counts()?, &scrape(&mut client)?)?;
    drop(asking);
    serving.kill();
    Ok(format!("{} metrics agree with the snapshot and the client", METRICS.len()))
}

/// Reads `/metrics`.
pub(crate) fn scrape(client: &mut Client) -> Result<Vec<Sample>, Failure> {
    let response = client.get("/metrics")?;
    expect_status(&response, 200, "/metrics")?;
    let kind = response.field("content-type").unwrap_or_default();
    ensure!(kind.starts_with("text/plain; version=0.0.4"), "/metrics has the content type {kind:?}");
    Ok(parse_exposition(&response.text())?)
}

fn agree(
    when: &str,
    client: &ServerCounts,
    snapshot: &ServerCounts,
    metrics: &[Sample],
) -> Result<(), Failure> {
    for (name, count) in METRICS {
        let (expected, counted) = (count(client), count(snapshot));
        let sample = metrics.iter().find(|sample| sample.name == name);
        let sample = sample.ok_or_else(|| Failure::Wrong(format!("/metrics has no {name}")))?;
        #[expect(clippy::cast_precision_loss, reason = "the counts of a check are small")]
        let shown_right = sample.value == expected as f64;
        ensure!(
            counted == expected && shown_right,
            "{when}, {name}: the client says {expected}, the snapshot {counted}, /metrics {}",
            sample.value
        );
    }
    Ok(())
}
