//! From the figures of pairs to a judgement: pure, so that it can be tried with figures whose truth is known.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use statistics::{
    Binomial, Bootstrap, Interval, Level, Ratio, Sample, StatisticsError, distance, median_interval,
    upper_bound,
};

use super::Side;
use crate::better::COMPUTED;

/// How pairs are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// What the interval of a ratio is to cover.
    pub(crate) coverage: Level,
    /// The noise floor is above this share of the ratios between equals.
    pub(crate) floor_share: Level,
    pub(crate) resamples: u32,
    pub(crate) seed: u64,
    /// Runs of each side of a pair.
    pub(crate) repetitions: usize,
    /// By how much the planted side's plan is longer.
    pub(crate) planted: Option<f64>,
}

/// The figures of all cells and metrics, as they come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// By cell and metric.
    by_metric: BTreeMap<(String, String), Pairs>,
}

/// By pair and side.
type Pairs = BTreeMap<u32, BTreeMap<Side, Vec<f64>>>;

/// What came of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Judgement {
    /// Each metric of each cell.
    pub(crate) metrics: Vec<Judged>,
    /// What could not be judged.
    pub(crate) left_out: Vec<LeftOut>,
    /// So small a probability is no chance: 5 %, shared by all metrics.
    pub(crate) significance: f64,
}

/// One metric of one cell.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Judged {
    /// Which cell, by its name in the experiments.
    pub(crate) cell: String,
    /// Which metric.
    pub(crate) metric: String,
    /// Of all runs of side A.
    pub(crate) median: f64,
    /// Pairs of which all runs have a figure.
    pub(crate) pairs: u32,
    /// B over A: the median of the pairs' ratios, with the interval of order statistics.
    pub(crate) ratio: Shown,
    /// B over A, pair by pair.
    pub(crate) ratios: Vec<Shown>,
    /// How far from 1 the ratios of equals are, at most: of `floor_share` of them, with this confidence.
    pub(crate) floor: f64,
    /// See `floor`.
    pub(crate) floor_share: f64,
    /// See `floor`.
    pub(crate) floor_confidence: f64,
    /// Pairs whose interval leaves out 1. Null where the runs are too few for an interval.
    pub(crate) false_alarms: Option<u32>,
    /// How many are still chance.
    pub(crate) false_alarms_most: u32,
    /// The probability of so many or more, where each pair has one with the probability that its interval leaves.
    pub(crate) false_alarms_p_value: Option<f64>,
    /// Null where nothing was planted.
    pub(crate) planted: Option<PlantedFound>,
}

/// What became of the planted slowdown.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct PlantedFound {
    /// Planted over A: the median of the pairs' ratios, with the interval of order statistics.
    pub(crate) ratio: Shown,
    /// Pairs of which all runs of A and of the planted side have a figure.
    pub(crate) pairs: u32,
    /// Pairs whose interval leaves out 1. Null where the runs are too few for an interval.
    pub(crate) found: Option<u32>,
    /// Those of them that are above the noise floor too.
    pub(crate) found_above_floor: Option<u32>,
}

/// A ratio and its interval, with what that covers; null where the runs or the pairs are too few for one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Shown {
    /// The ratio.
    pub(crate) value: f64,
    /// The lower end of its interval.
    pub(crate) low: Option<f64>,
    /// The upper end of it.
    pub(crate) high: Option<f64>,
    /// With which probability the interval has the true ratio.
    pub(crate) coverage: Option<f64>,
}

/// A metric that could not be judged.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct LeftOut {
    /// Which cell, by its name in the experiments.
    pub(crate) cell: String,
    /// Which metric.
    pub(crate) metric: String,
    /// Why.
    pub(crate) reason: String,
}

/// The metric in which a planted slowdown must show.
const ELAPSED: &str = "elapsed_ns";
/// How often a judgement of equals may be wrong by chance, over all of its metrics.
const WRONG_MOST: f64 = 0.05;

impl Figures {
    /// Adds what one run has to say.
    pub(crate) fn add<'a>(
        &mut self,
        cell: &str,
        pair: u32,
        side: Side,
        metrics: impl Iterator<Item = (&'a String, f64)>,
    ) {
        for (metric, value) in metrics.filter(|(metric, _)| !COMPUTED.contains(&metric.as_str())) {
            let pairs = self.by_metric.entry((cell.to_owned(), metric.clone())).or_default();
            pairs.entry(pair).or_default().entry(side).or_default().push(value);
        }
    }

    /// Judges all metrics.
    pub(crate) fn judge(&self, rule: &Rule) -> Judgement {
        let count = u32::try_from(self.by_metric.len()).unwrap_or(u32::MAX).max(1);
        let significance = WRONG_MOST / f64::from(count);
        let (mut metrics, mut left_out) = (Vec::new(), Vec::new());
        for ((cell, metric), pairs) in &self.by_metric {
            let (cell, metric) = (cell.clone(), metric.clone());
            match judged(pairs, rule, significance) {
                Ok(judged) => metrics.push(Judged { cell, metric, ..judged }),
                Err(error) => left_out.push(LeftOut { cell, metric, reason: error.to_string() }),
            }
        }
        Judgement { metrics, left_out, significance }
    }
}

impl Judgement {
    /// What is wrong with the instrument, if anything: more false alarms than chance has, or a slowdown not found.
    pub(crate) fn faults(&self) -> Vec<String> {
        let unjudged = self.left_out.iter().filter(|left_out| left_out.metric == ELAPSED);
        let mut faults: Vec<String> = unjudged
            .map(|LeftOut { cell, metric, reason }| format!("{metric} of {cell} cannot be judged: {reason}"))
            .collect();
        for judged in &self.metrics {
            let name = format!("{} of {}", judged.metric, judged.cell);
            if let Some(alarms) = judged.false_alarms.filter(|alarms| *alarms > judged.false_alarms_most) {
                faults.push(format!(
                    "{name} had {alarms} false alarms in {} pairs, and {} are the most that chance explains",
                    judged.pairs, judged.false_alarms_most
                ));
            }
            // How many runs one comparison needs is the machine's affair; all pairs together must tell.
            if let Some(planted) = judged.planted.as_ref().filter(|_| judged.metric == ELAPSED)
                && planted.ratio.low.is_some_and(|low| low <= 1.0)
            {
                faults.push(format!(
                    "the planted slowdown was not found by {name}: over all pairs it is {:.4} times as much, and the \
                     interval begins at {:.4}",
                    planted.ratio.value,
                    planted.ratio.low.unwrap_or_default()
                ));
            }
        }
        faults
    }
}

impl Shown {
    fn new(value: f64, interval: Option<Interval>) -> Shown {
        Shown {
            value,
            low: interval.map(Interval::low),
            high: interval.map(Interval::high),
            coverage: interval.map(Interval::coverage),
        }
    }
}

/// The judgement of one metric; cell and metric are the caller's.
fn judged(pairs: &Pairs, rule: &Rule, significance: f64) -> Result<Judged, StatisticsError> {
    let equals = Compared::of(pairs, Side::B, rule)?;
    let all_a = Sample::new(side(pairs, Side::A))?;
    let distances =
        equals.ratios.iter().map(|ratio| distance(ratio.value())).collect::<Result<Vec<f64>, _>>()?;
    let floor = upper_bound(&Sample::new(distances)?, rule.floor_share, Level::P95)?;
    let count = u32::try_from(equals.ratios.len()).unwrap_or(u32::MAX);
    let by_chance = Binomial::new(count, Level::new(1.0 - rule.coverage.get())?)?;
    let false_alarms = equals.differing(None);
    let planted = match rule.planted {
        Some(_) => {
            let planted = Compared::of(pairs, Side::Planted, rule)?;
            Some(PlantedFound {
                ratio: planted.all,
                pairs: u32::try_from(planted.ratios.len()).unwrap_or(u32::MAX),
                found: planted.differing(None),
                found_above_floor: planted.differing(Some(floor.value)),
            })
        }
        None => None,
    };
    Ok(Judged {
        cell: String::new(),
        metric: String::new(),
        median: all_a.median(),
        pairs: count,
        ratio: equals.all,
        ratios: equals.ratios.iter().map(|ratio| Shown::new(ratio.value(), ratio.interval())).collect(),
        floor: floor.value,
        floor_share: floor.share,
        floor_confidence: floor.confidence,
        false_alarms,
        false_alarms_most: (0..=count)
            .rev()
            .find(|most| by_chance.at_least(*most) >= significance)
            .unwrap_or(0),
        false_alarms_p_value: false_alarms.map(|alarms| by_chance.at_least(alarms)),
        planted,
    })
}

/// One side over A.
struct Compared {
    /// Pair by pair.
    ratios: Vec<Ratio>,
    /// Of all pairs. Not of all runs: a machine that drifts from pair to pair would be in it, and it is in no pair's.
    all: Shown,
}

impl Compared {
    fn of(pairs: &Pairs, over: Side, rule: &Rule) -> Result<Compared, StatisticsError> {
        let bootstrap = |seed: u64| Bootstrap { seed, resamples: rule.resamples, coverage: rule.coverage };
        let mut ratios = Vec::new();
        for (pair, sides) in pairs {
            // A pair of which a run has failed is not a fair comparison.
            let whole = |side: Side| sides.get(&side).filter(|figures| figures.len() == rule.repetitions);
            if let Some((above, below)) = whole(over).zip(whole(Side::A)) {
                let (above, below) =
                    (Sample::new(above.iter().copied())?, Sample::new(below.iter().copied())?);
                let seed = rule.seed.wrapping_add(u64::from(*pair));
                ratios.push(bootstrap(seed).ratio_of_medians(&above, &below)?);
            }
        }
        let each = Sample::new(ratios.iter().map(|ratio| ratio.value()))?;
        let interval = median_interval(&each, rule.coverage)?;
        Ok(Compared { all: Shown::new(each.median(), interval), ratios })
    }

    /// How many pairs differ, and by more than `floor` where there is one; none where no pair can tell.
    fn differing(&self, floor: Option<f64>) -> Option<u32> {
        let told: Vec<bool> = self.ratios.iter().filter_map(|ratio| ratio.differs(floor)).collect();
        let differing = told.iter().filter(|differs| **differs).count();
        (!told.is_empty()).then(|| u32::try_from(differing).unwrap_or(u32::MAX))
    }
}

/// The figures of one side, of all pairs.
fn side(pairs: &Pairs, side: Side) -> impl Iterator<Item = f64> + '_ {
    pairs.values().filter_map(move |sides| sides.get(&side)).flatten().copied()
}

#[cfg(test)]
mod tests;
