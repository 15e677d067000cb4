//! The client's processes: the harness executed again, once for each shard of a load, so that client and
//! server do not share a descriptor limit and one client's limit is not the load's.

use std::env;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cell_control::CellProcess;
use load_driver::http::{HttpLoad, HttpLoadResult, HttpLoadSpec, run};
use rustix::process::{Resource, Signal, getrlimit, set_parent_process_death_signal};

use crate::exit::Ending;
use crate::interrupt::Interrupt;

/// Descriptors of a client that are no connection.
const DESCRIPTORS_RESERVED: u64 = 32;
/// The most client processes: beyond it, the client and not the server would be what is measured.
const SHARDS_MAX: usize = 32;
/// The longest result of a shard: five histograms.
const RESULT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The client's processes, which are killed and reaped when this is dropped.
#[derive(Debug)]
pub(super) struct Clients {
    children: Vec<Child>,
    readers: Vec<JoinHandle<Result<String, String>>>,
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
    pub(super) fn start(load: &HttpLoadSpec, shards: usize) -> io::Result<Clients> {
        let executable = env::current_exe()?;
        let mut clients = Clients { children: Vec::new(), readers: Vec::new() };
        for shard in 0..shards {
            let mut child = Command::new(&executable)
                .arg("load-shard")
                // A backtrace would be the last that it says, in the place of its reason.
                .env("RUST_BACKTRACE", "0")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?;
            let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            clients.children.push(child);
            let spec = serde_json::to_vec(&part(load, shard, shards)).map_err(io::Error::other)?;
            if let Some(mut stdin) = stdin {
                stdin.write_all(&spec)?;
            }
            let reader = thread::Builder::new().name("client".into()).spawn(move || {
                let answer = all_of(stdout).map_err(|error| error.to_string())?;
                match answer.is_empty() {
                    false => Ok(answer),
                    true => Err(format!("the client failed{}", said(stderr))),
                }
            })?;
            clients.readers.push(reader);
        }
        Ok(clients)
    }

    /// The processes, by number.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }

    /// Waits for all shards and adds their results up.
    pub(super) fn collect(
        mut self,
        deadline: Instant,
        interrupt: &Interrupt,
        server: &CellProcess,
    ) -> Result<HttpLoadResult, String> {
        while !self.readers.iter().all(JoinHandle::is_finished) {
            if interrupt.is_raised() {
                return Err("interrupted while the client was at work".to_owned());
            }
            if server.has_ended() {
                return Err("the server ended while the client was at work".to_owned());
            }
            if let Some(reason) = self.failed() {
                return Err(reason);
            }
            if Instant::now() >= deadline {
                return Err("the client did not end in time".to_owned());
            }
            thread::sleep(Duration::from_millis(2));
        }
        let mut sum: Option<HttpLoadResult> = None;
        for (child, reader) in self.children.iter_mut().zip(self.readers.drain(..)) {
            let answer =
                reader.join().map_err(|_| "a thread that reads from the client panicked".to_owned())?;
            let answer = answer.map_err(|words| failure(child, words))?;
            let result: HttpLoadResult = serde_json::from_str(&answer)
                .map_err(|error| format!("the client talks nonsense: {error}"))?;
            match &mut sum {
                Some(sum) => sum.merge(&result),
                None => sum = Some(result),
            }
        }
        sum.ok_or_else(|| "there was no client".to_owned())
    }

    /// Why one of the shards has failed while others are still at work.
    fn failed(&mut self) -> Option<String> {
        let shard = self
            .children
            .iter_mut()
            .position(|child| matches!(child.try_wait(), Ok(Some(status)) if !status.success()))?;
        // Its pipes are closed, so that whoever reads from it is at an end as well.
        let words = self.readers.swap_remove(shard).join().ok()?.err().unwrap_or_default();
        Some(failure(&mut self.children[shard], words))
    }
}

/// How a client that gave no result ended.
fn failure(child: &mut Child, words: String) -> String {
    match child.wait().ok().and_then(|status| status.signal()) {
        Some(signal) => format!("the client was killed by signal {signal}"),
        None => words,
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for child in &mut self.children {
            // One that has ended cannot be killed, and is reaped all the same.
            let _ended = child.kill();
            let _reaped = child.wait();
        }
    }
}

fn said(stderr: Option<impl Read>) -> String {
    let words = all_of(stderr).unwrap_or_default();
    words.trim().lines().last().map(|line| format!(": {line}")).unwrap_or_default()
}

/// Standard error is read after standard output: a client writes one line there, which the pipe holds.
fn all_of(pipe: Option<impl Read>) -> io::Result<String> {
    let mut text = String::new();
    if let Some(pipe) = pipe {
        pipe.take(RESULT_BYTES_MAX).read_to_string(&mut text)?;
    }
    Ok(text)
}

fn part(load: &HttpLoadSpec, shard: usize, shards: usize) -> HttpLoadSpec {
    let mut part = load.clone();
    if let HttpLoad::OneEach { first, stride, .. } | HttpLoad::Open { first, stride, .. } = &mut part.load {
        (*first, *stride) = (shard, shards);
    }
    part
}

/// The hidden command `load-shard`: a spec on standard input, a result on standard output.
pub(crate) fn shard() -> anyhow::Result<Ending> {
    // The harness may die before its clients; their load would then disturb whatever comes after it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let spec: HttpLoadSpec = serde_json::from_reader(io::stdin().lock())?;
    let result = run(&spec)?;
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &result)?;
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
