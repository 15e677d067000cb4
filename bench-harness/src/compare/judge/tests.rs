//! Verdicts on figures whose truth is known.

use proptest::prelude::*;

use super::*;

fn sample(figures: &[f64]) -> Sample {
    Sample::new(figures.iter().copied()).expect("figures")
}

/// Figures about 100, spread by some percent as those of runs are: a sum of a few even draws, from a seed.
fn drawn(n: usize, percent: f64, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut even = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    // Three even draws from 0 to 1 have a standard deviation of one half.
    (0..n).map(|_| 100.0 * (1.0 + percent / 100.0 * 2.0 * (even() + even() + even() - 1.5))).collect()
}

fn verdicts(pairs: u64, n: usize, percent: f64, factor: f64) -> Vec<Verdict> {
    let judged = |pair: u64| {
        let a = sample(&drawn(n, percent, 2 * pair));
        let b: Vec<f64> = drawn(n, percent, 2 * pair + 1).iter().map(|figure| figure * factor).collect();
        judge(&a, &sample(&b), Better::Less, 0.05).verdict
    };
    (1..=pairs).map(judged).collect()
}

fn share(verdicts: &[Verdict], wanted: Verdict) -> f64 {
    verdicts.iter().filter(|verdict| **verdict == wanted).count() as f64 / verdicts.len() as f64
}

#[test]
fn ten_percent_more_is_found_and_equals_are_not_told_apart() {
    let slower = verdicts(60, 5, 2.0, 1.1);
    assert!(share(&slower, Verdict::Regressed) >= 0.95, "{slower:?}");
    let faster = verdicts(60, 5, 2.0, 1.0 / 1.1);
    assert!(share(&faster, Verdict::Improved) >= 0.95, "{faster:?}");
    let equal = verdicts(60, 5, 2.0, 1.0);
    assert!(share(&equal, Verdict::Unchanged) >= 0.9, "{equal:?}");
    assert_eq!(share(&equal, Verdict::Regressed) + share(&equal, Verdict::Improved), 0.0);
    // The same difference in noise of its own size cannot be told, and is not denied either.
    let noisy = verdicts(60, 5, 15.0, 1.1);
    assert!(share(&noisy, Verdict::Inconclusive) >= 0.8, "{noisy:?}");
}

#[test]
fn as_many_repetitions_as_are_advised_do_tell() {
    let (a, b) = (drawn(5, 10.0, 3), drawn(5, 10.0, 4));
    let few = judge(&sample(&a), &sample(&b), Better::Less, 0.05);
    let Some(Why::TooFew { repetitions }) = few.why else { panic!("{few:?}") };
    assert!((6..=200).contains(&repetitions), "{few:?}");
    let n = usize::try_from(repetitions).expect("few");
    // An estimate from five: given twice as many, most pairs are told.
    let told = verdicts(20, 2 * n, 10.0, 1.0);
    assert!(share(&told, Verdict::Inconclusive) <= 0.3, "{repetitions} {told:?}");
}

#[test]
fn fewer_than_five_tell_nothing_whatever_they_are() {
    for (a, b) in [(&[100.0][..], &[200.0][..]), (&[1.0; 5][..], &[9.0; 4][..]), (&[0.0][..], &[0.0][..])] {
        let judged = judge(&sample(a), &sample(b), Better::More, 0.05);
        assert_eq!((judged.verdict, judged.interval), (Verdict::Inconclusive, None));
        assert_eq!(judged.why, Some(Why::TooFew { repetitions: 5 }));
    }
}

#[test]
fn what_is_not_above_zero_has_no_ratio() {
    let judged = |a: [f64; 5], b: [f64; 5]| judge(&sample(&a), &sample(&b), Better::Less, 0.05);
    assert_eq!(
        (judged([0.0; 5], [0.0; 5]).verdict, judged([0.0; 5], [0.0; 5]).ratio),
        (Verdict::Unchanged, None)
    );
    let appeared = judged([0.0; 5], [16_384.0; 5]);
    assert_eq!(appeared.verdict, Verdict::Incomparable);
    let reason = StatisticsError::NotPositive { value: 0.0 };
    assert_eq!(appeared.why, Some(Why::NoRatio(reason)));
}

#[test]
fn a_difference_within_the_threshold_is_none() {
    // Told apart with certainty, and by 4 %.
    let (a, b) = ([100.0, 100.1, 100.2, 100.3, 100.4], [104.0, 104.1, 104.2, 104.3, 104.4]);
    let with = |threshold: f64| judge(&sample(&a), &sample(&b), Better::Less, threshold).verdict;
    assert_eq!((with(0.05), with(0.03)), (Verdict::Unchanged, Verdict::Regressed));
}

proptest! {
    #[test]
    fn turned_round_it_is_the_mirror(
        a in proptest::collection::vec(0.1..1e12_f64, 1..12),
        b in proptest::collection::vec(0.1..1e12_f64, 1..12),
        near in any::<bool>(),
        threshold in 0.0..0.3_f64,
    ) {
        // Figures that are near each other as well, where verdicts are not clear.
        let near = |figures: Vec<f64>| match near {
            true => figures.iter().map(|figure| 100.0 + figure / 1e11).collect(),
            false => figures,
        };
        let (a, b) = (sample(&near(a)), sample(&near(b)));
        let (there, back) = (judge(&a, &b, Better::Less, threshold), judge(&b, &a, Better::Less, threshold));
        let mirrored = match there.verdict {
            Verdict::Regressed => Verdict::Improved,
            Verdict::Improved => Verdict::Regressed,
            other => other,
        };
        prop_assert_eq!(back.verdict, mirrored);
        let is_inverse = |a: f64, b: f64| (a * b - 1.0).abs() < 1e-12;
        prop_assert!(there.ratio.zip(back.ratio).is_some_and(|(a, b)| is_inverse(a, b)));
        prop_assert_eq!(there.interval.is_some(), back.interval.is_some());
        if let Some(((low, high), (low_back, high_back))) = there.interval.zip(back.interval) {
            prop_assert!(is_inverse(low, high_back) && is_inverse(high, low_back));
            prop_assert!(low <= high);
        }
        // More is worse for one who wants less, and better for one who wants more.
        let other_way = judge(&a, &b, Better::More, threshold).verdict;
        prop_assert_eq!(other_way, mirrored);
    }
}
