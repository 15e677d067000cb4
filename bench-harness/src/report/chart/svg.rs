//! What all charts draw alike: marks that differ in shape, fills that differ in pattern, and numbers short enough.

use maud::{Markup, html};

/// How many styles there are before they repeat.
pub(super) const STYLES: usize = 5;

/// The fills of bars, once for a page: each is a colour with a pattern of its own.
pub(crate) fn patterns() -> Markup {
    html! {
        svg width="0" height="0" aria-hidden="true" focusable="false" class="patterns" {
            defs {
                pattern id="fill-0" width="8" height="8" patternUnits="userSpaceOnUse" {
                    rect width="8" height="8" class="m0" {}
                }
                pattern id="fill-1" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect width="6" height="6" class="t1" {}
                    rect width="3" height="6" class="m1" {}
                }
                pattern id="fill-2" width="6" height="6" patternUnits="userSpaceOnUse" {
                    rect width="6" height="6" class="t2" {}
                    circle cx="3" cy="3" r="1.7" class="m2" {}
                }
                pattern id="fill-3" width="4" height="4" patternUnits="userSpaceOnUse" {
                    rect width="4" height="4" class="t3" {}
                    rect width="1.6" height="4" class="m3" {}
                }
                pattern id="fill-4" width="5" height="5" patternUnits="userSpaceOnUse" {
                    rect width="5" height="5" class="t4" {}
                    rect width="5" height="2" class="m4" {}
                }
            }
        }
    }
}

/// A mark around a place, in the shape of its style. `x` and `y` may be shares of the drawing, such as `12%`.
pub(super) fn mark(style: usize, x: &str, y: &str, is_hollow: bool) -> Markup {
    let style = style % STYLES;
    let class = if is_hollow { format!("hollow l{style}") } else { format!("m{style}") };
    // In a drawing of its own, because a path knows no shares.
    html! {
        svg x=(x) y=(y) overflow="visible" {
            @match style {
                0 => circle r="3.4" class=(class) {},
                1 => rect x="-4.2" y="-4.2" width="8.4" height="8.4" class=(class) {},
                2 => path d="M0-6.6L6.2 4.6H-6.2Z" class=(class) {},
                3 => path d="M0-7L7 0L0 7L-7 0Z" class=(class) {},
                _ => path d="M0 4.8L4.6-3.6H-4.6Z" class=(class) {},
            }
        }
    }
}

/// A place in a drawing, with a digit after the point.
pub(super) fn place(value: f64) -> String {
    format!("{value:.1}")
}

/// `12.34%`
pub(super) fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// A figure as a tick has it: without the digits that say nothing, `100 ms` for `100.0 ms`.
pub(super) fn short(figure: &str) -> String {
    let (number, unit) = figure.split_once(' ').unwrap_or((figure, ""));
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    if unit.is_empty() || number == "0" { number.to_owned() } else { format!("{number} {unit}") }
}

/// Words, as what leads to the rows that they were told from, where these are known.
pub(super) fn linked(anchor: Option<&str>, words: Markup) -> Markup {
    match anchor {
        // A picture is one thing to a keyboard and a screen reader: the table beside it leads to the same rows.
        Some(anchor) => html! { a href={ "#" (anchor) } tabindex="-1" { (words) } },
        None => words,
    }
}
