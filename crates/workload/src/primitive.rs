//! The primitives that execution models are made of, each of which is measured by itself too.
//!
//! An operation is the same for all; how a model carries it out is its own. What a model has no such thing as is
//! refused, since a stand-in would be measured as what it is not.

use std::time::Duration;

/// How many tasks are started before the first of them is waited for.
pub const SPAWN_BATCH: u64 = 64;

/// How many messages a channel holds, where it is bounded.
pub const CHANNEL_CAPACITY: usize = 64;

/// The shortest wait whose lateness is measured; the longest is twice as long.
const WAIT: Duration = Duration::from_millis(1);

/// Something that every execution model does all the time, and that has a cost of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Primitive {
    /// A task begins and ends.
    SpawnJoin,
    /// One task gives way to another.
    Switch,
    /// A task on one thread wakes one on another.
    Wake,
    /// A message goes through a channel.
    Hop,
    /// Blocking work goes to other threads, and its end comes back.
    Offload,
    /// A timer fires after the time that was asked for.
    Lateness,
}

impl Primitive {
    /// All of them, in the order of reports.
    pub const ALL: [Primitive; 6] = [
        Primitive::SpawnJoin,
        Primitive::Switch,
        Primitive::Wake,
        Primitive::Hop,
        Primitive::Offload,
        Primitive::Lateness,
    ];

    /// The name in commands and files.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Primitive::SpawnJoin => "spawn_join",
            Primitive::Switch => "switch",
            Primitive::Wake => "wake",
            Primitive::Hop => "hop",
            Primitive::Offload => "offload",
            Primitive::Lateness => "lateness",
        }
    }

    /// The name for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Primitive::SpawnJoin => "spawn and join",
            Primitive::Switch => "switch",
            Primitive::Wake => "wake across threads",
            Primitive::Hop => "channel hop",
            Primitive::Offload => "offload round trip",
            Primitive::Lateness => "timer lateness",
        }
    }

    /// What one operation is.
    #[must_use]
    pub const fn operation(self) -> &'static str {
        match self {
            Primitive::SpawnJoin => {
                "a task that does nothing, from its start to its end, 64 started before the first is waited for"
            }
            Primitive::Switch => {
                "one of two tasks on one worker gives way, and the other goes on: each sees that the other has run"
            }
            Primitive::Wake => {
                "half of a round trip between two threads, each of which waits in the model's own way"
            }
            Primitive::Hop => {
                "one of many messages through a channel with room for 64, from a task to another one on whichever worker"
            }
            Primitive::Offload => {
                "work that does nothing goes to the threads for blocking calls, and a task waits for its end"
            }
            Primitive::Lateness => {
                "how much later a wait of 1 to 2 ms ended than was asked for, with one timer at a time"
            }
        }
    }
}

/// The batches in which so many tasks are started: each number is at most [`SPAWN_BATCH`].
pub fn batches(operations: u64) -> impl Iterator<Item = u64> {
    (0..operations.div_ceil(SPAWN_BATCH))
        .map(move |batch| (operations - batch * SPAWN_BATCH).min(SPAWN_BATCH))
}

/// How long the wait with this number is. The waits have no beat in common with the ticks of a timer wheel, each of
/// which they would otherwise miss by as much as the last.
#[must_use]
pub fn wait(number: u64) -> Duration {
    // Steps of the golden section fill an interval evenly, however many there are.
    const SECTION_PER_MILLION: u64 = 618_034;
    let part_per_million = number.wrapping_mul(SECTION_PER_MILLION) % 1_000_000;
    WAIT + Duration::from_nanos(part_per_million)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_come_to_what_was_asked_for() {
        for operations in [0, 1, 63, 64, 65, 1_000] {
            assert_eq!(batches(operations).sum::<u64>(), operations);
            assert!(batches(operations).all(|batch| (1..=SPAWN_BATCH).contains(&batch)));
        }
    }

    #[test]
    fn waits_are_spread_evenly_over_a_millisecond() {
        let mut waits: Vec<Duration> = (0..100).map(wait).collect();
        waits.sort_unstable();
        assert!(waits[0] >= WAIT && waits[99] < 2 * WAIT);
        let gap = waits.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(gap < Some(Duration::from_micros(30)), "{gap:?}");
    }
}
