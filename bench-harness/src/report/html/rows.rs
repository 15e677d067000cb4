//! The raw rows: everything that a figure was told from, without the histograms, which the curves draw.

use std::fmt::Write;

use maud::{Markup, html};

use crate::experiment::Experiment;
use crate::format::{count, printable};
use crate::report::Data;
use crate::row::{Row, params_text};
use crate::summary::Group;

pub(super) fn html(data: &Data<'_>) -> Markup {
    let of =
        |name: &str| data.groups.iter().filter(|group| group.cell.experiment == name).collect::<Vec<_>>();
    let mut names: Vec<&str> = data.groups.iter().map(|group| group.cell.experiment.as_str()).collect();
    names.dedup();
    html! {
        section id="rows" {
            h2 { "Raw rows" }
            p {
                "Each row of " code { "cells.jsonl" } ", with its checks and its evidence; the histograms are in the file. The same \
                 figures, a line each, are in " code { "cells.csv" } "."
            }
            @for name in names {
                @let groups = of(name);
                details class="experiment" {
                    summary { (printable(name)) ": " (count(groups.len() as u64)) " cells" (question(name)) }
                    @for group in groups { (cell(data, group)) }
                }
            }
        }
    }
}

fn cell(data: &Data<'_>, group: &Group) -> Markup {
    let mut rows: Vec<&Row> = group.rows.iter().map(|index| &data.rows[*index]).collect();
    rows.sort_by_key(|row| row.repetition);
    html! {
        details class="rows" {
            summary {
                b { (printable(&group.label)) } " " (printable(&params_text(&group.cell.params))) ": " (group.status.name())
            }
            // A link to what is inside opens it.
            div id=(group.anchor()) {
                @for row in rows {
                    p { "Repetition " (row.repetition) ", row " (row.order) " of the run: " (row.status.name())
                        @if let Some(reason) = &row.reason { ", " (printable(reason)) } }
                    pre tabindex="0" { (text(row)) }
                }
            }
        }
    }
}

/// A row as lines: a metric, a check or a piece of evidence each.
fn text(row: &Row) -> String {
    let mut text = String::new();
    for (name, figure) in &row.metrics {
        let _ = writeln!(text, "{name} {figure}");
    }
    if let Some(limit) = &row.limited_by {
        let _ = writeln!(text, "limited by {limit}, censored {}", row.censored.unwrap_or(false));
    }
    for check in &row.checks {
        let word = if check.ok { "holds" } else { "FAILED" };
        let _ = writeln!(text, "check {word}: {} {} against {}", check.name, check.value, check.limit);
    }
    for (name, value) in &row.evidence {
        let _ = writeln!(text, "evidence {name} {value}");
    }
    // Lines are ended here alone: a runner's words are on one of them.
    text.lines().map(|line| printable(line).into_owned() + "\n").collect()
}

fn question(name: &str) -> String {
    let known = Experiment::ALL.iter().find(|one| one.name() == name);
    known.map(|one| format!(", {}", one.question())).unwrap_or_default()
}
