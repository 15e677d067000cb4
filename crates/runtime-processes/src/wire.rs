//! What passes between the parent and a worker: a tag and fixed fields, little-endian.
//!
//! Both ends are the same executable, so there is no version, and what cannot be read is a bug.

use std::time::Duration;

use execution_model::server::ServerLimits;
use execution_model::{Answer, BlockingStrategy, Job, Panicked, Plan, Step};

/// What the parent tells a worker.
#[derive(Debug, PartialEq)]
pub(crate) enum ToWorker {
    /// Carry this out, and answer with the number.
    Request { number: u32, job: Job },
    /// Serve with these limits, on the listener whose descriptor comes along with that of the counts.
    Serve { part: u32, parts: u32, limits: [u64; 4] },
    /// Finish what the server has accepted within so many nanoseconds, and end.
    Drain { left_ns: u64 },
    /// No more requests will come: finish those in hand, and end.
    End,
}

/// What a worker tells the parent.
#[derive(Debug, PartialEq)]
pub(crate) enum FromWorker {
    /// It takes requests.
    Ready,
    /// It serves.
    Serving,
    /// A request has ended.
    Answer { number: u32, answer: Result<Answer, Panicked> },
}

/// A message that can be written and read.
pub(crate) trait Message: Sized {
    fn write(&self, out: &mut Vec<u8>);
    /// Reads a message off the front of `bytes`, if it is there whole.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

/// Takes the whole messages off the front of `bytes`.
pub(crate) fn take<M: Message>(bytes: &mut Vec<u8>) -> Vec<M> {
    let mut rest = &bytes[..];
    let mut messages = Vec::new();
    let mut used = 0;
    while let Some(message) = M::read(&mut rest) {
        messages.push(message);
        used = bytes.len() - rest.len();
    }
    bytes.drain(..used);
    messages
}

impl Message for ToWorker {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            ToWorker::Request { number, job } => {
                out.push(b'R');
                out.extend(number.to_le_bytes());
                out.extend(job.seed.to_le_bytes());
                let strategy = BlockingStrategy::ALL.iter().position(|strategy| *strategy == job.strategy);
                out.push(small(strategy.expect("every strategy is among all")));
                out.push(small(job.plan.steps().len()));
                for step in job.plan.steps() {
                    write_step(*step, out);
                }
            }
            ToWorker::Serve { part, parts, limits } => {
                out.push(b'S');
                out.extend(part.to_le_bytes());
                out.extend(parts.to_le_bytes());
                limits.iter().for_each(|limit| out.extend(limit.to_le_bytes()));
            }
            ToWorker::Drain { left_ns } => {
                out.push(b'D');
                out.extend(left_ns.to_le_bytes());
            }
            ToWorker::End => out.push(b'E'),
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<ToWorker> {
        Some(match u8::from_le_bytes(field(bytes)?) {
            b'R' => {
                let number = u32::from_le_bytes(field(bytes)?);
                let seed = u64::from_le_bytes(field(bytes)?);
                let [strategy, steps] = field(bytes)?;
                let steps: Option<Vec<Step>> = (0..steps).map(|_| read_step(bytes)).collect();
                let plan = Plan::new(steps?).expect("it was a plan when it was written");
                let strategy = BlockingStrategy::ALL[usize::from(strategy)];
                ToWorker::Request { number, job: Job { plan, seed, strategy } }
            }
            b'S' => ToWorker::Serve {
                part: u32::from_le_bytes(field(bytes)?),
                parts: u32::from_le_bytes(field(bytes)?),
                limits: [
                    u64::from_le_bytes(field(bytes)?),
                    u64::from_le_bytes(field(bytes)?),
                    u64::from_le_bytes(field(bytes)?),
                    u64::from_le_bytes(field(bytes)?),
                ],
            },
            b'D' => ToWorker::Drain { left_ns: u64::from_le_bytes(field(bytes)?) },
            b'E' => ToWorker::End,
            tag => unreachable!("a parent says no {tag}"),
        })
    }
}

impl Message for FromWorker {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            FromWorker::Ready => out.push(b'R'),
            FromWorker::Serving => out.push(b'S'),
            FromWorker::Answer { number, answer } => {
                out.push(if answer.is_ok() { b'A' } else { b'P' });
                out.extend(number.to_le_bytes());
                if let Ok(answer) = answer {
                    out.extend(answer.steps.to_le_bytes());
                    out.extend(answer.checksum.to_le_bytes());
                }
            }
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<FromWorker> {
        Some(match u8::from_le_bytes(field(bytes)?) {
            b'R' => FromWorker::Ready,
            b'S' => FromWorker::Serving,
            b'A' => {
                let number = u32::from_le_bytes(field(bytes)?);
                let steps = u32::from_le_bytes(field(bytes)?);
                let checksum = u64::from_le_bytes(field(bytes)?);
                FromWorker::Answer { number, answer: Ok(Answer { steps, checksum }) }
            }
            b'P' => FromWorker::Answer { number: u32::from_le_bytes(field(bytes)?), answer: Err(Panicked) },
            tag => unreachable!("a worker says no {tag}"),
        })
    }
}

/// A server's limits as numbers.
pub(crate) fn numbers(limits: &ServerLimits) -> [u64; 4] {
    [limits.in_flight, limits.connections, nanoseconds(limits.idle), nanoseconds(limits.request)]
}

/// The limits that numbers stand for.
pub(crate) fn limits(numbers: [u64; 4]) -> ServerLimits {
    let [in_flight, connections, idle, request] = numbers;
    let (idle, request) = (Duration::from_nanos(idle), Duration::from_nanos(request));
    ServerLimits { in_flight, connections, idle, request }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn write_step(step: Step, out: &mut Vec<u8>) {
    let (kind, value) = match step {
        Step::Wait(duration) => (b'w', nanoseconds(duration)),
        Step::Compute(rounds) => (b'c', rounds),
        Step::Block(duration) => (b'b', nanoseconds(duration)),
        Step::Panic => (b'p', 0),
    };
    out.push(kind);
    out.extend(value.to_le_bytes());
}

fn read_step(bytes: &mut &[u8]) -> Option<Step> {
    let [kind] = field(bytes)?;
    let value = u64::from_le_bytes(field(bytes)?);
    Some(match kind {
        b'w' => Step::Wait(Duration::from_nanos(value)),
        b'c' => Step::Compute(value),
        b'b' => Step::Block(Duration::from_nanos(value)),
        b'p' => Step::Panic,
        _ => unreachable!("there is no step {kind}"),
    })
}

fn field<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (field, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*field)
}

fn small(number: usize) -> u8 {
    u8::try_from(number).expect("a plan has few steps, and strategies are few")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_back<M: Message + std::fmt::Debug + PartialEq>(messages: Vec<M>) {
        let mut whole = Vec::new();
        messages.iter().for_each(|message| message.write(&mut whole));
        // A byte at a time, as a stream may deliver them.
        let (mut arrived, mut read) = (Vec::new(), Vec::<M>::new());
        for byte in whole {
            arrived.push(byte);
            read.append(&mut take(&mut arrived));
        }
        assert_eq!(read, messages);
        assert!(arrived.is_empty());
    }

    #[test]
    fn messages_read_back_however_the_bytes_come() {
        let plan: Plan = "wait=1ms,compute=12,block=3us,panic".parse().unwrap();
        let job = Job { plan, seed: u64::MAX - 1, strategy: BlockingStrategy::InPlace };
        reads_back(vec![
            ToWorker::Request { number: 7, job },
            ToWorker::Serve { part: 1, parts: 2, limits: [3, 4, 5, 6] },
            ToWorker::Drain { left_ns: 9 },
            ToWorker::End,
        ]);
        reads_back(vec![
            FromWorker::Ready,
            FromWorker::Serving,
            FromWorker::Answer { number: 7, answer: Ok(Answer { steps: 3, checksum: u64::MAX }) },
            FromWorker::Answer { number: 8, answer: Err(Panicked) },
        ]);
    }
}
