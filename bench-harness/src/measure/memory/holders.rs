//! The processes that hold idle connections: the harness executed again, so that what the client has is in no look at
//! the server, and its descriptors are none of the server's.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::Context;
use load_driver::http::{Held, HoldSpec};

use crate::exit::Ending;
use crate::interrupt::Interrupt;
use crate::measure::shard::Shard;

/// The holders of one cell. Their connections close when this is dropped.
#[derive(Debug)]
pub(super) struct Holders {
    holders: Vec<Shard>,
}

impl Holders {
    /// Starts `shards` processes, each of which may be asked for `spec.connections_max` connections.
    pub(super) fn start(spec: &HoldSpec, shards: usize) -> io::Result<Holders> {
        let mut holders = Holders { holders: Vec::new() };
        for _ in 0..shards {
            let mut holder = Shard::start(&["hold-shard"])?;
            holder.tell(spec)?;
            holders.holders.push(holder);
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
            holder.tell(&share).map_err(|error| format!("cannot talk to the client: {error}"))?;
        }
        let mut sum = Held::default();
        for holder in &mut self.holders {
            match holder.answer(deadline, interrupt)? {
                Some(held) => sum.merge(held),
                None if interrupt.is_raised() => {
                    return Err("interrupted while connections were opened".to_owned());
                }
                None => return Err("the client did not open its connections in time".to_owned()),
            }
        }
        Ok(sum)
    }
}

/// Parts of a number that never shrink while it grows.
fn shares(connections: u64, shards: u64) -> impl Iterator<Item = u64> {
    (0..shards).map(move |shard| connections / shards + u64::from(shard < connections % shards))
}

/// The hidden command `hold-shard`: a spec on standard input, and then how many connections to have, line by line; on
/// standard output what is held, line by line.
pub(crate) fn hold() -> anyhow::Result<Ending> {
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
