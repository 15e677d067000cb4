//! A server under test, and what checks do with it again and again.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use cell_control::{CellProcess, End};
use cell_protocol::Snapshot;
use workload::{Plan, ServerCounts};

use crate::client::{Client, Response};
use crate::failure::{Failure, ensure};
use crate::subject::END_GRACE;

/// How long a count may take to become what it must.
const COUNT_LIMIT: Duration = Duration::from_secs(15);

/// A cell that serves.
#[derive(Debug)]
pub(crate) struct Serving {
    cell: CellProcess,
    address: SocketAddr,
    drain: Duration,
}

impl Serving {
    pub(crate) fn new(cell: CellProcess, address: SocketAddr, drain: Duration) -> Serving {
        Serving { cell, address, drain }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn pid(&self) -> u32 {
        self.cell.pid()
    }

    pub(crate) fn client(&self) -> Result<Client, Failure> {
        Ok(Client::connect(self.address)?)
    }

    pub(crate) fn clients(&self, number: u64) -> Result<Vec<Client>, Failure> {
        (0..number).map(|_| self.client()).collect()
    }

    /// As many connections, each with a request on its way.
    pub(crate) fn asking(&self, number: u64, path: &str) -> Result<Vec<Client>, Failure> {
        let mut clients = self.clients(number)?;
        for client in &mut clients {
            client.ask(path)?;
        }
        Ok(clients)
    }

    pub(crate) fn snapshot(&mut self) -> Result<Snapshot, Failure> {
        Ok(self.cell.snapshot()?)
    }

    pub(crate) fn counts(&mut self) -> Result<ServerCounts, Failure> {
        let counts = self.snapshot()?.server;
        counts.ok_or_else(|| Failure::Wrong("a server's snapshot has no counts".into()))
    }

    /// Waits until the counts are as they must become. `what` says so in words.
    pub(crate) fn await_counts(
        &mut self,
        what: &str,
        mut are_right: impl FnMut(&ServerCounts) -> bool,
    ) -> Result<ServerCounts, Failure> {
        let are_right = |snapshot: &Snapshot| snapshot.server.as_ref().is_some_and(&mut are_right);
        Ok(self.await_snapshot(what, are_right)?.server.unwrap_or_default())
    }

    /// Waits until a snapshot is as it must become. `what` says so in words.
    pub(crate) fn await_snapshot(
        &mut self,
        what: &str,
        mut is_right: impl FnMut(&Snapshot) -> bool,
    ) -> Result<Snapshot, Failure> {
        let deadline = Instant::now() + COUNT_LIMIT;
        loop {
            let snapshot = self.snapshot()?;
            if is_right(&snapshot) {
                return Ok(snapshot);
            }
            ensure!(Instant::now() < deadline, "the server never came to {what}: {snapshot:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends the cell, which must have nothing unfinished.
    pub(crate) fn stop(self) -> Result<(), Failure> {
        let end = self.end()?;
        let unfinished = end.stopped.unfinished;
        ensure!(unfinished == 0, "{unfinished} requests were unfinished when the server stopped");
        Ok(())
    }

    /// Ends the cell, whatever is unfinished.
    pub(crate) fn end(self) -> Result<End, Failure> {
        Ok(self.cell.stop(self.drain + END_GRACE)?)
    }

    /// Kills it: what is still in flight is not worth waiting for.
    pub(crate) fn kill(self) {
        self.cell.kill();
    }
}

/// The path of a plan.
pub(crate) fn run(plan: &str, seed: u64) -> String {
    format!("/run/{plan}?seed={seed}")
}

/// Holds a response against the status that it must have.
pub(crate) fn expect_status(response: &Response, status: u16, to: &str) -> Result<(), Failure> {
    ensure!(
        response.status == status,
        "{to} was answered {} {:?}, not {status}",
        response.status,
        response.text().trim()
    );
    Ok(())
}

/// Holds a response against the answer that the plan must have: the steps and the checksum.
pub(crate) fn expect_answer(response: &Response, plan: &Plan, seed: u64) -> Result<(), Failure> {
    let to = format!("/run/{plan}?seed={seed}");
    expect_status(response, 200, &to)?;
    let kind = response.field("content-type");
    ensure!(kind == Some("application/json"), "{to} was answered with the content type {kind:?}");
    let text = response.text();
    let body: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Failure::Wrong(format!("{to} was answered {text:?}: {error}")))?;
    let steps = body["steps"].as_u64();
    ensure!(
        steps == Some(plan.steps().len() as u64),
        "{to} was answered {text:?}, but it has {} steps",
        plan.steps().len()
    );
    let checksum = format!("{:016x}", plan.checksum(seed));
    ensure!(
        body["checksum"].as_str() == Some(&checksum),
        "{to} was answered {text:?}, but its checksum is {checksum}"
    );
    Ok(())
}
