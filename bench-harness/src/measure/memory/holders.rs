//! The processes that hold idle connections: the harness executed again, so that what the client has is in no look at
//! the server, and its descriptors are none of the server's.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use load_driver::http::{Held, HoldSpec};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::exit::Ending;
use crate::interrupt::Interrupt;

/// The most that a holder says, in bytes: counts, and one example of a failure.
const SAID_BYTES_MAX: u64 = 64 * 1024;
/// How often a wait looks at the interrupt.
const SLICE: Duration = Duration::from_millis(20);

/// The holders of one cell. Their connections close when this is dropped.
#[derive(Debug)]
pub(super) struct Holders {
    holders: Vec<Holder>,
}

#[derive(Debug)]
struct Holder {
    child: Child,
    /// None once it was told to end.
    asks: Option<ChildStdin>,
    says: Receiver<Result<Held, String>>,
}

impl Holders {
    /// Starts `shards` processes, each of which may be asked for `spec.connections_max` connections.
    pub(super) fn start(spec: &HoldSpec, shards: usize) -> io::Result<Holders> {
        let mut holders = Holders { holders: Vec::new() };
        for _ in 0..shards {
            holders.holders.push(Holder::start(spec)?);
        }
        Ok(holders)
    }

    /// Has as many connections in all, each of which has served a request, and says what is held then.
    ///
    /// # Errors
    ///
    /// Why there is no answer, in words.
    pub(super) fn grow_to(
        &mut self,
        connections: u64,
        deadline: Instant,
        interrupt: &Interrupt,
    ) -> Result<Held, String> {
        let shards = self.holders.len() as u64;
        for (holder, share) in self.holders.iter_mut().zip(shares(connections, shards)) {
            holder.ask(share);
        }
        let mut sum = Held::default();
        for holder in &self.holders {
            sum.merge(holder.answer(deadline, interrupt)?);
        }
        Ok(sum)
    }
}

impl Holder {
    fn start(spec: &HoldSpec) -> io::Result<Holder> {
        let mut child = Command::new(env::current_exe()?)
            .arg("hold-shard")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (asks, says, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (tell, told) = channel();
        let mut holder = Holder { child, asks, says: told };
        let mut line = serde_json::to_vec(spec).map_err(io::Error::other)?;
        line.push(b'\n');
        if let Some(asks) = &mut holder.asks {
            asks.write_all(&line)?;
        }
        let listen = move || {
            for line in says.into_iter().flat_map(|says| BufReader::new(says).lines()).map_while(Result::ok) {
                let held = serde_json::from_str(&line);
                // Nobody listens any more once the cell is over.
                let _over = tell.send(held.map_err(|error| format!("the client talks nonsense: {error}")));
            }
            let _over = tell.send(Err(last_words(stderr)));
        };
        thread::Builder::new().name("holder".into()).spawn(listen)?;
        Ok(holder)
    }

    /// Where it has ended, its answer says so.
    fn ask(&mut self, connections: u64) {
        if let Some(asks) = &mut self.asks {
            let _ended = writeln!(asks, "{connections}");
        }
    }

    fn answer(&self, deadline: Instant, interrupt: &Interrupt) -> Result<Held, String> {
        loop {
            match self.says.recv_timeout(SLICE) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if interrupt.is_raised() => {
                    return Err("interrupted while connections were opened".to_owned());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err("the client did not open its connections in time".to_owned());
                }
                Err(RecvTimeoutError::Disconnected) => return Err("the client has ended".to_owned()),
            }
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and is reaped all the same.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn last_words(stderr: Option<impl Read>) -> String {
    let mut words = String::new();
    if let Some(stderr) = stderr {
        let _as_far_as_it_goes = stderr.take(SAID_BYTES_MAX).read_to_string(&mut words);
    }
    format!("the client has ended: {}", words.lines().last().unwrap_or("it said nothing").trim())
}

/// Parts of a number that never shrink while it grows.
fn shares(connections: u64, shards: u64) -> impl Iterator<Item = u64> {
    (0..shards).map(move |shard| connections / shards + u64::from(shard < connections % shards))
}

/// The hidden command `hold-shard`: a spec on standard input, and then how many connections to have, line by line; on
/// standard output what is held, line by line.
pub(crate) fn hold() -> anyhow::Result<Ending> {
    // The harness may die before its clients; their connections would then disturb whatever comes after it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut asked = io::stdin().lines();
    let spec: HoldSpec = serde_json::from_str(&asked.next().context("standard input is empty")??)?;
    let (mut output, mut failed) = (io::stdout().lock(), None);
    let mut is_first = true;
    load_driver::http::hold(&spec, |held| {
        // Before the first number there is nothing to tell.
        let told = if std::mem::take(&mut is_first) { Ok(()) } else { tell(&mut output, held) };
        let next = told.and_then(|()| match asked.next() {
            Some(line) => Ok(Some(line?.parse()?)),
            None => Ok(None),
        });
        next.unwrap_or_else(|error| {
            failed = Some(error);
            None
        })
    })?;
    failed.map_or(Ok(Ending::Done), Err)
}

fn tell(output: &mut impl Write, held: &Held) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *output, held)?;
    output.write_all(b"\n")?;
    Ok(output.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_never_shrink() {
        for shards in 1..=5 {
            let mut before = vec![0; usize::try_from(shards).unwrap()];
            for connections in 0..=40 {
                let now: Vec<u64> = shares(connections, shards).collect();
                assert_eq!(now.iter().sum::<u64>(), connections);
                assert!(
                    now.iter().zip(&before).all(|(now, before)| now >= before),
                    "{now:?} after {before:?}"
                );
                before = now;
            }
        }
    }
}
