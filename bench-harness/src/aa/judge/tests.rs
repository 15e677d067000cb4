//! Figures whose truth is known: equals, a side that is slower, and an instrument that sees differences in noise.

use workload::kernel;

use super::*;

const RULE: Rule = Rule {
    coverage: Level::P95,
    floor_share: Level::P90,
    resamples: 500,
    seed: 3,
    repetitions: 5,
    planted: Some(1.1),
};

/// Figures around 100 with a spread of some per cent, `factor` times as large on each side.
fn figures(pairs: u32, factor: impl Fn(Side, u32) -> f64) -> Figures {
    let mut figures = Figures::default();
    let mut counter = 1;
    for pair in 1..=pairs {
        for _ in 0..5 {
            for side in [Side::A, Side::B, Side::Planted] {
                // The sum of four even draws is close enough to a bell.
                let noise: f64 =
                    (0..4).map(|_| (kernel::random(&mut counter) >> 32) as f64 / 2_f64.powi(32)).sum();
                let value = 100.0 * (1.0 + 0.02 * (noise - 2.0)) * factor(side, pair);
                let metrics = [("elapsed_ns".to_owned(), value), ("bound_ns".to_owned(), 90.0)];
                figures.add("wait", pair, side, metrics.iter().map(|(name, value)| (name, *value)));
            }
        }
    }
    figures
}

fn slower(side: Side) -> f64 {
    if side == Side::Planted { 1.1 } else { 1.0 }
}

#[test]
fn equals_have_few_alarms_and_a_planted_tenth_is_found() {
    let judgement = figures(20, |side, _| slower(side)).judge(&RULE);
    // What is computed and not measured has no noise, and is not judged.
    let [judged] = &judgement.metrics[..] else { panic!("{judgement:?}") };
    assert_eq!((judged.pairs, judged.ratios.len()), (20, 20));
    // P(at least 3 of 20 at 5 %) is 0.0755, and P(at least 4) is 0.0159: below 5 %, which one metric has to itself.
    assert_eq!((judgement.significance, judged.false_alarms_most), (0.05, 3));
    assert!(judged.false_alarms <= Some(3), "{judged:?}");
    assert!((judged.ratio.value - 1.0).abs() < 0.01 && judged.floor < 0.05, "{judged:?}");
    assert!((judged.floor_confidence - (1.0 - 0.9_f64.powi(20))).abs() < 1e-9);
    let planted = judged.planted.as_ref().unwrap();
    assert!((planted.ratio.value - 1.1).abs() < 0.01, "{planted:?}");
    assert!(planted.found == Some(20) && planted.found_above_floor >= Some(19), "{planted:?}");
    assert_eq!(judgement.faults(), [""; 0]);
}

#[test]
fn an_instrument_that_sees_differences_between_equals_is_found_out() {
    // B is measured later each time, and the machine has become slower: interleaving was left out.
    let judgement = figures(20, |side, _| if side == Side::B { 1.05 } else { slower(side) }).judge(&RULE);
    let faults = judgement.faults();
    assert!(faults.len() == 1 && faults[0].contains("false alarms in 20 pairs"), "{faults:?}");
    assert!(judgement.metrics[0].false_alarms_p_value < Some(1e-6));
    // One that is slower than its plan says is found all the same, one that is not slower is not.
    let idle = figures(20, |_, _| 1.0).judge(&RULE);
    assert!(idle.faults().iter().any(|fault| fault.contains("was not found by")), "{idle:?}");
    // One that is faster was not what was planted.
    let faster = figures(20, |side, _| if side == Side::Planted { 0.9 } else { 1.0 }).judge(&RULE);
    assert!(faster.faults().iter().any(|fault| fault.contains("was not found by")), "{faster:?}");
}

#[test]
fn drift_that_falls_on_both_sides_alike_is_no_alarm() {
    let judgement = figures(20, |side, pair| slower(side) * (1.0 + f64::from(pair) / 10.0)).judge(&RULE);
    assert!(judgement.metrics[0].false_alarms <= Some(3), "{judgement:?}");
    assert_eq!(judgement.faults(), [""; 0]);
}

#[test]
fn a_pair_that_is_not_whole_is_not_compared_and_too_few_runs_tell_no_alarm() {
    let mut figures = figures(3, |side, _| slower(side));
    figures
        .by_metric
        .get_mut(&("wait".to_owned(), "elapsed_ns".to_owned()))
        .unwrap()
        .get_mut(&2)
        .unwrap()
        .get_mut(&Side::B)
        .unwrap()
        .pop();
    assert_eq!(figures.judge(&RULE).metrics[0].pairs, 2);
    // A side whose runs all failed is not passed over.
    let figures = figures_of_two_sides();
    let faults = figures.judge(&RULE).faults();
    assert!(faults.len() == 1 && faults[0].contains("elapsed_ns of wait cannot be judged"), "{faults:?}");
    let mut one = Figures::default();
    for side in [Side::A, Side::B] {
        one.add("wait", 1, side, [("elapsed_ns".to_owned(), 7.0)].iter().map(|(name, value)| (name, *value)));
        one.add("wait", 1, side, [("idle".to_owned(), 0.0)].iter().map(|(name, value)| (name, *value)));
    }
    let judgement = one.judge(&Rule { repetitions: 1, planted: None, ..RULE });
    let judged = &judgement.metrics[0];
    assert_eq!((judged.false_alarms, judged.false_alarms_p_value, judged.floor), (None, None, 0.0));
    assert_eq!(judgement.left_out.len(), 1);
    assert!(judgement.left_out[0].reason.contains("above zero"), "{judgement:?}");
    let json = serde_json::to_string(&judgement).unwrap();
    assert!(json.contains(r#""false_alarms":null"#) && !json.contains("NaN"), "{json}");
}

fn figures_of_two_sides() -> Figures {
    let mut figures = figures(3, |_, _| 1.0);
    for sides in figures.by_metric.values_mut().flat_map(BTreeMap::values_mut) {
        sides.remove(&Side::Planted);
    }
    figures
}
