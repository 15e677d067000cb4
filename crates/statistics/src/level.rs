//! Probabilities that somebody chose.

use crate::StatisticsError;

/// A probability above 0 and below 1, such as the coverage that is asked of an interval.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Level(f64);

impl Level {
    /// 0.9
    pub const P90: Level = Level(0.9);
    /// 0.95
    pub const P95: Level = Level(0.95);
    /// 0.99
    pub const P99: Level = Level(0.99);

    /// A level of one's own.
    ///
    /// # Errors
    /// `probability` is not above 0 and below 1.
    pub fn new(probability: f64) -> Result<Level, StatisticsError> {
        if probability > 0.0 && probability < 1.0 {
            Ok(Level(probability))
        } else {
            Err(StatisticsError::NoProbability)
        }
    }

    /// The probability.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// What is left on each side of an interval of this coverage.
    pub(crate) fn tail(self) -> f64 {
        (1.0 - self.0) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certainty_and_nonsense_are_no_levels() {
        for wrong in [0.0, 1.0, -0.5, 95.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Level::new(wrong), Err(StatisticsError::NoProbability), "{wrong}");
        }
        assert_eq!(Level::new(0.95), Ok(Level::P95));
    }
}
