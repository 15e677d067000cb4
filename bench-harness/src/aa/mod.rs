//! A/A: one cell measured as if it were two, to learn how far apart chance alone puts two figures, and how often an
//! interval calls that a difference. With a planted slowdown on a third side, to learn whether a real one is found.

mod floor;
mod judge;
mod text;

use std::time::Duration;

use workload::{Plan, PlanError, Step};

use crate::matrix::shuffle;

pub(crate) use floor::NoiseFloor;
pub(crate) use judge::{Figures, Judgement, Rule};
pub(crate) use text::{table, text};

/// One side of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    A,
    /// The same as `A`.
    B,
    /// As `A`, with a plan that is longer.
    Planted,
}

/// One measurement of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Which cell, by its place in the list.
    pub(crate) cell: usize,
    pub(crate) side: Side,
    /// From 1.
    pub(crate) pair: u32,
    /// Within the pair, from 1.
    pub(crate) repetition: u32,
}

/// How much there is to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent<'a> {
    pub(crate) cells: usize,
    pub(crate) sides: &'a [Side],
    pub(crate) pairs: u32,
    pub(crate) repetitions: u32,
}

impl Side {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Side::A => "a",
            Side::B => "b",
            Side::Planted => "planted",
        }
    }
}

/// All turns: each repetition of a pair is one pass over all cells and sides, in an order of its own that follows from
/// the seed, so that a drift of the machine falls on all sides alike.
pub(crate) fn schedule(extent: Extent<'_>, seed: u64) -> Vec<Turn> {
    let mut state = seed;
    let mut turns = Vec::new();
    for pair in 1..=extent.pairs {
        for repetition in 1..=extent.repetitions {
            let of_cell =
                |cell| extent.sides.iter().map(move |side| Turn { cell, side: *side, pair, repetition });
            let mut pass: Vec<Turn> = (0..extent.cells).flat_map(of_cell).collect();
            shuffle(&mut pass, &mut state);
            turns.append(&mut pass);
        }
    }
    turns
}

/// The plan with every step `factor` times as long: the slowdown is in what is done, not in a figure.
pub(crate) fn planted(plan: &Plan, factor: f64) -> Result<Plan, PlanError> {
    let longer = |duration: Duration| {
        Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(Duration::MAX)
    };
    let steps: Vec<Step> = plan
        .steps()
        .iter()
        .map(|step| match *step {
            Step::Wait(duration) => Step::Wait(longer(duration)),
            Step::Block(duration) => Step::Block(longer(duration)),
            Step::Compute(rounds) => Step::Compute(more(rounds, factor)),
            Step::Panic => Step::Panic,
        })
        .collect();
    Plan::new(steps)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a plan has far fewer than 2^53 rounds, and what is too many is refused with the plan"
)]
fn more(rounds: u64, factor: f64) -> u64 {
    (rounds as f64 * factor).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pass_has_every_side_once_and_follows_the_seed() {
        let sides = [Side::A, Side::B, Side::Planted];
        let extent = Extent { cells: 2, sides: &sides, pairs: 3, repetitions: 2 };
        let turns = schedule(extent, 7);
        assert_eq!(turns.len(), 2 * 3 * 3 * 2);
        assert_eq!(turns, schedule(extent, 7));
        assert_ne!(turns, schedule(extent, 8));
        for (index, pass) in turns.chunks(6).enumerate() {
            let mut seen: Vec<(usize, Side)> = pass.iter().map(|turn| (turn.cell, turn.side)).collect();
            seen.sort_unstable();
            let all: Vec<_> = (0..2).flat_map(|cell| sides.map(|side| (cell, side))).collect();
            assert_eq!(seen, all, "pass {index}");
            assert!(
                pass.iter().all(|turn| (turn.pair, turn.repetition) == (pass[0].pair, pass[0].repetition))
            );
        }
        let firsts: Vec<Side> = turns.chunks(6).map(|pass| pass[0].side).collect();
        assert!(firsts.iter().any(|side| *side != firsts[0]), "no side always goes first");
    }

    #[test]
    fn a_planted_slowdown_is_in_every_step() {
        let plan: Plan = "wait=100ms,compute=25000,block=10ms".parse().unwrap();
        assert_eq!(planted(&plan, 1.1).unwrap().to_string(), "wait=110ms,compute=27500,block=11ms");
        assert_eq!(planted(&plan, 1.0).unwrap(), plan);
        assert!(planted(&plan, 1e12).is_err());
    }
}
