//! How often something happens in so many tries.

use crate::{Level, StatisticsError};

/// The number of times that something happens in `n` independent tries, each with the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binomial {
    n: u32,
    probability: Level,
}

/// Up to here the smallest term, 2^-1000, is a number like any other, so that sums of terms are exact to rounding.
const N_MOST: u32 = 1_000;

impl Binomial {
    /// `n` tries with this probability each.
    ///
    /// # Errors
    /// `n` is above 1,000.
    pub fn new(n: u32, probability: Level) -> Result<Binomial, StatisticsError> {
        if n > N_MOST {
            let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
            return Err(StatisticsError::TooMany { got: size(n), most: size(N_MOST) });
        }
        Ok(Binomial { n, probability })
    }

    /// The probability that it happens `count` times or fewer.
    #[must_use]
    pub fn at_most(self, count: u32) -> f64 {
        if count >= self.n {
            return 1.0;
        }
        self.sum(0, count)
    }

    /// The probability that it happens `count` times or more: how surprising `count` is where nothing but chance is at
    /// work.
    #[must_use]
    pub fn at_least(self, count: u32) -> f64 {
        match count {
            0 => 1.0,
            _ if count > self.n => 0.0,
            _ => self.sum(count, self.n),
        }
    }

    /// The sum of the terms from `first` to `last`.
    fn sum(self, first: u32, last: u32) -> f64 {
        let p = self.probability.get();
        // Counting what does not happen keeps the first term away from zero where p is near one.
        if p > 0.5 {
            let rest = Binomial { n: self.n, probability: Level::new(1.0 - p).unwrap_or(self.probability) };
            return rest.terms(self.n - last, self.n - first);
        }
        self.terms(first, last)
    }

    fn terms(self, first: u32, last: u32) -> f64 {
        let p = self.probability.get();
        let (n, q) = (f64::from(self.n), 1.0 - p);
        let mut term = q.powi(i32::try_from(self.n).unwrap_or(i32::MAX));
        let mut sum = 0.0;
        for count in 0..=last {
            if count >= first {
                sum += term;
            }
            let count = f64::from(count);
            term = term * (n - count) / (count + 1.0) * (p / q);
        }
        f64::min(sum, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn binomial(n: u32, p: f64) -> Binomial {
        Binomial::new(n, Level::new(p).expect("a probability")).expect("few tries")
    }

    #[test]
    fn tails_from_the_tables() {
        // Conover, Practical Nonparametric Statistics (3rd edition), table A3.
        for (n, p, count, expected) in [
            (5, 0.5, 0, 0.0312),
            (10, 0.5, 2, 0.0547),
            (20, 0.05, 0, 0.3585),
            (20, 0.05, 1, 0.7358),
            (20, 0.05, 3, 0.9841),
            (20, 0.95, 16, 0.0159),
        ] {
            let found = binomial(n, p).at_most(count);
            assert!((found - expected).abs() < 0.000_06, "{n} {p} {count}: {found}");
        }
        assert_eq!(binomial(5, 0.5).at_least(5), 1.0 / 32.0);
        assert_eq!(binomial(5, 0.5).at_most(4), 1.0 - 1.0 / 32.0);
        assert_eq!((binomial(5, 0.5).at_least(0), binomial(5, 0.5).at_least(6)), (1.0, 0.0));
        assert_eq!((binomial(0, 0.5).at_least(0), binomial(0, 0.5).at_most(0)), (1.0, 1.0));
        let limit = StatisticsError::TooMany { got: 1_001, most: 1_000 };
        assert_eq!(Binomial::new(1_001, Level::P90), Err(limit));
    }

    proptest! {
        #[test]
        fn the_two_tails_are_all(n in 1..=1_000_u32, p in 0.0001..0.9999_f64, count in 0..=1_000_u32) {
            let tries = binomial(n, p);
            let all = tries.at_most(count) + tries.at_least(count + 1);
            prop_assert!((all - 1.0).abs() < 1e-9, "{all}");
            prop_assert!(tries.at_least(count + 1) <= tries.at_least(count) + 1e-12);
        }

        #[test]
        fn another_formula_gives_the_same(n in 1..=60_u32, p in 0.01..0.99_f64, count in 0..=60_u32) {
            use statrs::distribution::{Binomial as Reference, DiscreteCDF as _};
            let reference = Reference::new(p, n.into()).expect("a distribution").cdf(count.into());
            let own = binomial(n, p).at_most(count);
            prop_assert!((own - reference).abs() < 1e-9, "{own} {reference}");
        }
    }
}
