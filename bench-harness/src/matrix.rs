//! The cells of a run, and the order in which they are measured.

use workload::kernel;

use crate::contestant::Contestant;
use crate::experiment::{Experiment, Values};

/// One entry of the matrix: what is measured, on whom, and for the how-manieth time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) point: Point,
    pub(crate) contestant: &'a Contestant,
    /// From 1.
    pub(crate) repetition: u32,
}

/// One point of an experiment: what tells its cells apart, beside contestant and repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Point {
    /// `capacity.burst`: the first burst of a process, or the second.
    Burst { warm: bool },
    /// `capacity.hold-tasks`: a whole ramp, in process.
    HoldTasks,
    /// `capacity.hold`: a whole ramp, over HTTP.
    Hold,
    /// `throughput.closed`, with so many connections.
    Closed { connections: u64 },
    /// `throughput.open`.
    Open,
    /// `memory.tasks`: one process, or two where the model has a queue.
    Tasks,
    /// `memory.connections`: one growing server.
    Connections,
}

impl Point {
    /// The points of an experiment, in the order of its file.
    pub(crate) fn of(experiment: Experiment, values: &Values) -> Vec<Point> {
        match experiment {
            Experiment::Burst => {
                values.capacity.burst.warm.iter().map(|warm| Point::Burst { warm: *warm }).collect()
            }
            Experiment::HoldTasks => vec![Point::HoldTasks],
            Experiment::Hold => vec![Point::Hold],
            Experiment::Closed => {
                let each = values.throughput.closed.connections.iter();
                each.map(|connections| Point::Closed { connections: *connections }).collect()
            }
            Experiment::Open => vec![Point::Open],
            Experiment::Tasks => vec![Point::Tasks],
            Experiment::Connections => vec![Point::Connections],
        }
    }

    pub(crate) const fn experiment(self) -> Experiment {
        match self {
            Point::Burst { .. } => Experiment::Burst,
            Point::HoldTasks => Experiment::HoldTasks,
            Point::Hold => Experiment::Hold,
            Point::Closed { .. } => Experiment::Closed,
            Point::Open => Experiment::Open,
            Point::Tasks => Experiment::Tasks,
            Point::Connections => Experiment::Connections,
        }
    }

    /// What tells it apart from the experiment's other points, in words.
    fn words(self) -> String {
        match self {
            Point::Burst { warm: true } => " warm".to_owned(),
            Point::Burst { warm: false } => " cold".to_owned(),
            Point::Closed { connections } => format!(" c={connections}"),
            Point::HoldTasks | Point::Hold | Point::Open | Point::Tasks | Point::Connections => String::new(),
        }
    }
}

impl Cell<'_> {
    /// One line that says which cell it is.
    pub(crate) fn label(&self) -> String {
        let Cell { point, contestant, repetition } = self;
        let cpus = contestant.place.cpu_count().map(|cpus| format!(" on {cpus} CPUs")).unwrap_or_default();
        format!("{}{} {}{cpus} #{repetition}", point.experiment().name(), point.words(), contestant.label)
    }
}

/// All cells: each repetition is one pass over the matrix, in an order of its own that follows from the
/// seed, so that a drift of the machine falls on all contestants alike.
pub(crate) fn cells<'a>(
    values: &Values,
    experiments: &[Experiment],
    contestants: &'a [Contestant],
    repetitions: Option<u32>,
    seed: u64,
) -> Vec<Cell<'a>> {
    let of = |experiment: Experiment| repetitions.unwrap_or_else(|| values.repetitions(experiment));
    let passes = experiments.iter().map(|experiment| of(*experiment)).max().unwrap_or(0);
    let mut state = seed;
    let mut cells = Vec::new();
    for repetition in 1..=passes {
        let mut pass = Vec::new();
        for experiment in experiments.iter().copied().filter(|experiment| repetition <= of(*experiment)) {
            for point in Point::of(experiment, values) {
                pass.extend(contestants.iter().map(|contestant| Cell { point, contestant, repetition }));
            }
        }
        shuffle(&mut pass, &mut state);
        cells.append(&mut pass);
    }
    cells
}

/// Fisher and Yates.
pub(crate) fn shuffle<T>(items: &mut [T], state: &mut u64) {
    for last in (1..items.len()).rev() {
        *state = kernel::mix(*state);
        let bound = u64::try_from(last).unwrap_or(u64::MAX).saturating_add(1);
        let chosen = usize::try_from(*state % bound).unwrap_or(0);
        items.swap(last, chosen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_keeps_every_item_and_follows_the_seed() {
        let shuffled = |seed: u64| {
            let mut items: Vec<u32> = (0..50).collect();
            shuffle(&mut items, &mut { seed });
            items
        };
        assert_eq!(shuffled(7), shuffled(7));
        assert_ne!(shuffled(7), shuffled(8));
        let mut sorted = shuffled(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }
}
