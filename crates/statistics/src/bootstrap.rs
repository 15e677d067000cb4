//! The bootstrap: what a figure would have been had the samples fallen otherwise, by drawing from them again.
//!
//! Intervals are by percentiles. The bias correction that is known as BCa needs the jackknife, which is wrong for
//! medians (Efron and Tibshirani, An Introduction to the Bootstrap, section 11.6).

use statrs::distribution::{ContinuousCDF as _, Normal};
use workload::kernel;

use crate::line::student_t;
use crate::noise::distance;
use crate::sample::median_of_sorted;
use crate::{Interval, Level, Line, Point, Sample, StatisticsError};

/// The fewest runs that are drawn from. With fewer, what is drawn is so often the same that an interval covers less than
/// it says: of two medians of three, one that says 95 % covers 90 %.
pub const RUNS_LEAST: usize = 5;

/// More repetitions than this say nothing more.
const RESAMPLES_MOST: u32 = 1_000_000;

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Where the random numbers begin: the same seed gives the same interval.
    pub seed: u64,
    /// How often to draw all samples again; at least 1, and 1,000,000 at the most.
    pub resamples: u32,
    /// What the interval is to cover.
    pub coverage: Level,
}

/// A ratio of two medians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    value: f64,
    interval: Option<Interval>,
}

/// A slope and an intercept over several runs, each with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// The line through all points of all runs.
    pub line: Line,
    /// Of its slope.
    pub slope: Interval,
    /// Of its intercept.
    pub intercept: Interval,
}

impl Ratio {
    /// The ratio itself: finite, above zero.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.value
    }

    /// Its interval; none where either side has fewer than [`RUNS_LEAST`] runs.
    #[must_use]
    pub const fn interval(self) -> Option<Interval> {
        self.interval
    }

    /// Whether the two sides differ: the interval leaves out one, and the ratio is further from one than `floor`, the
    /// noise floor where it is known. None where there is no interval to tell by.
    #[must_use]
    pub fn differs(self, floor: Option<f64>) -> Option<bool> {
        let is_told = !self.interval?.contains(1.0);
        let is_above = floor.is_none_or(|floor| distance(self.value).is_ok_and(|distance| distance > floor));
        Some(is_told && is_above)
    }
}

impl Bootstrap {
    /// The ratio of two medians over runs. Both sides are drawn from independently.
    ///
    /// An interval that is to cover 95 % leaves out the true ratio in 3 to 5 % of all cases from five runs a side on,
    /// whether what is measured is spread evenly or with a long tail.
    ///
    /// # Errors
    /// A sample is not above zero, or the ratio cannot be represented, or there are too many resamples.
    pub fn ratio_of_medians(
        &self,
        numerator: &Sample,
        denominator: &Sample,
    ) -> Result<Ratio, StatisticsError> {
        for side in [numerator, denominator] {
            if side.min() <= 0.0 {
                return Err(StatisticsError::NotPositive { value: side.min() });
            }
        }
        let value = crate::error::finite(numerator.median() / denominator.median())?;
        // A ratio that rounds to zero has no distance from one.
        distance(value)?;
        if numerator.n().min(denominator.n()) < RUNS_LEAST {
            return Ok(Ratio { value, interval: None });
        }
        let (mut above, mut below) = (Vec::new(), Vec::new());
        let ratios = self.repeat(|random| {
            let over = median_again(numerator, random, &mut above);
            Ok([over / median_again(denominator, random, &mut below)])
        })?;
        let [ratios] = ratios;
        Ok(Ratio { value, interval: Some(self.between(ratios, self.coverage.tail())?) })
    }

    /// The line through the points of several runs. Whole runs are drawn, since the points of one run are not
    /// independent of each other.
    ///
    /// The ends are those of the expanded percentile interval, which allows for few runs as Student's t does
    /// (Hesterberg, "What Teachers Should Know About the Bootstrap", 2015, section 5.3).
    ///
    /// # Errors
    /// There are fewer than [`RUNS_LEAST`] runs, or one of them is no line by itself, or a figure cannot be represented.
    pub fn slope(&self, runs: &[Vec<Point>]) -> Result<Slope, StatisticsError> {
        if runs.len() < RUNS_LEAST {
            return Err(StatisticsError::TooFew { got: runs.len(), least: RUNS_LEAST });
        }
        // Then whatever is drawn is a line too.
        for run in runs {
            Line::fit(run)?;
        }
        let line = Line::fit(&runs.concat())?;
        let mut drawn: Vec<Point> = Vec::new();
        let [slopes, intercepts] = self.repeat(|random| {
            drawn.clear();
            for _ in runs {
                drawn.extend(&runs[random.below(runs.len())]);
            }
            let line = Line::fit(&drawn)?;
            Ok([line.slope(), line.intercept()])
        })?;
        let tail = expanded_tail(self.coverage, runs.len())?;
        Ok(Slope { line, slope: self.between(slopes, tail)?, intercept: self.between(intercepts, tail)? })
    }

    /// Draws again and again, and collects each figure.
    fn repeat<const N: usize>(
        &self,
        mut draw: impl FnMut(&mut Random) -> Result<[f64; N], StatisticsError>,
    ) -> Result<[Vec<f64>; N], StatisticsError> {
        let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        if self.resamples == 0 {
            return Err(StatisticsError::TooFew { got: 0, least: 1 });
        }
        if self.resamples > RESAMPLES_MOST {
            let (got, most) = (size(self.resamples), size(RESAMPLES_MOST));
            return Err(StatisticsError::TooMany { got, most });
        }
        let mut random = Random { state: self.seed };
        let mut figures = [(); N].map(|()| Vec::with_capacity(size(self.resamples)));
        for _ in 0..self.resamples {
            for (figure, all) in draw(&mut random)?.into_iter().zip(&mut figures) {
                all.push(crate::error::finite(figure)?);
            }
        }
        Ok(figures)
    }

    /// The interval between the figures that have this share outside of them on either side.
    fn between(&self, mut figures: Vec<f64>, tail: f64) -> Result<Interval, StatisticsError> {
        figures.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "less than half of a count"
        )]
        let outside = (figures.len() as f64 * tail) as usize;
        Interval::between(figures[outside], figures[figures.len() - 1 - outside], self.coverage.get())
    }
}

/// What an interval by percentiles must leave outside on either side, so that it is as wide as Student's t makes it.
fn expanded_tail(coverage: Level, runs: usize) -> Result<f64, StatisticsError> {
    let freedom = runs - 1;
    let errors = student_t(coverage, freedom)?;
    Ok(Normal::standard().cdf(-(runs as f64 / freedom as f64).sqrt() * errors))
}

/// The median of as many samples, each drawn from all of them.
fn median_again(sample: &Sample, random: &mut Random, ranks: &mut Vec<usize>) -> f64 {
    let sorted = sample.sorted();
    ranks.clear();
    ranks.extend((0..sorted.len()).map(|_| random.below(sorted.len())));
    ranks.sort_unstable();
    let middle = ranks.len() / 2;
    match ranks.len() % 2 {
        1 => sorted[ranks[middle]],
        _ => median_of_sorted(&[sorted[ranks[middle - 1]], sorted[ranks[middle]]]),
    }
}

/// Random numbers that follow from a seed.
#[derive(Clone, Copy, Debug)]
struct Random {
    state: u64,
}

impl Random {
    /// A number from 0 to `bound - 1`.
    fn below(&mut self, bound: usize) -> usize {
        // The high half of the product: as even as 64 bits can be over a few samples.
        let chosen = (u128::from(kernel::random(&mut self.state)) * bound as u128) >> 64;
        usize::try_from(chosen).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
