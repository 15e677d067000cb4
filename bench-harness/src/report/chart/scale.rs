//! From values to places along an axis, and ticks at numbers that people would choose.

/// An axis: between two values, evenly or by powers of ten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    /// From tick to tick; none where it goes by powers of ten.
    step: Option<f64>,
}

impl Scale {
    /// From zero to the next number that is round in units of `base`: 1,000, or 1,024 for bytes.
    pub(super) fn from_zero(most: f64, base: f64) -> Scale {
        let most = if most > 0.0 && most.is_finite() { most } else { 1.0 };
        let unit = base.powf(most.log(base).floor());
        let step = unit * step(most / unit, 4.0);
        Scale { low: 0.0, high: (most / step - 1e-9).ceil() * step, step: Some(step) }
    }

    /// Around all of the values by powers of ten. What is not above zero has no place.
    pub(super) fn log(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = values
            .filter(|value| *value > 0.0 && value.is_finite())
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if high <= 0.0 {
            return Scale { low: 1.0, high: 10.0, step: None };
        }
        // To the next of 1, 2 and 5 outside: whole decades would leave much of a small chart empty.
        let (low, high) = (below(low), above(high));
        let high = if high <= low { low * 10.0 } else { high };
        Scale { low, high, step: None }
    }

    /// The share of the axis at which a value stands.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = if self.step.is_none() {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        share.clamp(0.0, 1.0)
    }

    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// At most `most` round numbers.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        if let Some(step) = self.step {
            return counted(0, 20, |index| self.low + step * index)
                .into_iter()
                .take_while(|tick| *tick <= self.high + step * 1e-6)
                .collect();
        }
        let fine = self.within(&[1.0, 2.0, 5.0]);
        if fine.len() <= most {
            return fine;
        }
        let decades = self.within(&[1.0]);
        let every = decades.len().div_ceil(most.max(1)).max(1);
        decades.into_iter().step_by(every).collect()
    }

    /// The multiples of powers of ten that lie on the axis.
    fn within(&self, multiples: &[f64]) -> Vec<f64> {
        let decades = counted(-3, 15, |exponent| 10_f64.powf(exponent));
        let all = decades.iter().flat_map(|decade| multiples.iter().map(move |multiple| decade * multiple));
        all.filter(|tick| *tick >= self.low * 0.999 && *tick <= self.high * 1.001).collect()
    }
}

/// A round step of which `parts` or fewer make up `whole`.
fn step(whole: f64, parts: f64) -> f64 {
    let decade = 10_f64.powf((whole / parts).log10().floor());
    let found = [1.0, 2.0, 2.5, 5.0].into_iter().find(|multiple| decade * multiple * parts >= whole * 0.999);
    decade * found.unwrap_or(10.0)
}

fn below(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    [5.0, 2.0].into_iter().find(|multiple| decade * multiple <= value * 1.001).unwrap_or(1.0) * decade
}

fn above(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].into_iter().find(|multiple| decade * multiple >= value * 0.999).unwrap_or(10.0) * decade
}

fn counted(from: i32, to: i32, of: impl Fn(f64) -> f64) -> Vec<f64> {
    (from..=to).map(|index| of(f64::from(index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_ends_at_a_round_number() {
        for (most, high, ticks) in
            [(30_300.0, 40_000.0, 5), (1.0, 1.0, 5), (151_300.0, 200_000.0, 5), (0.0, 1.0, 5)]
        {
            let scale = Scale::from_zero(most, 1_000.0);
            assert_eq!((scale.ends().1, scale.ticks(5).len()), (high, ticks), "{most}");
        }
        assert!((Scale::from_zero(1.0, 1_000.0).at(0.25) - 0.25).abs() < 1e-12);
        let bytes = Scale::from_zero(37_700.0, 1_024.0);
        assert_eq!(bytes.ticks(5), [0.0, 10_240.0, 20_480.0, 30_720.0, 40_960.0]);
    }

    #[test]
    fn a_log_axis_has_ticks_that_fit() {
        let scale = Scale::log([3.0, 700.0].into_iter());
        assert_eq!(scale.ends(), (2.0, 1_000.0));
        assert_eq!(scale.ticks(4), [10.0, 100.0, 1_000.0]);
        assert_eq!(Scale::log([60.0, 90.0].into_iter()).ticks(4), [50.0, 100.0]);
        assert!((Scale::log([1.0, 100.0].into_iter()).at(10.0) - 0.5).abs() < 1e-12);
        // Values that have no place on it do no harm.
        assert_eq!(Scale::log([0.0, f64::NAN].into_iter()).ends(), (1.0, 10.0));
        assert_eq!(Scale::log([50.0].into_iter()).ends(), (50.0, 500.0));
    }
}
