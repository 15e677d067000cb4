//! The cells of a run, and the order in which they are measured.

use workload::kernel;

use crate::contestant::Contestant;
use crate::experiment::{Capacity, Experiment, Size};

/// One entry of the matrix: a burst, or a whole ramp.
#[derive(Clone, Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) experiment: Experiment,
    pub(crate) contestant: &'a Contestant,
    /// For a burst: measure the second burst of the process.
    pub(crate) warm: bool,
    /// From 1.
    pub(crate) repetition: u32,
}

impl Cell<'_> {
    /// One line that says which cell it is.
    pub(crate) fn label(&self) -> String {
        let warm = match (self.experiment, self.warm) {
            (Experiment::Burst, true) => " warm",
            (Experiment::Burst, false) => " cold",
            _ => "",
        };
        format!("{}{warm} {} #{}", self.experiment.name(), self.contestant.label, self.repetition)
    }
}

/// All cells: each repetition is one pass over the matrix, in an order of its own that follows from the
/// seed, so that a drift of the machine falls on all contestants alike.
pub(crate) fn cells<'a>(
    capacity: &Capacity,
    size: Size,
    experiments: &[Experiment],
    contestants: &'a [Contestant],
    repetitions: Option<u32>,
    seed: u64,
) -> Vec<Cell<'a>> {
    let of = |experiment: Experiment| repetitions.unwrap_or_else(|| capacity.repetitions(experiment, size));
    let passes = experiments.iter().map(|experiment| of(*experiment)).max().unwrap_or(0);
    let mut state = seed;
    let mut cells = Vec::new();
    for repetition in 1..=passes {
        let mut pass = Vec::new();
        for experiment in experiments.iter().copied().filter(|experiment| repetition <= of(*experiment)) {
            let warms: &[bool] = match experiment {
                Experiment::Burst => &capacity.burst(size).warm,
                Experiment::HoldTasks | Experiment::Hold => &[false],
            };
            for contestant in contestants {
                pass.extend(warms.iter().map(|warm| Cell {
                    experiment,
                    contestant,
                    warm: *warm,
                    repetition,
                }));
            }
        }
        shuffle(&mut pass, &mut state);
        cells.append(&mut pass);
    }
    cells
}

/// Fisher and Yates.
fn shuffle<T>(items: &mut [T], state: &mut u64) {
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
