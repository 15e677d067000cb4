//! Whole numbers that an arithmetic in floats means.

/// The least whole number that is not below a figure, where what rounding may have added to it does not count.
#[must_use]
pub fn at_least(figure: f64) -> u64 {
    const ROUNDING: f64 = 1e-12;
    nearest((figure * (1.0 - ROUNDING)).ceil())
}

/// The whole part of a figure. A negative one and none are 0, and one that is too large is the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest whole number there is"
)]
pub(crate) fn nearest(figure: f64) -> u64 {
    figure as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_adds_no_whole_one() {
        assert_eq!([21.6, 22.0, 0.0, 0.1].map(at_least), [22, 22, 0, 1]);
        assert_eq!(at_least(0.1 * 3.0 * 10.0), 3, "which is 3.0000000000000004 in floats");
        assert_eq!([f64::INFINITY, f64::NAN, -3.0].map(at_least), [u64::MAX, 0, 0]);
    }
}
