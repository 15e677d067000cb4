//! Why a figure cannot be computed.

/// Why there is no figure.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum StatisticsError {
    /// A sample holds a value that is infinite or no number.
    #[error("sample {index} is not a finite number")]
    NotFinite {
        /// Which one, from 0.
        index: usize,
    },
    /// There are fewer samples than the figure needs.
    #[error("{got} samples are too few: at least {least} are needed")]
    TooFew {
        /// How many there are.
        got: usize,
        /// How many are needed.
        least: usize,
    },
    /// There are more samples than this crate computes with.
    #[error("{got} samples are too many: {most} are the most")]
    TooMany {
        /// How many there are.
        got: usize,
        /// How many may be.
        most: usize,
    },
    /// A line needs two different places.
    #[error("all points have the same x, so that no line is told from another")]
    NoSpread,
    /// A ratio needs samples above zero.
    #[error("a ratio needs samples above zero, and one is {value}")]
    NotPositive {
        /// The sample.
        value: f64,
    },
    /// A probability must be above 0 and below 1.
    #[error("a probability must be above 0 and below 1")]
    NoProbability,
    /// The figure is larger than a double can hold.
    #[error("the figure is beyond what can be represented")]
    Overflow,
}

/// The value, where it is one.
pub(crate) fn finite(value: f64) -> Result<f64, StatisticsError> {
    if value.is_finite() { Ok(value) } else { Err(StatisticsError::Overflow) }
}
