//! A table of a section as HTML. It scrolls by itself where it is too wide, also from the keyboard.

use maud::{Markup, html};

use crate::format::signs;
use crate::table::Table;

pub(super) fn html(title: &str, table: &Table) -> Markup {
    let last = table.header().len() - 1;
    let class = |column: usize| if table.is_left(column) { "words" } else { "figure" };
    html! {
        div class="scroll" role="region" aria-label=(title) tabindex="0" {
            table {
                thead {
                    tr {
                        @for (column, name) in table.header().iter().enumerate() {
                            th scope="col" class=(class(column)) { (name) }
                        }
                    }
                }
                tbody {
                    @for (row, anchor) in table.rows() {
                        // A status other than `ok` is first a word; the shade of its row is beside that.
                        tr class=(status(&row[last])) {
                            @for (column, cell) in row.iter().enumerate() {
                                @if column == 0 {
                                    th scope="row" {
                                        @match anchor {
                                            Some(anchor) => a href={ "#" (anchor) } title="the raw rows" { (cell) },
                                            None => (cell),
                                        }
                                    }
                                } @else {
                                    td class=(class(column)) { (signs(cell)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn status(cell: &str) -> &'static str {
    let known = ["invalid", "failed", "unsupported", "partial", "censored"];
    known.into_iter().find(|status| cell.starts_with(status)).unwrap_or("ok")
}
