//! Percentile curves: how long the slow ones took, as far out as the samples tell.

use cell_protocol::Histogram;
use serde_json::Value;
use statistics::Sample;

use super::Data;
use super::chart::{Axis, Point, Ticks};
use crate::format::ns;
use crate::summary::Group;

/// Where a curve has points: shares of the samples, those that are named with a mark.
const SHARES: [(f64, Option<&str>); 19] = [
    (0.0, None),
    (0.25, None),
    (0.5, Some("p50")),
    (0.6, None),
    (0.7, None),
    (0.8, None),
    (0.85, None),
    (0.9, Some("p90")),
    (0.93, None),
    (0.95, None),
    (0.97, None),
    (0.98, None),
    (0.985, None),
    (0.99, Some("p99")),
    (0.995, None),
    (0.998, None),
    (0.999, Some("p99.9")),
    (0.9995, None),
    (0.9999, Some("p99.99")),
];

/// So many samples lie beyond the last point of a curve, or more.
const BEYOND_MIN: f64 = 10.0;

/// The axis across: each step outwards leaves a tenth of the samples.
pub(super) fn across() -> Axis {
    Axis {
        title: "percentile",
        ticks: Ticks::Named(vec![
            (1.0, "0"),
            (10.0, "p90"),
            (100.0, "p99"),
            (1_000.0, "p99.9"),
            (10_000.0, "p99.99"),
        ]),
        is_log: true,
        format: ns,
    }
}

/// The curve of a histogram of a cell: of each percentile the median over repetitions that support it.
pub(super) fn points(data: &Data<'_>, group: &Group, histogram: &str) -> Vec<Point> {
    let rows = group.rows.iter().map(|index| &data.rows[*index]);
    let usable = rows.filter(|row| row.status.ranks() || !group.status.ranks());
    let histograms: Vec<Histogram> = usable
        .filter_map(|row| serde_json::from_value(Value::from(row.histograms.get(histogram)?.as_str())).ok())
        .collect();
    let point = |(share, name): (f64, Option<&'static str>)| {
        let supported = histograms.iter().filter(|one| as_f64(one.count()) * (1.0 - share) >= BEYOND_MIN);
        let values: Vec<f64> = supported.filter_map(|one| one.quantile_ns(share)).map(as_f64).collect();
        let median = Sample::new(values).ok()?.median();
        Some(Point {
            x: 1.0 / (1.0 - share),
            y: median,
            mark: name.is_some(),
            is_hollow: !group.status.ranks(),
            told: format!("{} {}", name.unwrap_or_default(), ns(median)),
            anchor: Some(group.anchor()),
        })
    };
    SHARES.into_iter().filter_map(point).collect()
}

/// The furthest named point of a curve, in words.
pub(super) fn furthest(points: &[Point]) -> Option<&str> {
    points.iter().rev().find(|point| point.mark).map(|point| point.told.as_str())
}

#[expect(clippy::cast_precision_loss, reason = "counts and times of a run are below 2^53")]
fn as_f64(number: u64) -> f64 {
    number as f64
}
