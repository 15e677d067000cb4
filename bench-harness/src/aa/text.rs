//! A judgement, for people.

use std::fmt::Write;

use super::judge::{Judgement, Rule, Shown};
use crate::format::metric;
use crate::style::Style;
use crate::table::Table;

/// One line a metric.
pub(crate) fn table(judgement: &Judgement) -> Table {
    let mut table = Table::new(&[
        "cell",
        "metric",
        "a",
        "b / a",
        "interval",
        "noise floor",
        "pairs",
        "false alarms",
        "at most",
        "p-value",
        "planted / a",
        "interval",
        "found in",
    ]);
    let number = |count: Option<u32>| count.map_or_else(none, |count| count.to_string());
    for judged in &judgement.metrics {
        let planted = judged.planted.as_ref();
        table.push(vec![
            judged.cell.clone(),
            judged.metric.clone(),
            metric(&judged.metric, judged.median),
            ratio(judged.ratio.value),
            interval(judged.ratio),
            percent(judged.floor),
            judged.pairs.to_string(),
            number(judged.false_alarms),
            judged.false_alarms_most.to_string(),
            judged.false_alarms_p_value.map_or_else(none, |p| format!("{p:.3}")),
            planted.map_or_else(none, |planted| ratio(planted.ratio.value)),
            planted.map_or_else(none, |planted| interval(planted.ratio)),
            planted.map_or_else(none, |planted| number(planted.found)),
        ]);
    }
    table
}

/// The table, and what follows from it.
pub(crate) fn text(judgement: &Judgement, rule: &Rule, style: Style) -> String {
    let mut text = table(judgement).text(style) + "\n";
    if let Some(judged) = judgement.metrics.first() {
        let _ = writeln!(
            text,
            "The noise floor is above {} of the ratios between equals, medians of {} runs each, with a confidence of {}.",
            percent(judged.floor_share),
            rule.repetitions,
            percent(judged.floor_confidence)
        );
        match judged.false_alarms {
            Some(_) => {
                let _ = writeln!(
                    text,
                    "A false alarm is an interval of {} that leaves out 1; chance has more of them than are allowed \
                     here once in 20 judgements.",
                    percent(rule.coverage.get())
                );
            }
            None => {
                let least = statistics::RUNS_LEAST;
                let _ = writeln!(
                    text,
                    "Fewer than {least} runs a side have no interval, so no false alarm is told."
                );
            }
        }
    }
    for left_out in &judgement.left_out {
        let _ = writeln!(text, "left out: {} of {}: {}", left_out.metric, left_out.cell, left_out.reason);
    }
    let faults = judgement.faults();
    for fault in &faults {
        let _ = writeln!(text, "fault: {fault}");
    }
    if faults.is_empty() && judgement.metrics.iter().any(|judged| judged.false_alarms.is_some()) {
        let planted = rule.planted.map_or_else(String::new, |factor| {
            format!(", and all pairs together show the slowdown that was planted, x{factor}")
        });
        let _ = writeln!(text, "Equals were told apart no more often than chance explains{planted}.");
    }
    text
}

fn ratio(value: f64) -> String {
    format!("{value:.4}")
}

fn interval(shown: Shown) -> String {
    match (shown.low, shown.high) {
        (Some(low), Some(high)) => format!("[{low:.4}, {high:.4}]"),
        _ => none(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn none() -> String {
    "-".to_owned()
}
