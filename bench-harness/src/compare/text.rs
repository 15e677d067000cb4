//! A comparison, for people at a terminal, and each of its figures as a line.

use std::fmt::Write;

use statistics::RUNS_LEAST;

use super::{Compared, Comparison, Verdict};
use crate::format::{count, metric, printable};
use crate::row::{Figure, params_text};
use crate::style::Style;
use crate::table::{Table, csv_line};

/// The figures that a reader looks at; the others are counted, and stand in the page and in the files.
pub(crate) fn text(comparison: &Comparison, style: Style) -> String {
    let mut text = String::new();
    for (name, about) in [("A", &comparison.a), ("B", &comparison.b)] {
        let _ = writeln!(
            text,
            "{name}  {}: {} run of {}, revision {}",
            about.name, about.size, about.started_at, about.revision
        );
    }
    text.push('\n');
    for difference in &comparison.differences {
        let _ = writeln!(text, "differs: {}", printable(&difference.to_string()));
    }
    if !comparison.differences.is_empty() {
        text.push('\n');
    }
    if let Some(looked_anyway) = looked_anyway(comparison) {
        let _ = writeln!(text, "{looked_anyway}\n");
    }
    let shown = [Verdict::Regressed, Verdict::Improved, Verdict::Incomparable];
    let table =
        table(comparison, |figure| shown.contains(&figure.verdict) && !figure.is_alike_without_figures());
    if !table.is_empty() {
        let _ = writeln!(text, "{}", table.text(style));
    }
    let left_out = (alike(comparison) > 0).then(|| {
        "Cells without a figure in either run are in the page (--html), and in --format csv and json."
            .to_owned()
    });
    for sentence in sentences(comparison).iter().chain(&left_out).chain(&comparison.notes) {
        let _ = writeln!(text, "* {}", printable(sentence));
    }
    text
}

/// What came of it, in sentences.
pub(super) fn sentences(comparison: &Comparison) -> Vec<String> {
    let counts = &comparison.counts;
    if counts.cells == 0 {
        return vec!["No cell is in both runs.".to_owned()].into_iter().chain(alone(comparison)).collect();
    }
    let mut sentences = vec![format!(
        "Of {} in {}, {} regressed, {} improved, {} unchanged, {} inconclusive, {} not comparable.",
        some(comparison.figures.len(), "figure"),
        some(counts.cells, "cell"),
        count(counts.regressed as u64),
        count(counts.improved as u64),
        count(counts.unchanged as u64),
        count(counts.inconclusive as u64),
        count(counts.incomparable as u64)
    )];
    if counts.judged > 0 {
        sentences.push(format!(
            "{} compared by an interval: if nothing had changed, {:.1} of their intervals would leave out 1 by chance, and fewer would be \
             beyond the threshold too, which a verdict takes as well.",
            some(counts.judged, "figure"),
            comparison.false_alarms_expected()
        ));
    }
    let alike = alike(comparison);
    if alike > 0 {
        sentences.push(format!(
            "{} no figure to compare in either run, such as where a variant cannot do it, or a check failed.",
            if alike == 1 { "1 cell has".to_owned() } else { format!("{} cells have", count(alike as u64)) }
        ));
    }
    sentences.extend(wanted(comparison));
    sentences.extend(alone(comparison));
    sentences
}

/// How many cells say no more than that neither run has a figure.
fn alike(comparison: &Comparison) -> usize {
    comparison.figures.iter().filter(|figure| figure.is_alike_without_figures()).count()
}

/// `1 cell`, `2 cells`
fn some(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

/// How many repetitions would tell what these do not.
fn wanted(comparison: &Comparison) -> Option<String> {
    let inconclusive = comparison.figures.iter().filter(|figure| figure.verdict == Verdict::Inconclusive);
    let wanted: Vec<u32> = inconclusive.filter_map(|figure| figure.repetitions_wanted).collect();
    let most = *wanted.iter().max()?;
    let least = u32::try_from(RUNS_LEAST).unwrap_or(u32::MAX);
    let few = wanted.iter().filter(|wanted| **wanted == least).count();
    Some(if most == least {
        format!(
            "{} of too few repetitions to tell: {least} of each run are the fewest that have an interval \
             (--repetitions {least}).",
            some(few, "figure")
        )
    } else {
        let mut sorted = wanted;
        sorted.sort_unstable();
        format!(
            "{} figures are inconclusive: about {} repetitions would tell half of them, and {most} all (--repetitions).",
            count(sorted.len() as u64),
            sorted[sorted.len() / 2]
        )
    })
}

/// Cells that one of the runs has alone, the first few by name.
fn alone(comparison: &Comparison) -> impl Iterator<Item = String> {
    const NAMED: usize = 5;
    let told = |who: &str, cells: &[String]| {
        let named = cells.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
        let more = cells.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("; and {} more", count(more as u64)) } else { String::new() };
        let noun = if cells.len() == 1 { "cell is" } else { "cells are" };
        (!cells.is_empty())
            .then(|| format!("{} {noun} in {who} alone: {named}{more}.", count(cells.len() as u64)))
    };
    [told("A", &comparison.only_in_a), told("B", &comparison.only_in_b)].into_iter().flatten()
}

/// That figures were compared although the runs as wholes cannot be.
pub(super) fn looked_anyway(comparison: &Comparison) -> Option<String> {
    (!comparison.differences.is_empty() && comparison.counts.cells > 0).then(|| {
        "NOT COMPARABLE: what differs above may be why figures do. They are shown because they were asked for (--anyway)."
            .to_owned()
    })
}

/// One line a figure, for people.
fn table(comparison: &Comparison, is_shown: impl Fn(&Compared) -> bool) -> Table {
    let mut table = Table::new(&[
        "verdict",
        "experiment",
        "variant",
        "cell",
        "metric",
        "A",
        "B",
        "B / A",
        "interval",
        "threshold",
        "n",
        "reason",
    ]);
    for figure in comparison.figures.iter().filter(|figure| is_shown(figure)) {
        let [a, b] = medians(figure);
        table.push(vec![
            figure.verdict.name().to_owned(),
            figure.experiment.clone(),
            figure.label.clone(),
            params_text(&figure.params),
            figure.metric.clone().unwrap_or_else(none),
            a,
            b,
            ratio(figure),
            interval(figure),
            threshold(figure),
            repetitions(figure),
            figure.reason.clone().unwrap_or_default(),
        ]);
    }
    table
}

/// One line a figure, for programs.
pub(crate) fn csv(comparison: &Comparison) -> String {
    let header = [
        "verdict",
        "experiment",
        "runtime",
        "variant",
        "params",
        "metric",
        "better",
        "a",
        "b",
        "n_a",
        "n_b",
        "ratio",
        "ratio_low",
        "ratio_high",
        "threshold",
        "repetitions_wanted",
        "reason",
    ];
    let mut text = csv_line(&header);
    let number = |figure: Option<Figure>| figure.map(|figure| figure.to_string()).unwrap_or_default();
    for figure in &comparison.figures {
        text.push_str(&csv_line(&[
            figure.verdict.name(),
            &figure.experiment,
            &figure.runtime,
            &figure.variant,
            &params_text(&figure.params),
            figure.metric.as_deref().unwrap_or_default(),
            figure.better.map(|better| better.name()).unwrap_or_default(),
            &number(figure.a),
            &number(figure.b),
            &figure.n_a.to_string(),
            &figure.n_b.to_string(),
            &number(figure.ratio),
            &number(figure.low),
            &number(figure.high),
            &figure.threshold.map(|threshold| threshold.to_string()).unwrap_or_default(),
            &figure.repetitions_wanted.map(|wanted| wanted.to_string()).unwrap_or_default(),
            figure.reason.as_deref().unwrap_or_default(),
        ]));
    }
    text
}

pub(super) fn medians(figure: &Compared) -> [String; 2] {
    let name = figure.metric.as_deref().unwrap_or_default();
    [figure.a, figure.b].map(|value| value.map_or_else(none, |value| metric(name, value.get())))
}

pub(super) fn ratio(figure: &Compared) -> String {
    figure.ratio.map_or_else(none, |ratio| format!("{:.3}", ratio.get()))
}

pub(super) fn threshold(figure: &Compared) -> String {
    figure.threshold.map_or_else(none, |share| format!("{:.1} %", share * 100.0))
}

/// How many repetitions each run has, where they have as many.
pub(super) fn repetitions(figure: &Compared) -> String {
    let (a, b) = (figure.n_a, figure.n_b);
    if a == b { a.to_string() } else { format!("{a}, {b}") }
}

pub(super) fn interval(figure: &Compared) -> String {
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!("[{:.3}, {:.3}]", low.get(), high.get()),
        _ => none(),
    }
}

fn none() -> String {
    "-".to_owned()
}
