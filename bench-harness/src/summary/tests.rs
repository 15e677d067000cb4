//! Medians, intervals, and repetitions that do not agree.

use super::*;
use crate::row::Measured;

#[test]
fn the_median_and_interval_of_known_samples() {
    let spread = |figures: &[f64]| Spread::of(figures.to_vec());
    assert_eq!(spread(&[]), None);
    let one = spread(&[7.0]).unwrap();
    assert_eq!((one.median.get(), one.n, one.interval), (7.0, 1, None));
    let of = |figures: &[f64]| {
        let spread = spread(figures).unwrap();
        let interval = spread.interval.unwrap();
        (spread.median.get(), interval.low(), interval.high(), interval.coverage())
    };
    assert_eq!(of(&[5.0, 1.0, 4.0, 2.0, 3.0]), (3.0, 1.0, 5.0, 0.9375));
    // Of eight, the second and the last but one are enough: one repetition that went wrong is not in the interval.
    assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 99.0]), (4.5, 2.0, 7.0, 0.929_687_5));
    assert_eq!(spread(&[1.0, 2.0]).unwrap().median.get(), 1.5);
}

fn verdict(repetition: u32, capacity: f64, limit: &str, censored: bool) -> Row {
    let cell = CellId {
        experiment: "capacity.hold".into(),
        runtime: "tokio".into(),
        variant: "multi-thread".into(),
        params: BTreeMap::new(),
    };
    let mut measured = Measured::default();
    measured.metric("in_flight_capacity", capacity);
    let row = Row::measured(cell, repetition, measured);
    let status = if censored { Status::Censored } else { Status::Ok };
    Row { status, limited_by: Some(limit.to_owned()), censored: Some(censored), ..row }
}

fn group_of(rows: &[Row]) -> Group {
    let mut groups = groups(&Run::default(), rows);
    assert_eq!(groups.len(), 1);
    groups.remove(0)
}

#[test]
fn one_lower_bound_makes_the_median_one() {
    let mut rows = vec![
        verdict(1, 1_000.0, "objective", false),
        verdict(2, 2_000.0, "objective", false),
        verdict(3, 500.0, "load client", true),
    ];
    let mixed = group_of(&rows);
    assert_eq!(
        (mixed.median("in_flight_capacity"), mixed.censored, mixed.is_mixed),
        (Some(1_000.0), Some(true), true)
    );
    assert_eq!(mixed.limited_by.as_deref(), Some("objective (2 of 3), load client (1 of 3)"));
    assert_eq!(
        (mixed.status, mixed.reason.as_deref()),
        (Status::Censored, Some("1 of 3 repetitions are lower bounds, and so is their median"))
    );
    let entry = serde_json::to_value(&entries(std::slice::from_ref(&mixed))[0]).unwrap();
    assert_eq!((&entry["censored"], &entry["median"]), (&true.into(), &1_000.into()));
    rows.pop();
    let exact = group_of(&rows);
    assert_eq!((exact.censored, exact.is_mixed, exact.reason), (Some(false), false, None));
    assert_eq!(exact.limited_by.as_deref(), Some("objective"));
    let all = group_of(&[1, 2].map(|repetition| verdict(repetition, 500.0, "load client", true)));
    assert_eq!((all.censored, all.is_mixed, all.reason), (Some(true), false, None));
}

#[test]
fn a_step_that_was_met_at_times_says_how_often_it_was_not() {
    let met = Row { limited_by: None, censored: None, ..verdict(1, 1_000.0, "", false) };
    let missed = Row { censored: None, ..verdict(2, 1_000.0, "objective", false) };
    let step = group_of(&[met.clone(), missed]);
    assert_eq!((step.limited_by.as_deref(), step.censored), (Some("objective (1 of 2)"), None));
    assert_eq!(group_of(&[met]).limited_by, None);
}
