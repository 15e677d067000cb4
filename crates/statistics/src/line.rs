//! The straight line through points, by least squares, and how well its slope and intercept are known.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use crate::error::finite;
use crate::{Interval, Level, StatisticsError};

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// What was set, such as a number of connections.
    pub x: f64,
    /// What was measured, such as bytes.
    pub y: f64,
}

/// A fitted line. All of its figures are finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    slope: f64,
    intercept: f64,
    n: usize,
    errors: Option<Errors>,
}

/// Standard errors, of three points and more.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Errors {
    slope: f64,
    intercept: f64,
}

/// More points than this are no series of measurements.
const POINTS_MOST: usize = 10_000;

impl Line {
    /// Fits a line: the one with the least sum of squared vertical distances.
    ///
    /// # Errors
    /// There are fewer than two points or more than 10,000, one is not finite, or all have the same x.
    pub fn fit(points: &[Point]) -> Result<Line, StatisticsError> {
        let n = points.len();
        if n < 2 {
            return Err(StatisticsError::TooFew { got: n, least: 2 });
        }
        if n > POINTS_MOST {
            return Err(StatisticsError::TooMany { got: n, most: POINTS_MOST });
        }
        if let Some(index) = points.iter().position(|point| !point.x.is_finite() || !point.y.is_finite()) {
            return Err(StatisticsError::NotFinite { index });
        }
        if points.iter().all(|point| point.x == points[0].x) {
            return Err(StatisticsError::NoSpread);
        }
        let count = n as f64;
        let mean = |of: fn(&Point) -> f64| points.iter().map(|point| of(point) / count).sum::<f64>();
        let (x_mean, y_mean) = (mean(|point| point.x), mean(|point| point.y));
        // Around the means, so that large numbers with small differences keep their digits.
        let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(of).sum::<f64>();
        let x_spread = sum(&|point| (point.x - x_mean).powi(2));
        let slope = finite(sum(&|point| (point.x - x_mean) * (point.y - y_mean)) / x_spread)?;
        let intercept = finite(slope.mul_add(-x_mean, y_mean))?;
        let errors = if n > 2 {
            let residual = sum(&|point| (point.y - slope.mul_add(point.x - x_mean, y_mean)).powi(2));
            let variance = residual / (count - 2.0);
            Some(Errors {
                slope: finite((variance / x_spread).sqrt())?,
                intercept: finite((variance * (1.0 / count + x_mean * x_mean / x_spread)).sqrt())?,
            })
        } else {
            None
        };
        Ok(Line { slope, intercept, n, errors })
    }

    /// How much y one more x takes.
    #[must_use]
    pub const fn slope(&self) -> f64 {
        self.slope
    }

    /// The y where x is 0.
    #[must_use]
    pub const fn intercept(&self) -> f64 {
        self.intercept
    }

    /// How many points it was fitted to.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }

    /// The interval of the slope, by Student's t with n - 2 degrees of freedom, where the points lie around a line with
    /// errors that are alike and independent. Two points have none: every line through them is exact.
    ///
    /// # Errors
    /// The interval is beyond what can be represented.
    pub fn slope_interval(&self, coverage: Level) -> Result<Option<Interval>, StatisticsError> {
        self.interval(self.slope, self.errors.map(|errors| errors.slope), coverage)
    }

    /// The interval of the intercept, likewise.
    ///
    /// # Errors
    /// The interval is beyond what can be represented.
    pub fn intercept_interval(&self, coverage: Level) -> Result<Option<Interval>, StatisticsError> {
        self.interval(self.intercept, self.errors.map(|errors| errors.intercept), coverage)
    }

    fn interval(
        &self,
        middle: f64,
        error: Option<f64>,
        coverage: Level,
    ) -> Result<Option<Interval>, StatisticsError> {
        let Some(error) = error else { return Ok(None) };
        let half = student_t(coverage, self.n - 2)? * error;
        Interval::between(middle - half, middle + half, coverage.get()).map(Some)
    }
}

/// How many standard errors on either side cover this much, with so many degrees of freedom.
pub(crate) fn student_t(coverage: Level, freedom: usize) -> Result<f64, StatisticsError> {
    let too_few = StatisticsError::TooFew { got: freedom, least: 1 };
    let distribution = StudentsT::new(0.0, 1.0, freedom as f64).map_err(|_| too_few)?;
    finite(distribution.inverse_cdf(1.0 - coverage.tail()))
}

#[cfg(test)]
mod tests;
