//! Standings and reasons in the decision table.

use std::collections::BTreeMap;

use super::*;
use crate::report::tests::{burst, cell, rows, run};
use crate::row::{Measured, Row};
use crate::summary;

const BURST: [f64; 4] = [10_000.0, 110.0, 100.0, 10_000.0];

fn decision(run: &Run, rows: &[Row]) -> Decision {
    Decision::of(run, &summary::groups(run, rows))
}

fn five(runtime: &str, variant: &str, elapsed_ms: [f64; 5]) -> Vec<Row> {
    let row = |(repetition, elapsed): (u32, f64)| {
        burst(runtime, variant, repetition, [BURST[0], elapsed, BURST[2], BURST[3]], None)
    };
    (1..).zip(elapsed_ms).map(row).collect()
}

/// The standing of each variant in the first column.
fn standings_of(decision: &Decision) -> Vec<(&str, Standing)> {
    decision.lines.iter().map(|line| (line.label.as_str(), line.cells[0].standing)).collect()
}

#[test]
fn what_is_ahead_of_all_others_is_best_and_intervals_that_overlap_are_ties() {
    let floor = five(FLOOR, "heap", [101.0, 101.0, 101.0, 101.0, 101.0]);
    let ahead = five("tokio", "multi-thread", [110.0, 111.0, 112.0, 113.0, 114.0]);
    let near = five("tokio", "current-thread", [113.5, 115.0, 116.0, 117.0, 118.0]);
    let behind = five("threads", "per-request", [1_000.0, 1_010.0, 1_020.0, 1_030.0, 1_040.0]);
    let rows = [floor.clone(), ahead.clone(), behind.clone()].concat();
    let clear = decision(&run(), &rows);
    assert_eq!(
        standings_of(&clear),
        [("floor", Standing::Untold), ("threads", Standing::Untold), ("tokio", Standing::Best)]
    );
    let tied = decision(&run(), &[floor, ahead, near, behind].concat());
    let expected = [
        ("floor", Standing::Untold),
        ("threads", Standing::Untold),
        ("tokio", Standing::Tie),
        ("tokio:current-thread", Standing::Tie),
    ];
    assert_eq!(standings_of(&tied), expected);
}

#[test]
fn a_noise_floor_decides_where_there_is_one_for_as_many_repetitions() {
    let rows = [
        five("tokio", "multi-thread", [110.0; 5]),
        five("tokio", "current-thread", [112.0, 112.0, 112.0, 112.0, 112.0]),
    ]
    .concat();
    let with_floor = |share: f64, repetitions: u32| {
        let by_metric = BTreeMap::from([("efficiency".to_owned(), share)]);
        let noise_floor = Some(NoiseFloor { measured_on: "floor".into(), repetitions, by_metric });
        let decision = decision(&Run { noise_floor, ..run() }, &rows);
        decision.lines.iter().map(|line| line.cells[0].standing).collect::<Vec<_>>()
    };
    assert_eq!(with_floor(0.02, 5), [Standing::Tie, Standing::Tie]);
    assert_eq!(with_floor(0.01, 5), [Standing::Best, Standing::Untold]);
    // A floor of more repetitions says nothing of these; their intervals do.
    assert_eq!(with_floor(0.02, 9), [Standing::Best, Standing::Untold]);
}

#[test]
fn one_repetition_tells_no_best_one() {
    let once =
        [burst("tokio", "multi-thread", 1, BURST, None), burst("threads", "per-request", 1, BURST, None)];
    let decision = decision(&run(), &once);
    assert!(!decision.is_ranked && decision.markdown().contains("No best one and no tie is told"));
}

#[test]
fn a_figure_that_is_missing_or_not_ranked_has_a_reason() {
    let mut bent = burst("threads", "per-request", 1, BURST, None);
    bent.status = Status::Invalid;
    bent.reason = Some("check lost failed: 3 against 0".into());
    let idle =
        Row::measured(cell("memory.connections", "tokio", "multi-thread", &[]), 1, Measured::default());
    let decision = decision(&run(), &[rows(), vec![bent, idle]].concat());
    let told: Vec<Option<(&str, &str)>> = decision
        .lines
        .iter()
        .map(|line| {
            line.cells[0].told.map(|(status, number)| (status, decision.reasons[number - 1].as_str()))
        })
        .collect();
    assert_eq!(told[4].unwrap().0, "failed");
    assert!(told[4].unwrap().1.starts_with("the runner was killed"), "{told:?}");
    assert_eq!(told[..2], [None, Some(("invalid", "check lost failed: 3 against 0"))]);
    let every = || decision.lines.iter().flat_map(|line| &line.cells);
    assert!(every().all(|cell| cell.figure.is_some() || cell.told.is_some()));
    assert!(every().any(|cell| cell.figure.is_none() && cell.anchor.is_some()));
}

#[test]
fn a_lower_bound_and_its_limit_are_told_and_never_ranked() {
    let decision = decision(&run(), &rows());
    let capacity = &decision.lines[0].cells[1];
    assert_eq!(capacity.figure.as_deref(), Some(">= 2,000,000"));
    assert_eq!((capacity.note.as_deref(), capacity.standing), (Some("end of the ramp"), Standing::Untold));
}
