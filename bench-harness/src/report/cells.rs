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

/// The whole of `cells.csv`, in the order of the summary. A row without figures is one line, with its reason.
pub(crate) fn csv(rows: &[Row], groups: &[Group]) -> String {
    let mut text = csv_line(&HEADER);
    for group in groups {
        let params = params_text(&group.cell.params);
        let mut of_group: Vec<&Row> = group.rows.iter().map(|index| &rows[*index]).collect();
        of_group.sort_by_key(|row| row.repetition);
        for row in of_group {
            let (repetition, order) = (row.repetition.to_string(), row.order.to_string());
            let censored = row.censored.map(|censored| censored.to_string()).unwrap_or_default();
            let mut line = |metric: &str, value: &str| {
                text.push_str(&csv_line(&[
                    &row.experiment,
                    &row.runtime,
                    &row.variant,
                    &group.label,
                    &params,
                    &repetition,
                    &order,
                    metric,
                    value,
                    row.status.name(),
                    row.reason.as_deref().unwrap_or_default(),
                    row.limited_by.as_deref().unwrap_or_default(),
                    &censored,
                ]));
            };
            if row.metrics.is_empty() {
                line("", "");
            }
            for (name, figure) in &row.metrics {
                line(name, &figure.to_string());
            }
        }
    }
    text
}
