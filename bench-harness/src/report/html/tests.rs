//! The page of a run that is made up: whole, by itself, and quick to make.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::*;
use crate::report::browser;
use crate::report::tests::{burst, cell, rows, run};
use crate::report::{csv, markdown};
use crate::row::{Measured, Row, Status};
use crate::summary;

fn page(rows: &[Row]) -> String {
    let run = run();
    let groups = summary::groups(&run, rows);
    html(&Data { run: &run, rows, groups: &groups, benches: None })
}

/// The values of an attribute, wherever it stands.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let begin = format!(" {attribute}=\"");
    page.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// A run that has something of every kind of chart.
fn every_kind() -> Vec<Row> {
    let mut rows = rows();
    let measured = |figures: &[(&str, f64)]| {
        let mut measured = Measured::default();
        figures.iter().for_each(|(name, figure)| measured.metric(name, *figure));
        measured
    };
    let memory = measured(&[
        ("total_bytes_per_unit", 30_352.0),
        ("pss_bytes_per_unit", 9_838.0),
        ("page_table_bytes_per_unit", 4_130.0),
        ("kernel_stack_bytes_per_unit", 16_384.0),
        ("slab_bytes_per_unit", 7_200.0),
    ]);
    let idle = cell("memory.connections", "threads", "per-request", &[("connections", 2_000.into())]);
    rows.push(Row::measured(idle, 1, memory));
    for (share, p99) in [(0_u64, 5e6), (50, 90e6), (100, 1e9)] {
        let mut probe = measured(&[("probe_p99_ns", p99), ("probe_p50_ns", p99 / 2.0)]);
        let mut histogram = cell_protocol::Histogram::new();
        (1..=2_000_u64).for_each(|index| histogram.record(index * 5_000));
        probe.histogram("probe_response", &histogram);
        let mut params = vec![("blocker_share_percent", share.into())];
        if share > 0 {
            params.extend([("blocker", "block".into()), ("strategy", "inline".into())]);
        }
        rows.push(Row::measured(cell("blocking.probe", "tokio", "multi-thread", &params), 1, probe));
    }
    let closed = measured(&[("throughput_per_s", 80_000.0), ("cpu_ns_per_request", 11_860.0)]);
    let of = cell("throughput.closed", "tokio", "multi-thread", &[("connections", 64.into())]);
    rows.push(Row::measured(of, 1, closed));
    rows
}

#[test]
fn the_page_of_every_kind_of_row() {
    let page = page(&every_kind());
    // The style is a file of its own.
    let (before, rest) = page.split_once("<style>").expect("a style");
    let (_, after) = rest.split_once("</style>").expect("its end");
    let lines = format!("{before}{after}").replace("><", ">\n<");
    insta::assert_snapshot!(lines);
}

#[test]
fn the_page_needs_nothing_else() {
    let page = page(&every_kind());
    for forbidden in ["http://", "https://", "<script", " src=", "@import", "<link", "<iframe"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    let addresses = page.split("url(").skip(1);
    assert!(addresses.into_iter().all(|rest| rest.starts_with("#fill-")));
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn every_link_leads_somewhere_and_every_chart_says_what_it_shows() {
    let page = page(&every_kind());
    let ids = values(&page, "id");
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "ids that are not unique");
    let links = values(&page, "href");
    assert!(links.iter().any(|link| link.starts_with("#cell-")));
    let lost: Vec<&&str> =
        links.iter().filter(|link| !link.strip_prefix('#').is_some_and(|id| known.contains(id))).collect();
    assert!(lost.is_empty(), "{lost:?}");
    let charts = page.matches("<svg").count();
    let told = page.matches("role=\"img\" aria-label=\"").count();
    let hidden = page.matches("aria-hidden=\"true\"").count();
    // The others are marks within a chart.
    assert!(told >= 8 && charts > told + hidden, "{charts} {told} {hidden}");
    for title in
        ["How near does a burst", "What one more idle connection costs", "How far out it goes", "Server CPU"]
    {
        assert!(page.contains(title), "{title}");
    }
}

#[test]
fn the_words_of_a_runner_stay_words() {
    let hostile = "it died: <script>alert(1)</script> & \"quoted\"\u{1b}[2J";
    let id = cell("capacity.burst", "tokio", "multi-thread", &[("requests", "<b>".into())]);
    let page = page(&[Row::without_figures(id, 1, Status::Failed, hostile)]);
    assert!(!page.contains("<script") && !page.contains("<b>\"") && !page.contains('\u{1b}'));
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
}

#[test]
fn a_run_without_rows_is_a_page_too() {
    let page = page(&[]);
    assert!(page.contains("no cell has figures") && page.ends_with("</html>"));
}

/// Ten thousand rows as a long run has them: five repetitions of each cell, with checks and histograms.
fn ten_thousand() -> Vec<Row> {
    let mut histogram = cell_protocol::Histogram::new();
    (1..=2_000_u64).for_each(|index| histogram.record(index * 5_000));
    let mut rows = Vec::with_capacity(10_000);
    for requests in 1..=1_000_u32 {
        for repetition in 1..=5 {
            let figures = [f64::from(requests), 110.0, 100.0, f64::from(requests)];
            rows.push(burst("tokio", "multi-thread", repetition, figures, None));
            let mut probe = Measured::default();
            probe.metric("probe_p99_ns", 5e6);
            probe.metric("probe_p50_ns", 5e6);
            probe.histogram("probe_response", &histogram);
            let params = [
                ("blocker_share_percent", (requests % 4 * 25).into()),
                ("blocker", "block".into()),
                ("strategy", "offload".into()),
                ("offload_threads", requests.into()),
            ];
            rows.push(Row::measured(
                cell("blocking.probe", "tokio", "multi-thread", &params),
                repetition,
                probe,
            ));
        }
    }
    rows
}

#[test]
fn ten_thousand_rows_take_less_than_two_seconds() {
    let (run, rows) = (run(), ten_thousand());
    assert_eq!(rows.len(), 10_000);
    // The best of a few: other tests run beside this one.
    let best = (0..3)
        .map(|_| {
            let began = Instant::now();
            let groups = summary::groups(&run, &rows);
            let data = Data { run: &run, rows: &rows, groups: &groups, benches: None };
            let page = html(&data);
            let length = page.len() + markdown(&data).len() + csv(&rows, &groups).len();
            assert!(length > 1_000_000);
            began.elapsed()
        })
        .min();
    // A build without optimisation is given more.
    let limit = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });
    assert!(best.is_some_and(|best| best < limit), "{best:?}");
}

#[test]
fn a_browser_shows_the_page_without_a_complaint() {
    browser::shows_without_a_complaint(&page(&every_kind()));
}
