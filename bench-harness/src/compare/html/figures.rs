//! The figures of one verdict: a table on a wide page, a card for each figure on a narrow one.

use maud::{Markup, html};

use crate::compare::text::{interval, medians, ratio, repetitions, threshold};
use crate::compare::{Compared, Comparison, Verdict};
use crate::format::{printable, signs};
use crate::row::params_text;

pub(super) fn html(title: &str, comparison: &Comparison, verdict: Verdict) -> Markup {
    let figures: Vec<&Compared> =
        comparison.figures.iter().filter(|figure| figure.verdict == verdict).collect();
    let has_reason = figures.iter().any(|figure| figure.reason.is_some());
    html! {
        div class="scroll cards" role="region" aria-label=(title) tabindex="0" {
            // Roles by name: as cards, it is laid out as no table, and must still be read as one.
            table role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        @for name in ["figure", "cell", "B / A", "A", "B", "threshold", "n"] {
                            th role="columnheader" scope="col" { (name) }
                        }
                        @if has_reason { th role="columnheader" scope="col" { "reason" } }
                    }
                }
                tbody role="rowgroup" { @for figure in figures { (line(figure, has_reason)) } }
            }
        }
    }
}

fn line(figure: &Compared, has_reason: bool) -> Markup {
    let [a, b] = medians(figure);
    html! {
        tr role="row" {
            th role="rowheader" scope="row" {
                (figure.metric.as_deref().unwrap_or("no figure"))
                span class="model" { (printable(&figure.experiment)) ", " (printable(&figure.label)) }
            }
            td role="cell" data-label="cell" { (printable(&params_text(&figure.params))) }
            td role="cell" data-label="B / A" {
                div class="cell" {
                    span class="value" { (ratio(figure)) }
                    @if figure.low.is_some() { span class="interval" { (interval(figure)) } }
                }
            }
            td role="cell" data-label="A" { (signs(&a)) }
            td role="cell" data-label="B" { (signs(&b)) }
            td role="cell" data-label="threshold" { (threshold(figure)) }
            td role="cell" data-label="n" { (repetitions(figure)) }
            @if has_reason {
                td role="cell" class="words" data-label="reason" { (printable(figure.reason.as_deref().unwrap_or_default())) }
            }
        }
    }
}
