//! `cells.csv`: one tidy long table, a line for each cell, repetition and metric.

use crate::row::{Row, params_text};
use crate::summary::Group;
use crate::table::csv_line;

const HEADER: [&str; 13] = [
    "experiment",
    "runtime",
    "variant",
    "label",
    "params",
    "repetition",
    "order",
    "metric",
    "value",
    "status",
    "reason",
    "limited_by",
    "censored",
];

/// The whole of `cells.csv`, in the order of the summary.
pub(crate) fn csv(rows: &[Row], groups: &[Group]) -> String {
    let mut text = header();
    for group in groups {
        let mut of_group: Vec<&Row> = group.rows.iter().map(|index| &rows[*index]).collect();
        of_group.sort_by_key(|row| row.repetition);
        text.extend(of_group.into_iter().map(|row| lines(row, &group.label)));
    }
    text
}

/// The names of the columns, as a line.
pub(crate) fn header() -> String {
    csv_line(&HEADER)
}

/// The lines of one row of the variant that is called `label`. A row without figures is one line, with its reason.
pub(crate) fn lines(row: &Row, label: &str) -> String {
    let params = params_text(&row.params);
    let (repetition, order) = (row.repetition.to_string(), row.order.to_string());
    let censored = row.censored.map(|censored| censored.to_string()).unwrap_or_default();
    let line = |metric: &str, value: &str| {
        csv_line(&[
            &row.experiment,
            &row.runtime,
            &row.variant,
            label,
            &params,
            &repetition,
            &order,
            metric,
            value,
            row.status.name(),
            row.reason.as_deref().unwrap_or_default(),
            row.limited_by.as_deref().unwrap_or_default(),
            &censored,
        ])
    };
    if row.metrics.is_empty() {
        return line("", "");
    }
    row.metrics.iter().map(|(name, figure)| line(name, &figure.to_string())).collect()
}
