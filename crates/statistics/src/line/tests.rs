//! Certified and published fits, and what holds for every line.

use proptest::prelude::*;

use super::*;

fn points(pairs: &[(f64, f64)]) -> Vec<Point> {
    pairs.iter().map(|&(x, y)| Point { x, y }).collect()
}

#[track_caller]
fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found - expected).abs() <= expected.abs() * share, "{found}, not {expected}");
}

/// NIST Statistical Reference Datasets, linear regression, "Norris": (x, y).
const NORRIS: [(f64, f64); 36] = [
    (0.2, 0.1),
    (337.4, 338.8),
    (118.2, 118.1),
    (884.6, 888.0),
    (10.1, 9.2),
    (226.5, 228.1),
    (666.3, 668.5),
    (996.3, 998.5),
    (448.6, 449.1),
    (777.0, 778.9),
    (558.2, 559.2),
    (0.4, 0.3),
    (0.6, 0.1),
    (775.5, 778.1),
    (666.9, 668.8),
    (338.0, 339.3),
    (447.5, 448.9),
    (11.6, 10.8),
    (556.0, 557.7),
    (228.1, 228.3),
    (995.8, 998.0),
    (887.6, 888.8),
    (120.2, 119.6),
    (0.3, 0.3),
    (0.3, 0.6),
    (556.8, 557.6),
    (339.1, 339.3),
    (887.2, 888.0),
    (999.0, 998.5),
    (779.0, 778.9),
    (11.1, 10.2),
    (118.3, 117.6),
    (229.2, 228.9),
    (669.1, 668.4),
    (448.9, 449.2),
    (0.5, 0.2),
];

#[test]
fn the_certified_line_is_found_to_ten_digits() {
    let line = Line::fit(&points(&NORRIS)).expect("a line");
    assert_near(line.slope(), 1.002_116_818_020_45, 1e-10);
    assert_near(line.intercept(), -0.262_323_073_774_029, 1e-10);
    let errors = line.errors.expect("36 points");
    assert_near(errors.slope, 0.429_796_848_199_937e-3, 1e-10);
    assert_near(errors.intercept, 0.232_818_234_301_152, 1e-10);
}

#[test]
fn a_published_interval_is_found() {
    // Anscombe, "Graphs in Statistical Analysis" (1973), first set: slope 0.5, its standard error 0.118, intercept 3,
    // n = 11. Student's t of nine degrees of freedom at 97.5 % is 2.262 (NIST/SEMATECH e-Handbook, 1.3.6.7.2).
    let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
    let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
    let pairs: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
    let line = Line::fit(&points(&pairs)).expect("a line");
    assert_near(line.slope(), 0.500_09, 1e-4);
    assert_near(line.intercept(), 3.000_09, 1e-4);
    let interval = line.slope_interval(Level::P95).expect("finite").expect("eleven points");
    assert_near((interval.high() - interval.low()) / 2.0, 2.262 * 0.1179, 1e-3);
    assert_eq!(interval.coverage(), 0.95);
    let interval = line.intercept_interval(Level::P95).expect("finite").expect("eleven points");
    assert_near((interval.high() - interval.low()) / 2.0, 2.262 * 1.1247, 1e-3);
}

#[test]
fn students_t_is_that_of_the_tables() {
    // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
    for (freedom, coverage, expected) in [
        (1, 0.95, 12.706),
        (2, 0.95, 4.303),
        (3, 0.95, 3.182),
        (3, 0.9, 2.353),
        (4, 0.95, 2.776),
        (9, 0.99, 3.250),
        (29, 0.95, 2.045),
        (100, 0.95, 1.984),
    ] {
        let level = Level::new(coverage).expect("a probability");
        let found = student_t(level, freedom).expect("finite");
        assert!((found - expected).abs() < 0.000_6, "{freedom}: {found}, not {expected}");
    }
    // With many degrees of freedom it is the normal distribution's.
    assert_near(student_t(Level::P95, 9_998).expect("finite"), 1.960_2, 1e-4);
}

#[test]
fn too_little_for_a_line_or_an_interval_says_so() {
    assert_eq!(Line::fit(&[]), Err(StatisticsError::TooFew { got: 0, least: 2 }));
    assert_eq!(Line::fit(&points(&[(1.0, 1.0)])), Err(StatisticsError::TooFew { got: 1, least: 2 }));
    let two = Line::fit(&points(&[(0.0, 1.0), (2.0, 5.0)])).expect("a line");
    assert_eq!((two.slope(), two.intercept(), two.n()), (2.0, 1.0, 2));
    assert_eq!(two.slope_interval(Level::P95), Ok(None));
    assert_eq!(two.intercept_interval(Level::P95), Ok(None));
    assert_eq!(Line::fit(&points(&[(3.0, 1.0), (3.0, 5.0)])), Err(StatisticsError::NoSpread));
    assert_eq!(
        Line::fit(&points(&[(0.0, 1.0), (f64::NAN, 5.0)])),
        Err(StatisticsError::NotFinite { index: 1 })
    );
    let exact = Line::fit(&points(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)])).expect("a line");
    let interval = exact.slope_interval(Level::P99).expect("finite").expect("three points");
    assert!(interval.contains(2.0) && interval.high() - interval.low() < 1e-9, "{interval:?}");
}

#[test]
fn what_cannot_be_represented_is_an_error_and_no_infinity() {
    let huge = points(&[(-1e-300, -1e300), (0.0, 0.0), (1e-300, 1e300)]);
    assert_eq!(Line::fit(&huge), Err(StatisticsError::Overflow));
    let far = points(&[(0.0, f64::MAX), (1.0, -f64::MAX), (2.0, f64::MAX)]);
    assert_eq!(Line::fit(&far), Err(StatisticsError::Overflow));
}

proptest! {
    #[test]
    fn scaling_y_scales_the_line_and_its_intervals(
        ys in proptest::collection::vec(-1e6..1e6_f64, 3..20),
        factor in 0.001..1_000.0_f64,
    ) {
        let at = |factor: f64| -> Vec<Point> {
            ys.iter().enumerate().map(|(x, y)| Point { x: x as f64, y: y * factor }).collect()
        };
        let (one, scaled) = (Line::fit(&at(1.0)).expect("a line"), Line::fit(&at(factor)).expect("a line"));
        let size = ys.iter().fold(1.0, |size, y| f64::max(size, y.abs())) * factor;
        prop_assert!((one.slope() * factor - scaled.slope()).abs() <= size * 1e-9);
        let interval = |line: &Line| line.slope_interval(Level::P95).expect("finite").expect("three points");
        let width = |interval: Interval| interval.high() - interval.low();
        prop_assert!((width(interval(&one)) * factor - width(interval(&scaled))).abs() <= size * 1e-9);
        prop_assert!(interval(&one).contains(one.slope()));
    }

    #[test]
    fn whatever_the_points_there_is_a_finite_line_or_a_reason(
        pairs in proptest::collection::vec((proptest::num::f64::ANY, proptest::num::f64::ANY), 0..12),
    ) {
        if let Ok(line) = Line::fit(&points(&pairs)) {
            prop_assert!(line.slope().is_finite() && line.intercept().is_finite());
            if let Ok(Some(interval)) = line.slope_interval(Level::P95) {
                prop_assert!(interval.low().is_finite() && interval.high().is_finite());
            }
        }
    }
}
