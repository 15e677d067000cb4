//! From the figures of two sides to a verdict: pure, so that it can be tried with figures whose truth is known.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;
use statistics::{Bootstrap, Level, RUNS_LEAST, Sample, StatisticsError, distance};

use crate::better::Better;

/// What became of a figure from the first run to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// It is worse by more than the threshold, and the interval of the ratio leaves out 1.
    Regressed,
    /// It is better, likewise.
    Improved,
    /// There are no two figures to compare: a status differs, or it is a lower bound, or there is no ratio.
    Incomparable,
    /// Repetitions are too few to tell.
    Inconclusive,
    /// No difference is told, and one of twice the threshold would have been.
    Unchanged,
}

impl Verdict {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Verdict::Regressed => "regressed",
            Verdict::Improved => "improved",
            Verdict::Incomparable => "incomparable",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Unchanged => "unchanged",
        }
    }
}

/// Two medians, and what can be said of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judged {
    /// B over A. None where a side has figures that are not above zero.
    pub(super) ratio: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
    pub(super) verdict: Verdict,
    pub(super) why: Option<Why>,
}

/// Why there is no more to say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Why {
    /// So many repetitions of each side would do, as far as these tell.
    TooFew {
        repetitions: u32,
    },
    NoRatio(StatisticsError),
}

/// What an interval of a ratio is to cover.
pub(super) const COVERAGE: Level = Level::P95;
/// How often runs are drawn again. The same figures give the same interval.
const BOOTSTRAP: Bootstrap = Bootstrap { seed: 1, resamples: 2_000, coverage: COVERAGE };
/// What would be called a change must have room in an interval for `unchanged` to be told: so many thresholds. Equals
/// are within one threshold of each other as a rule, and the interval of five runs a side reaches another one further.
const ROOM: f64 = 2.0;
/// More repetitions than this are no advice.
const REPETITIONS_MOST: f64 = 1_000.0;

/// Compares two samples, each of which is a figure over repetitions.
pub(super) fn judge(a: &Sample, b: &Sample, better: Better, threshold: f64) -> Judged {
    let judged = |ratio, interval, verdict, why| Judged { ratio, interval, verdict, why };
    let is_few = a.n().min(b.n()) < RUNS_LEAST;
    let few = Why::TooFew { repetitions: u32::try_from(RUNS_LEAST).unwrap_or(u32::MAX) };
    let (ratio, interval) = match ratio(a, b) {
        Ok(ratio) => ratio,
        Err(_) if is_few => return judged(None, None, Verdict::Inconclusive, Some(few)),
        Err(_) if a.min() == b.max() && a.max() == b.min() => {
            // A figure that is always zero, such as the kernel stacks of tasks, has no ratio and has not changed.
            return judged(None, None, Verdict::Unchanged, None);
        }
        Err(error) => return judged(None, None, Verdict::Incomparable, Some(Why::NoRatio(error))),
    };
    let Some((low, high)) = interval else {
        return judged(Some(ratio), None, Verdict::Inconclusive, Some(few));
    };
    let apart = distance(ratio).unwrap_or(0.0);
    if !(low..=high).contains(&1.0) && apart > threshold {
        let verdict = match (better, ratio > 1.0) {
            (Better::More, true) | (Better::Less, false) => Verdict::Improved,
            (Better::More, false) | (Better::Less, true) => Verdict::Regressed,
        };
        return judged(Some(ratio), interval, verdict, None);
    }
    // On the scale of logarithms, where a ratio and its inverse are as far from no change.
    let reach = high.ln().max(-low.ln());
    let room = (1.0 + ROOM * threshold).ln();
    if reach <= room {
        return judged(Some(ratio), interval, Verdict::Unchanged, None);
    }
    let (centre, half) = (ratio.ln().abs(), (high.ln() - low.ln()) / 2.0);
    // Either the interval comes to lie within the room, or it comes to leave out 1. Its width goes with the root of n.
    let wanted = (room - centre).max(centre);
    let least = a.n().min(b.n());
    #[expect(clippy::cast_precision_loss, reason = "a run has at most a thousand repetitions")]
    let repetitions = (least as f64 * (half / wanted).powi(2)).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is held within a thousand"
    )]
    let repetitions = repetitions.clamp(least as f64 + 1.0, REPETITIONS_MOST) as u32;
    judged(Some(ratio), interval, Verdict::Inconclusive, Some(Why::TooFew { repetitions }))
}

/// A ratio, and the ends of its interval where there is one.
type RatioAndEnds = (f64, Option<(f64, f64)>);

/// The ratio of the medians, B over A, with the ends of its interval. Which side is called A changes nothing but the
/// direction: one and the same comparison is computed, and turned round where need be.
fn ratio(a: &Sample, b: &Sample) -> Result<RatioAndEnds, StatisticsError> {
    let of = |numerator: &Sample, denominator: &Sample| -> Result<RatioAndEnds, StatisticsError> {
        let ratio = BOOTSTRAP.ratio_of_medians(numerator, denominator)?;
        Ok((ratio.value(), ratio.interval().map(|interval| (interval.low(), interval.high()))))
    };
    if order(a, b) == Ordering::Greater {
        return of(b, a);
    }
    let (value, ends) = of(a, b)?;
    Ok((1.0 / value, ends.map(|(low, high)| (1.0 / high, 1.0 / low))))
}

fn order(a: &Sample, b: &Sample) -> Ordering {
    let values = a.sorted().iter().zip(b.sorted());
    values.map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or_else(|| a.n().cmp(&b.n()))
}

#[cfg(test)]
mod tests;
