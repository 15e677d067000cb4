//! Functions that give the same bits everywhere: the standard library's may differ between platforms and versions, and
//! with them what a seed stands for.
//!
//! They are made of operations that IEEE 754 rounds alike everywhere.

use crate::kernel;

/// The natural logarithm of a normal number above zero.
///
/// `ln(m * 2^e) = e ln 2 + 2 artanh((m - 1) / (m + 1))`, with m near 1, where the series of artanh is short.
pub(crate) fn ln(value: f64) -> f64 {
    const FRACTION_BITS: u32 = 52;
    const EXPONENT_OF_ONE: u64 = 1_023;
    const TERMS: u32 = 11; // the next one is below 10^-18
    let bits = value.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let mut mantissa = f64::from_bits(fraction | EXPONENT_OF_ONE << FRACTION_BITS);
    let mut exponent = (bits >> FRACTION_BITS) as f64 - EXPONENT_OF_ONE as f64;
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1.0;
    }
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let series = (0..TERMS).rev().fold(0.0, |sum, term| sum * square + 1.0 / f64::from(2 * term + 1));
    exponent * std::f64::consts::LN_2 + 2.0 * ratio * series
}

/// e to the power of a number between -16 and 16: the series of a 64th of it, squared six times.
pub(crate) fn exp(power: f64) -> f64 {
    const HALVINGS: u32 = 6;
    const TERMS: u32 = 14; // the next one is below 10^-20
    let small = power / f64::from(1 << HALVINGS);
    let series = (1..=TERMS).rev().fold(1.0, |sum, term| 1.0 + sum * small / f64::from(term));
    (0..HALVINGS).fold(series, |root, _| root * root)
}

/// Draws from above 0 to 1, in steps of 2^-53.
pub(crate) fn uniform(random: &mut u64) -> f64 {
    let bits = kernel::random(random);
    ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// Draws from the normal distribution of mean 0 and deviation 1.
///
/// G. Marsaglia and T. A. Bray, "A Convenient Method for Generating Normal Variables", SIAM Review 6(3), 1964.
pub(crate) fn normal(random: &mut u64) -> f64 {
    loop {
        let (x, y) = (2.0 * uniform(random) - 1.0, 2.0 * uniform(random) - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * ln(square) / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_logarithm_is_the_logarithm(value in 1e-16..1.0_f64) {
            let exact = value.ln();
            prop_assert!((ln(value) - exact).abs() <= 4.0 * f64::EPSILON * exact.abs().max(f64::EPSILON));
        }

        #[test]
        fn the_exponential_is_the_exponential(power in -16.0..16.0_f64) {
            let exact = power.exp();
            prop_assert!((exp(power) - exact).abs() <= 512.0 * f64::EPSILON * exact, "{} of {exact}", exp(power));
        }
    }

    #[test]
    fn normal_draws_have_their_mean_deviation_and_tails() {
        let mut random = 11;
        let draws: Vec<f64> = (0..100_000).map(|_| normal(&mut random)).collect();
        let count = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / count;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / count;
        assert!(mean.abs() < 5.0 / count.sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 5.0 * (2.0 / count).sqrt(), "{variance}");
        for (above, share) in [(1.0, 0.158_655), (2.0, 0.022_750), (3.0, 0.001_350)] {
            let found = draws.iter().filter(|draw| **draw > above).count() as f64 / count;
            assert!(
                (found - share).abs() < 5.0 * (share / count).sqrt(),
                "{found} above {above}, not {share}"
            );
        }
    }
}
