//! Connections that have each served a request and are then held open, idle, as many as somebody asks for.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::connection::State;
use super::driver::{Driver, SETUP_CONNECTING_MAX};
use super::{HttpLoad, HttpLoadError, HttpLoadSpec, preflight};
use crate::pace::monotonic_ns;

/// Which connections to hold.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct HoldSpec {
    /// Where the server listens.
    pub server: SocketAddr,
    /// The request target, for example `/run/wait=1ms?seed=7`.
    pub target: String,
    /// The exact body that a 200 must have; none accepts any body.
    pub expected_body: Option<String>,
    /// The most connections that will be asked for.
    pub connections_max: usize,
    /// A connection that has no answer this long after it began to open has failed.
    pub timeout_ns: u64,
    /// As for [`HttpLoadSpec::spread_sources`].
    pub spread_sources: bool,
}

/// What is held.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// Connections that are open and idle now.
    pub open: u64,
    /// Connections that have had their answer so far.
    pub served: u64,
    /// Connections that have not, by class: those of [`HttpLoadResult::errors`](super::HttpLoadResult::errors), and
    /// `rejected` and `timed-out`.
    pub failed: BTreeMap<String, u64>,
    /// What one of them met.
    pub example: Option<String>,
}

impl Held {
    /// Adds what another process holds.
    pub fn merge(&mut self, other: Held) {
        self.open += other.open;
        self.served += other.served;
        for (class, count) in other.failed {
            *self.failed.entry(class).or_default() += count;
        }
        self.example = self.example.take().or(other.example);
    }
}

/// Holds connections. `next` is told what is held, and says how many connections there shall be from then on, at least
/// as many as it asked for before; none closes them all and ends. Meanwhile nothing is sent and nothing is read.
///
/// Each connection is opened for one request, as many at a time as no listen backlog minds. One that fails, or that
/// the server closes, is not opened again: it is missing from what is held.
///
/// # Errors
/// As for [`run`](super::run).
pub fn hold(spec: &HoldSpec, mut next: impl FnMut(&Held) -> Option<usize>) -> Result<(), HttpLoadError> {
    let load = spec.load();
    load.validate()?;
    preflight::check(load.sockets_max())?;
    let mut driver = Driver::new(&load)?;
    driver.tally.set_window(monotonic_ns(), u64::MAX);
    let mut begun = 0;
    while let Some(connections) = next(&driver.held()?) {
        if connections > spec.connections_max {
            let what =
                format!("{connections} connections are more than the {} announced", spec.connections_max);
            return Err(HttpLoadError::InvalidSpec { what });
        }
        driver.begin_connections(&mut begun, connections)?;
    }
    Ok(())
}

impl HoldSpec {
    /// As a load whose connections stay open. It is never run as one: its length does not matter.
    fn load(&self) -> HttpLoadSpec {
        HttpLoadSpec {
            server: self.server,
            target: self.target.clone(),
            expected_body: self.expected_body.clone(),
            connections: self.connections_max,
            load: HttpLoad::Closed { warmup_ns: 0, duration_ns: 1 },
            timeout_ns: self.timeout_ns,
            drain_ns: 0,
            cpus: Vec::new(),
            spread_sources: self.spread_sources,
            start_at_monotonic_ns: None,
        }
    }
}

impl Driver<'_> {
    /// Opens connections until `connections` have begun, each for one request, and waits for all answers.
    fn begin_connections(&mut self, begun: &mut usize, connections: usize) -> Result<(), HttpLoadError> {
        let under_way = SETUP_CONNECTING_MAX as u64;
        while *begun < connections || self.tally.in_flight() > 0 {
            while *begun < connections && self.tally.in_flight() < under_way {
                let now_ns = monotonic_ns();
                self.begin(*begun, now_ns, now_ns);
                *begun += 1;
            }
            let now_ns = monotonic_ns();
            self.handle_deadlines(now_ns);
            // Where all of these have failed there is nothing to wait for.
            self.turn(now_ns, if self.tally.in_flight() == 0 { now_ns } else { u64::MAX })?;
        }
        Ok(())
    }

    /// What is held once all that has happened by now is known.
    fn held(&mut self) -> Result<Held, HttpLoadError> {
        loop {
            let now_ns = monotonic_ns();
            if self.turn(now_ns, now_ns)? == 0 {
                break;
            }
        }
        let open = self.connections.iter().filter(|connection| connection.state == State::Idle).count();
        Ok(Held { open: open as u64, ..self.tally.held() })
    }
}
