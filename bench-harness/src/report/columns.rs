//! What the tables of all sections have in common: figures, intervals and reasons as text.

use crate::format::metric;
use crate::summary::{Group, Spread};

/// The evidence for a limit, in a few words.
pub(super) fn evidence(group: &Group) -> String {
    let shown = group.evidence.iter().filter(|(_, value)| !value.is_object() && !value.is_array()).map(
        |(name, value)| {
            let value = match value.as_u64() {
                Some(number) => figure_of(name, number),
                None => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            };
            format!("{} {value}", name.trim_end_matches("_ns").replace('_', " "))
        },
    );
    shown.collect::<Vec<_>>().join(", ")
}

#[expect(clippy::cast_precision_loss, reason = "figures are shown with four digits")]
pub(super) fn figure_of(name: &str, number: u64) -> String {
    metric(name, number as f64)
}

pub(super) fn param_ns(group: &Group, name: &str) -> String {
    group.param(name).map_or_else(none, |value| figure_of(name, value))
}

pub(super) fn figure(group: &Group, name: &str) -> String {
    group.median(name).map_or_else(none, |value| metric(name, value))
}

pub(super) fn repetitions(group: &Group, name: &str) -> String {
    group.metrics.get(name).map_or(0, |spread| spread.n).to_string()
}

/// The interval of a median with its coverage, or why there is none.
pub(super) fn interval(group: &Group, name: &str) -> String {
    marked_interval(group, name, "")
}

/// The interval of a median of figures some of which are lower bounds: so are its ends.
pub(super) fn interval_of_bounds(group: &Group, name: &str) -> String {
    marked_interval(group, name, ">= ")
}

fn marked_interval(group: &Group, name: &str, mark: &str) -> String {
    match group.metrics.get(name) {
        Some(Spread { interval: Some(interval), .. }) => format!(
            "[{mark}{}, {mark}{}] {:.1} %",
            metric(name, interval.low()),
            metric(name, interval.high()),
            interval.coverage() * 100.0
        ),
        Some(Spread { n, .. }) => format!("n = {n}, no interval"),
        None => none(),
    }
}

/// `ok`, or the status with its reason.
pub(super) fn status(group: &Group) -> String {
    match &group.reason {
        Some(reason) => format!("{}: {reason}", group.status.name()),
        None => group.status.name().to_owned(),
    }
}

pub(super) fn none() -> String {
    "-".to_owned()
}
