//! The decision table as HTML: a table on a wide page, a card for each variant on a narrow one.

use maud::{Markup, html};

use crate::format::{printable, signs};
use crate::report::decision::{Cell, Decision, Standing};
use crate::report::page::words;

pub(super) fn html(decision: &Decision) -> Markup {
    html! {
        p { (words(&decision.how_to_read())) " A figure leads to the rows that it was told from." }
        div class="scroll cards" role="region" aria-label="Every variant and its headline figures" tabindex="0" {
            // Roles by name: as cards, it is laid out as no table, and must still be read as one.
            table role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        th role="columnheader" scope="col" { "variant" }
                        @for column in &decision.columns {
                            th role="columnheader" scope="col" { (column.title) span class="condition" { (column.condition) } }
                        }
                    }
                }
                tbody role="rowgroup" {
                    @for line in &decision.lines {
                        tr role="row" {
                            th role="rowheader" scope="row" { (broken(&line.label)) span class="model" { (line.model) } }
                            @for (column, cell) in decision.columns.iter().zip(&line.cells) {
                                td role="cell" data-label=(column.title) { (cell_html(cell)) }
                            }
                        }
                    }
                }
            }
        }
        @if !decision.reasons.is_empty() {
            details class="reasons" open {
                summary { "Reasons for what is missing or not ranked" }
                ol { @for (reason, number) in decision.reasons.iter().zip(1..) {
                    li id={ "reason-" (number) } { (words(&printable(reason))) }
                } }
            }
        }
    }
}

fn cell_html(cell: &Cell) -> Markup {
    let figure = cell.figure.as_deref().unwrap_or("none");
    let told =
        cell.told.filter(|_| cell.figure.is_some() || cell.told.is_some_and(|(status, _)| status != "none"));
    html! {
        div class="cell" {
            @match &cell.anchor {
                Some(anchor) => a class="value" href={ "#" (anchor) } { (signs(figure)) },
                None => span class="value" { (figure) },
            }
            @match cell.standing {
                Standing::Untold => {},
                Standing::Best => strong class="standing best" { "best" },
                Standing::Tie => strong class="standing" { "tie" },
            }
            @if let Some(interval) = &cell.interval { span class="interval" { (interval) } }
            @if let Some(note) = &cell.note { span class="note" { (signs(note)) } }
            @if let Some((status, number)) = told {
                span class={ "told " (status) } { (status) " " a href={ "#reason-" (number) } { "(" (number) ")" } }
            } @else if let Some((_, number)) = cell.told {
                span class="told" { a href={ "#reason-" (number) } { "(" (number) ")" } }
            }
        }
    }
}

/// A label that may go on in the next line after each of its parts.
fn broken(label: &str) -> Markup {
    html! { @for part in label.split_inclusive([':', ',', '=']) { (part) wbr; } }
}
