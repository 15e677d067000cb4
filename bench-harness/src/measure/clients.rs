//! The client's processes: the harness executed again, once for each shard of a load, so that client and
//! server do not share a descriptor limit and one client's limit is not the load's.

use std::io::{self, Write};
use std::thread;
use std::time::Instant;

use anyhow::Context;
use cell_control::CellProcess;
use load_driver::http::{HttpLoad, HttpLoadResult, HttpLoadSpec, run};
use load_driver::priority::Priority;
use rustix::process::{Resource, getrlimit};

use super::GLANCE;
use super::shard::Shard;
use crate::exit::Ending;
use crate::interrupt::Interrupt;

/// Descriptors of a client that are no connection.
const DESCRIPTORS_RESERVED: u64 = 32;
/// The most client processes: beyond it, the client and not the server would be what is measured.
const SHARDS_MAX: usize = 32;

/// The client's processes, which are killed and reaped when this is dropped.
#[derive(Debug)]
pub(super) struct Clients {
    shards: Vec<Shard>,
    /// Of the shard at the same place.
    results: Vec<Option<HttpLoadResult>>,
}

/// How many connections one client process can have.
fn shard_size() -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(descriptors.saturating_sub(DESCRIPTORS_RESERVED).max(1)).unwrap_or(usize::MAX)
}

/// How many client processes `requests` at once need, or why they cannot be had.
pub(super) fn shards(requests: u64) -> Result<usize, String> {
    let size = shard_size();
    let shards = usize::try_from(requests).unwrap_or(usize::MAX).div_ceil(size).max(1);
    if shards <= SHARDS_MAX {
        return Ok(shards);
    }
    Err(format!(
        "{requests} connections need {shards} client processes of {size} each (RLIMIT_NOFILE less {DESCRIPTORS_RESERVED}), \
         and {SHARDS_MAX} are the most; raise the limit with `ulimit -n`"
    ))
}

impl Clients {
    /// Starts one process for each shard of `load`. A closed loop has but one: its connections are no schedule to share.
    pub(super) fn start(load: &HttpLoadSpec, shards: usize, priority: Priority) -> io::Result<Clients> {
        let command: &[&str] = match priority {
            Priority::Usual => &["load-shard"],
            Priority::First => &["load-shard", "--first"],
        };
        let mut clients = Clients { shards: Vec::with_capacity(shards), results: vec![None; shards] };
        for shard in 0..shards {
            let mut process = Shard::start(command)?;
            process.tell(&part(load, shard, shards))?;
            clients.shards.push(process);
        }
        Ok(clients)
    }

    /// The processes, by number.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.shards.iter().map(Shard::pid).collect()
    }

    /// Waits for all shards and adds their results up. There is no result without all of them, so that the first one
    /// that fails, or a server that does, ends the wait.
    pub(super) fn collect(
        mut self,
        deadline: Instant,
        interrupt: &Interrupt,
        server: &CellProcess,
    ) -> Result<HttpLoadResult, String> {
        while !self.have_all_answered(interrupt)? {
            if interrupt.is_raised() {
                return Err("interrupted while the client was at work".to_owned());
            }
            if !server.is_running() {
                return Err("the server ended while the client was at work".to_owned());
            }
            if Instant::now() >= deadline {
                return Err("the client did not end in time".to_owned());
            }
            thread::sleep(GLANCE);
        }
        let mut results = self.results.drain(..).flatten();
        let mut sum = results.next().ok_or_else(|| "there was no client".to_owned())?;
        results.for_each(|result| sum.merge(&result));
        Ok(sum)
    }

    /// Takes the results that are there.
    fn have_all_answered(&mut self, interrupt: &Interrupt) -> Result<bool, String> {
        for (shard, result) in self.shards.iter_mut().zip(&mut self.results) {
            if result.is_none() {
                *result = shard.answer(Instant::now(), interrupt)?;
            }
        }
        Ok(self.results.iter().all(Option::is_some))
    }
}

fn part(load: &HttpLoadSpec, shard: usize, shards: usize) -> HttpLoadSpec {
    let mut part = load.clone();
    if let HttpLoad::OneEach { first, stride, .. } | HttpLoad::Open { first, stride, .. } = &mut part.load {
        (*first, *stride) = (shard, shards);
    }
    part
}

/// The hidden command `load-shard`: a spec on standard input, a result as a line on standard output.
pub(crate) fn shard(priority: Priority) -> anyhow::Result<Ending> {
    priority.take();
    let line = io::stdin().lines().next().context("standard input is empty")??;
    let spec: HttpLoadSpec = serde_json::from_str(&line)?;
    let result = run(&spec)?;
    let mut output = io::stdout().lock();
    let line = serde_json::to_string(&result)? + "\n";
    output.write_all(line.as_bytes())?;
    output.flush()?;
    Ok(Ending::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_take_turns_at_one_schedule() {
        let open = HttpLoad::Open {
            rate_per_s: 100.0,
            arrivals: workload::arrivals::Spacing::Poisson,
            seed: 7,
            warmup_ns: 1,
            duration_ns: 1,
            first: 0,
            stride: 1,
        };
        let load = HttpLoadSpec {
            server: "127.0.0.1:80".parse().unwrap(),
            target: "/".into(),
            expected_body: None,
            connections: 1,
            load: open,
            timeout_ns: 1,
            drain_ns: 1,
            cpus: vec![],
            spread_sources: false,
            start_at_monotonic_ns: None,
        };
        let turns = (0..3).map(|shard| match part(&load, shard, 3).load {
            HttpLoad::Open { first, stride, rate_per_s, .. } => (first, stride, rate_per_s.to_string()),
            other => panic!("{other:?}"),
        });
        assert_eq!(turns.collect::<Vec<_>>(), [0, 1, 2].map(|first| (first, 3, "100".to_owned())));
    }

    #[test]
    fn a_load_is_split_by_the_descriptor_limit() {
        assert_eq!(shards(1), Ok(1));
        let size = shard_size() as u64;
        assert_eq!(shards(size), Ok(1));
        assert_eq!(shards(size + 1), Ok(2));
        assert!(shards(size * 33).unwrap_err().contains("ulimit -n"));
    }
}
