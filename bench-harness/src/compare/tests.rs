//! Two runs that are made up, one like the other but for what is doctored.

use super::*;
use crate::report::browser;
use crate::report::tests::{burst, cell, run};
use crate::row::{Measured, Status};
use crate::style::Style;

fn side(name: &str, run: Run, rows: Vec<Row>) -> Side {
    Side::new(name.to_owned(), run, rows)
}

fn compared(a: (Run, Vec<Row>), b: (Run, Vec<Row>)) -> Comparison {
    Comparison::of(&side("a", a.0, a.1), &side("b", b.0, b.1), &Floors::default())
}

/// Five repetitions, spread by a percent or two as those of a quiet machine are.
const SPREAD: [f64; 5] = [1.0, 0.987, 1.012, 1.006, 0.994];

fn repeated(runtime: &str, factor: f64, turn: usize) -> Vec<Row> {
    let of = |repetition: usize| {
        let spread = SPREAD[(repetition + turn) % SPREAD.len()];
        let mut row =
            burst(runtime, "multi-thread", 1, [10_000.0, 104.0 * factor * spread, 100.0, 10_000.0], None);
        row.repetition = u32::try_from(repetition + 1).unwrap();
        let mut measured = Measured::default();
        measured.metric("throughput_per_s", 90_000.0 * factor * spread);
        row.metrics.extend(measured.metrics);
        row
    };
    (0..SPREAD.len()).map(of).collect()
}

fn verdict(comparison: &Comparison, metric: &str) -> Verdict {
    let found = comparison.figures.iter().find(|figure| figure.metric.as_deref() == Some(metric));
    found.unwrap_or_else(|| panic!("no {metric} in {comparison:#?}")).verdict
}

#[test]
fn a_run_is_unchanged_against_itself() {
    let rows = repeated("tokio", 1.0, 0);
    let comparison = compared((run(), rows.clone()), (run(), rows.clone()));
    let counts = comparison.counts;
    // Elapsed, dispatch, throughput and CPU; what describes the cell or is computed is no figure of its own.
    assert_eq!((counts.cells, counts.unchanged, comparison.figures.len()), (1, 4, 4));
    assert_eq!(comparison.notes[0], "A and B are the same run.");
    // One repetition is unchanged against itself too, and says nothing against another.
    let one = |figure| vec![burst("tokio", "multi-thread", 1, [100.0, figure, 100.0, 100.0], None)];
    assert_eq!(
        verdict(&compared((run(), one(104.0)), (run(), one(104.0))), "elapsed_ns"),
        Verdict::Unchanged
    );
    let other = compared((run(), one(104.0)), (run(), one(250.0)));
    assert_eq!(other.counts.inconclusive, other.figures.len());
    assert_eq!(other.figures[0].repetitions_wanted, Some(5));
    assert!(
        text(&other, Style::default()).contains("(--repetitions 5)"),
        "{}",
        text(&other, Style::default())
    );
}

#[test]
fn ten_percent_more_is_a_regression_of_time_and_an_improvement_of_throughput() {
    let slower = compared((run(), repeated("tokio", 1.0, 0)), (run(), repeated("tokio", 1.1, 2)));
    assert_eq!(verdict(&slower, "elapsed_ns"), Verdict::Regressed);
    assert_eq!(verdict(&slower, "throughput_per_s"), Verdict::Improved);
    assert_eq!(verdict(&slower, "cpu_ns_per_request"), Verdict::Unchanged);
    let elapsed = &slower.figures[0];
    assert_eq!(elapsed.verdict, Verdict::Regressed, "regressions come first");
    assert!((elapsed.ratio.unwrap().get() - 1.1).abs() < 0.01, "{elapsed:?}");
    let faster = compared((run(), repeated("tokio", 1.1, 2)), (run(), repeated("tokio", 1.0, 0)));
    assert_eq!(verdict(&faster, "elapsed_ns"), Verdict::Improved);
    assert_eq!(verdict(&faster, "throughput_per_s"), Verdict::Regressed);
    // The same figures in another order of repetitions are no change.
    let again = compared((run(), repeated("tokio", 1.0, 0)), (run(), repeated("tokio", 1.0, 3)));
    assert_eq!((again.counts.unchanged, again.figures.len()), (4, 4));
    let told = text(&slower, Style::default());
    assert!(told.contains("4 figures compared by an interval: if nothing had changed, 0.2 of"), "{told}");
    insta::assert_snapshot!(told);
}

/// What is told of a run that was changed, and the change.
type Mutant = (&'static str, fn(&mut Run));

#[test]
fn whatever_must_be_alike_is_named_where_it_is_not() {
    let mutants: [Mutant; 12] = [
        ("CPU: a processor and another", |run| run.machine.cpu = Some("another".into())),
        ("CPUs: 2 and 4", |run| run.machine.cpus = Some(4)),
        ("kernel: 6.18 and 6.19", |run| run.machine.kernel = Some("6.19".into())),
        ("build profile: release and debug", |run| run.build.profile = Some("debug".into())),
        ("lockfile: not known and fac", |run| run.build.lock_hash = Some("fac".into())),
        ("descriptor limit: 20000 and 1024", |run| run.machine.descriptors_soft = Some(1_024)),
        ("vm.max_map_count: 65530 and 262144", |run| run.machine.max_map_count = Some(262_144)),
        ("CPU quota, cgroup v1: none and 1.5", |run| run.machine.cgroup.cpus_v1 = Some(1.5)),
        ("CPU quota, cgroup v2: none and 0.5", |run| run.machine.cgroup.cpus_v2 = Some(0.5)),
        ("workers: 2 and 8", |run| run.workers = vec![8]),
        ("size: full and quick", |run| run.size = "quick".into()),
        ("capacity.burst, requests: 100 and 10", |run| define(run, 10)),
    ];
    fn define(run: &mut Run, requests: u64) {
        let table = serde_json::json!({"plan": "wait=5ms", "requests": requests});
        run.definition.insert("capacity.burst".into(), table);
    }
    let defined = || {
        let mut run = run();
        define(&mut run, 100);
        run
    };
    let a = side("a", defined(), repeated("tokio", 1.0, 0));
    assert!(Comparison::refused(&a, &side("b", defined(), repeated("tokio", 1.1, 0))).is_none());
    for (expected, mutate) in mutants {
        let mut other = defined();
        mutate(&mut other);
        let b = side("b", other, repeated("tokio", 1.1, 0));
        let refused = Comparison::refused(&a, &b).expect("they differ");
        let told: Vec<String> = refused.differences.iter().map(ToString::to_string).collect();
        assert_eq!(told, [expected]);
        assert!(refused.figures.is_empty() && !text(&refused, Style::default()).contains("NOT COMPARABLE"));
        // Who asks for the figures all the same is told what they are.
        let anyway = Comparison::of(&a, &b, &Floors::default());
        assert_eq!(verdict(&anyway, "elapsed_ns"), Verdict::Regressed);
        let (told, page) = (text(&anyway, Style::default()), html(&anyway));
        assert!(told.contains(&format!("differs: {expected}")) && told.contains("NOT COMPARABLE"), "{told}");
        assert!(page.contains("These runs cannot be compared") && page.contains("NOT COMPARABLE"));
    }
    // An older run that does not say what its values were is held against what it does say.
    let older = side("b", run(), repeated("tokio", 1.0, 0));
    assert!(Comparison::refused(&a, &older).is_none());
    let notes = Comparison::of(&a, &older, &Floors::default()).notes;
    assert!(notes.iter().any(|note| note.starts_with("B does not say what the values")), "{notes:?}");
}

#[test]
fn figures_that_must_not_be_ranked_are_named_and_never_compared() {
    let with = |status: Status, reason: &str| {
        let mut rows = repeated("tokio", 1.1, 0);
        for row in &mut rows {
            (row.status, row.reason) = (status, Some(reason.to_owned()));
            if matches!(status, Status::Failed | Status::Unsupported) {
                row.metrics.clear();
            }
        }
        rows
    };
    let ok = || repeated("tokio", 1.0, 0);
    let only = |a: Vec<Row>, b: Vec<Row>| {
        let comparison = compared((run(), a), (run(), b));
        let cells: Vec<&Compared> =
            comparison.figures.iter().filter(|figure| figure.metric.is_none()).collect();
        let [one] = cells[..] else { panic!("{comparison:#?}") };
        (one.verdict, one.reason.clone().unwrap(), comparison.figures.len())
    };
    let invalid = || with(Status::Invalid, "check lost failed");
    assert_eq!(
        only(ok(), invalid()),
        (Verdict::Incomparable, "was ok, is invalid: check lost failed".into(), 1)
    );
    assert_eq!(
        only(invalid(), ok()),
        (Verdict::Incomparable, "was invalid, is ok: check lost failed".into(), 1)
    );
    assert_eq!(
        only(invalid(), invalid()),
        (Verdict::Incomparable, "invalid in both: check lost failed".into(), 1)
    );
    let alike = text(&compared((run(), invalid()), (run(), invalid())), Style::default());
    assert!(
        alike.contains("1 cell has no figure to compare in either run") && !alike.contains("in both"),
        "{alike}"
    );
    // What it could do, and cannot any more, is a change for the worse, and the other way round for the better.
    let failed = || with(Status::Failed, "it died");
    assert_eq!(only(ok(), failed()), (Verdict::Regressed, "was ok, is failed: it died".into(), 1));
    assert_eq!(only(failed(), ok()), (Verdict::Improved, "was failed, is ok: it died".into(), 1));
    // A lower bound is no figure; CPU a request is one all the same.
    let bound = || with(Status::Censored, "load client");
    assert_eq!(only(ok(), bound()), (Verdict::Incomparable, "was ok, is censored: load client".into(), 2));
    let comparison = compared((run(), bound()), (run(), bound()));
    let metrics: Vec<_> = comparison.figures.iter().filter_map(|figure| figure.metric.as_deref()).collect();
    assert_eq!(metrics, ["cpu_ns_per_request"]);
}

#[test]
fn cells_of_one_run_alone_are_named() {
    let mut more = repeated("tokio", 1.0, 1);
    let hold = cell("capacity.hold-tasks", "tokio", "multi-thread", &[("requests", 500.into())]);
    let mut measured = Measured::default();
    measured.metric("response_p99_ns", 1e8);
    more.push(Row::measured(hold, 1, measured));
    let comparison = compared((run(), more), (run(), repeated("tokio", 1.0, 0)));
    assert_eq!(comparison.only_in_a, ["capacity.hold-tasks tokio requests=500"]);
    let told = text(&comparison, Style::default());
    assert!(told.contains("1 cell is in A alone: capacity.hold-tasks tokio requests=500."), "{told}");
    let nothing = compared((run(), repeated("tokio", 1.0, 0)), (run(), repeated("threads", 1.0, 0)));
    assert_eq!(nothing.counts.cells, 0);
    assert!(text(&nothing, Style::default()).contains("No cell is in both runs."));
}

#[test]
fn a_metric_of_which_nothing_is_known_is_left_out_by_name() {
    let odd = || {
        let mut rows = repeated("tokio", 1.0, 0);
        let mut measured = Measured::default();
        measured.metric("sparkles", 3.0);
        rows.iter_mut().for_each(|row| row.metrics.extend(measured.metrics.clone()));
        rows
    };
    let comparison = compared((run(), odd()), (run(), odd()));
    assert!(
        comparison.notes.iter().any(|note| note.ends_with("better: sparkles.")),
        "{:?}",
        comparison.notes
    );
    assert!(comparison.figures.iter().all(|figure| figure.metric.as_deref() != Some("sparkles")));
}

#[test]
fn the_page_needs_nothing_else_and_its_links_lead_somewhere() {
    let hostile = Side::new("<script>alert(1)</script>".into(), run(), repeated("tokio", 1.1, 2));
    let comparison =
        Comparison::of(&side("a", run(), repeated("tokio", 1.0, 0)), &hostile, &Floors::default());
    let page = html(&comparison);
    for forbidden in ["http://", "https://", "<script", " src=", "@import", "<link", "<iframe"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    for link in page.split(" href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(page.contains(&format!(" id=\"{link}\"")), "{link}");
    }
    for part in ["Regressed: 2", "Improved: 1", "Unchanged: 1", "elapsed_ns", "default-src 'none'"] {
        assert!(page.contains(part), "{part}");
    }
    browser::shows_without_a_complaint(&page);
    // The cells that a reader is spared at a terminal are there; and a column of reasons is, where there is one.
    let mut rows = repeated("tokio", 1.0, 0);
    rows.iter_mut()
        .for_each(|row| (row.status, row.reason) = (Status::Invalid, Some("check lost failed".into())));
    let spared = html(&compared((run(), rows.clone()), (run(), rows)));
    assert!(spared.contains("data-label=\"reason\">invalid in both: check lost failed<"), "{spared}");
    assert!(!page.contains("data-label=\"reason\""));
}
