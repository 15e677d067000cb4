//! Published bootstraps, and how often intervals are wrong where the truth is known.

use proptest::prelude::*;

use super::*;
use crate::Binomial;

const HOW: Bootstrap = Bootstrap { seed: 1, resamples: 2_000, coverage: Level::P95 };

fn sample(values: &[f64]) -> Sample {
    Sample::new(values.to_vec()).expect("finite")
}

/// Numbers of the standard normal distribution, after Box and Muller.
struct Errors(Random);

impl Errors {
    fn uniform(&mut self) -> f64 {
        (self.0.below(1 << 40) as f64 + 0.5) / (1_u64 << 40) as f64
    }

    fn next(&mut self) -> f64 {
        let (radius, turn) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
    }
}

#[test]
fn a_median_that_is_drawn_again_spreads_as_published() {
    // Efron and Tibshirani, An Introduction to the Bootstrap, table 2.1: survival of seven treated mice; the standard
    // error of the median is 37.83 with infinitely many resamples.
    let mice = sample(&[94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0]);
    let (mut random, mut ranks) = (Random { state: 5 }, Vec::new());
    let resamples = 100_000;
    let medians: Vec<f64> = (0..resamples).map(|_| median_again(&mice, &mut random, &mut ranks)).collect();
    let mean = medians.iter().sum::<f64>() / f64::from(resamples);
    let variance = medians.iter().map(|median| (median - mean).powi(2)).sum::<f64>() / f64::from(resamples);
    assert!((variance.sqrt() - 37.83).abs() < 0.3, "{}", variance.sqrt());
    // The median is at most the k-th smallest where at least four of seven draws are among the first k.
    for (rank, value) in mice.sorted().iter().enumerate() {
        let share = Level::new((rank as f64 + 1.0) / 7.0);
        let expected = share.map_or(1.0, |share| Binomial::new(7, share).expect("few").at_least(4));
        let seen = medians.iter().filter(|median| **median <= *value).count() as f64 / f64::from(resamples);
        assert!((seen - expected).abs() < 0.006, "{rank}: {seen}, not {expected}");
    }
}

#[test]
fn five_runs_a_side_are_wrong_as_often_as_they_say() {
    // 1,000 pairs of five, 3 % of spread, no difference. An interval of 95 % may leave out one in 5 % of them, and one
    // that never does would be too wide to find anything.
    let mut errors = Errors(Random { state: 9 });
    let mut draw = |factor: f64| sample(&[(); 5].map(|()| factor * (1.0 + 0.03 * errors.next())));
    let mut false_alarms = 0;
    for seed in 0..1_000 {
        let how = Bootstrap { seed, resamples: 500, ..HOW };
        let ratio = how.ratio_of_medians(&draw(1.0), &draw(1.0)).expect("a ratio");
        false_alarms += u32::from(ratio.differs(None).expect("five runs a side"));
    }
    assert!((15..=60).contains(&false_alarms), "{false_alarms} of 1,000");
    // A planted tenth is found nearly always, and never as less.
    let mut found = 0;
    for seed in 0..200 {
        let how = Bootstrap { seed, resamples: 500, ..HOW };
        let ratio = how.ratio_of_medians(&draw(1.1), &draw(1.0)).expect("a ratio");
        found += u32::from(ratio.differs(None).expect("five runs a side") && ratio.value() > 1.0);
    }
    assert!(found >= 180, "{found} of 200");
}

#[test]
fn the_interval_of_a_slope_over_five_runs_covers_what_it_says() {
    // Each run has a slope and a start of its own, which its points share: by Student's t over all points the interval
    // would be far too narrow.
    let mut errors = Errors(Random { state: 3 });
    let (trials, mut covered, mut by_points) = (400, 0, 0);
    for seed in 0..trials {
        let runs: Vec<Vec<Point>> = (0..5)
            .map(|_| {
                let (slope, start) = (2.0 + 0.2 * errors.next(), 100.0 + 10.0 * errors.next());
                let point = |x: f64| Point { x, y: start + slope * x };
                [100.0, 200.0, 400.0, 800.0, 1_000.0].map(point).to_vec()
            })
            .collect();
        let how = Bootstrap { seed, resamples: 1_000, ..HOW };
        let found = how.slope(&runs).expect("five runs");
        assert!(found.slope.contains(found.line.slope()) && found.intercept.contains(found.line.intercept()));
        covered += u32::from(found.slope.contains(2.0));
        let naive = Line::fit(&runs.concat()).expect("a line").slope_interval(Level::P95);
        by_points += u32::from(naive.expect("finite").expect("25 points").contains(2.0));
    }
    let share = |count: u32| f64::from(count) / trials as f64;
    assert!(share(covered) > 0.90, "{}", share(covered));
    assert!(share(by_points) < share(covered) - 0.05, "{} {}", share(by_points), share(covered));
}

#[test]
fn the_seed_decides_and_constants_have_no_width() {
    let (a, b) = (sample(&[10.0, 11.0, 12.0, 13.0, 14.0]), sample(&[20.0, 22.0, 24.0, 26.0, 28.0]));
    let first = HOW.ratio_of_medians(&b, &a).expect("a ratio");
    assert_eq!(first.value(), 2.0);
    assert_eq!(HOW.ratio_of_medians(&b, &a), Ok(first));
    let interval = first.interval().expect("five runs a side");
    assert!(interval.low() >= 20.0 / 14.0 && interval.high() <= 28.0 / 10.0 && interval.contains(2.0));
    assert_eq!(first.differs(None), Some(true));
    assert_eq!((first.differs(Some(0.99)), first.differs(Some(1.01))), (Some(true), Some(false)));
    let constant = sample(&[7.0; 5]);
    let same = HOW.ratio_of_medians(&constant, &constant).expect("a ratio");
    let interval = same.interval().expect("five runs a side");
    assert_eq!((interval.low(), interval.high(), same.differs(None)), (1.0, 1.0, Some(false)));
}

#[test]
fn what_cannot_be_told_says_why() {
    let few = sample(&[1.0, 2.0, 3.0, 4.0]);
    let ratio = HOW.ratio_of_medians(&few, &few).expect("a ratio");
    assert_eq!((ratio.value(), ratio.interval(), ratio.differs(None)), (1.0, None, None));
    let with_zero = sample(&[0.0, 1.0, 2.0, 3.0, 4.0]);
    let reason = Err(StatisticsError::NotPositive { value: 0.0 });
    assert_eq!(HOW.ratio_of_medians(&few, &with_zero), reason);
    let (tiny, huge) = (sample(&[f64::MIN_POSITIVE; 5]), sample(&[f64::MAX; 5]));
    assert_eq!(HOW.ratio_of_medians(&huge, &tiny), Err(StatisticsError::Overflow));
    assert_eq!(HOW.ratio_of_medians(&tiny, &huge), Err(StatisticsError::NotPositive { value: 0.0 }));
    let none = Bootstrap { resamples: 0, ..HOW };
    let five = sample(&[1.0; 5]);
    assert_eq!(none.ratio_of_medians(&five, &five), Err(StatisticsError::TooFew { got: 0, least: 1 }));
    let many = Bootstrap { resamples: u32::MAX, ..HOW };
    assert!(matches!(many.ratio_of_medians(&five, &five), Err(StatisticsError::TooMany { .. })));
    let run = vec![Point { x: 0.0, y: 0.0 }, Point { x: 1.0, y: 1.0 }];
    let four = vec![run.clone(); 4];
    assert_eq!(HOW.slope(&four), Err(StatisticsError::TooFew { got: 4, least: 5 }));
    let flat = [vec![run; 4], vec![vec![Point { x: 1.0, y: 1.0 }; 2]]].concat();
    assert_eq!(HOW.slope(&flat), Err(StatisticsError::NoSpread));
}

proptest! {
    #[test]
    fn whatever_the_samples_there_is_a_finite_ratio_or_a_reason(
        a in proptest::collection::vec(proptest::num::f64::NORMAL, 1..9),
        b in proptest::collection::vec(1e-3..1e3_f64, 1..9),
        seed: u64,
    ) {
        let how = Bootstrap { seed, resamples: 50, coverage: Level::P90 };
        let (a, b) = (sample(&a), sample(&b));
        for (above, below) in [(&a, &b), (&b, &a)] {
            let Ok(ratio) = how.ratio_of_medians(above, below) else { continue };
            prop_assert!(ratio.value().is_finite() && ratio.value() > 0.0);
            let Some(interval) = ratio.interval() else { continue };
            prop_assert!(interval.low().is_finite() && interval.high().is_finite());
            prop_assert!(interval.low() >= above.min() / below.max() * 0.999_999);
            prop_assert!(interval.high() <= above.max() / below.min() * 1.000_001);
        }
    }
}
