//! A row for each variant: its name and its figure in words, and below them a bar in parts, or marks on a line.
//!
//! Places are shares of the width and text keeps its size, so that a chart is as readable on a phone as on paper.

use maud::{Markup, html};

use crate::format::signs;

use super::scale::Scale;
use super::svg::{linked, mark, percent, short};

/// Rows of one chart.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    /// What each value of a row is, in the order of the values.
    pub(crate) parts: Vec<&'static str>,
    pub(crate) shape: Shape,
    /// What makes a larger unit of the values: 1,000, or 1,024 for bytes.
    pub(crate) base: f64,
    /// A value of the axis, as text.
    pub(crate) format: fn(f64) -> String,
    pub(crate) bars: Vec<Bar>,
}

/// What a row draws of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One after the other: they add up.
    Stack,
    /// Each as a mark on the same line.
    Marks,
}

/// One row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bar {
    pub(crate) label: String,
    /// The figure, in words.
    pub(crate) told: String,
    pub(crate) values: Vec<Option<f64>>,
    /// The ends of the interval of the whole.
    pub(crate) interval: Option<(f64, f64)>,
    /// Whether a check failed, so that it is not to be ranked.
    pub(crate) is_doubtful: bool,
    pub(crate) anchor: Option<String>,
}

const ROW: usize = 42;
const AXIS: usize = 24;

impl Bars {
    pub(super) fn html(&self, title: &str) -> Markup {
        let most = self.bars.iter().map(|bar| self.end_of(bar)).fold(0.0, f64::max);
        let scale = Scale::from_zero(most, self.base);
        let bottom = self.bars.len() * ROW;
        html! {
            @if self.parts.len() > 1 {
                ul class="key" {
                    @for (style, part) in self.parts.iter().enumerate() {
                        li {
                            svg width="18" height="12" aria-hidden="true" {
                                @match self.shape {
                                    Shape::Stack => rect width="18" height="12" fill=(fill(style)) {},
                                    Shape::Marks => (mark(style, "9", "6", false)),
                                }
                            }
                            (part)
                        }
                    }
                }
            }
            svg class="bars" width="100%" height=(bottom + AXIS) role="img" aria-label=(self.alternative(title)) {
                @for tick in scale.ticks(5) {
                    @let x = percent(scale.at(tick));
                    line x1=(x) x2=(x) y1="0" y2=(bottom) class="grid" {}
                    text x=(x) y=(bottom + 16) class="tick" text-anchor=(anchor_of(scale.at(tick))) {
                        (short(&(self.format)(tick)))
                    }
                }
                @for (index, bar) in self.bars.iter().enumerate() {
                    svg y=(index * ROW) width="100%" height=(ROW) {
                        (linked(bar.anchor.as_deref(), self.row(&scale, bar)))
                    }
                }
            }
        }
    }

    fn row(&self, scale: &Scale, bar: &Bar) -> Markup {
        let class = if bar.is_doubtful { "bar doubtful" } else { "bar" };
        html! {
            title { (bar.label) ": " (bar.told) }
            rect width="100%" height=(ROW) class="hit" {}
            text x="0" y="14" class="name" { (bar.label) }
            text x="100%" y="14" text-anchor="end" class="value" { (signs(&bar.told)) }
            g class=(class) {
                @match self.shape {
                    Shape::Stack => @for (style, (from, to)) in stacked(&bar.values).into_iter().enumerate() {
                        @if to > from {
                            rect x=(percent(scale.at(from))) y="20" height="14"
                                width=(percent(scale.at(to) - scale.at(from))) fill=(fill(style)) {}
                        }
                    },
                    Shape::Marks => {
                        line x1="0" x2="100%" y1="27" y2="27" class="track" {}
                        @for (style, value) in bar.values.iter().enumerate() {
                            @if let Some(value) = value {
                                // Each a little lower than the one before, so that equal values are seen.
                                (mark(style, &percent(scale.at(*value)), &(25 + 4 * style).to_string(), bar.is_doubtful))
                            }
                        }
                    }
                }
            }
            @if let Some((low, high)) = bar.interval {
                @let (low, high) = (percent(scale.at(low)), percent(scale.at(high)));
                g class="whisker" {
                    line x1=(low) x2=(high) y1="27" y2="27" {}
                    line x1=(low) x2=(low) y1="23" y2="31" {}
                    line x1=(high) x2=(high) y1="23" y2="31" {}
                }
            }
        }
    }

    fn end_of(&self, bar: &Bar) -> f64 {
        let values = bar.values.iter().flatten().copied();
        let most = match self.shape {
            Shape::Stack => values.map(|value| value.max(0.0)).sum(),
            Shape::Marks => values.fold(0.0, f64::max),
        };
        bar.interval.map_or(most, |(_, high)| high.max(most))
    }

    /// The chart in words.
    fn alternative(&self, title: &str) -> String {
        let each = self.bars.iter().map(|bar| format!("{}: {}", bar.label, bar.told));
        format!("{title}. {}", each.collect::<Vec<_>>().join("; "))
    }
}

/// Where each value begins and ends. What is below zero is measurement error, and nothing to draw.
fn stacked(values: &[Option<f64>]) -> Vec<(f64, f64)> {
    let mut end = 0.0;
    let place = |value: &Option<f64>| {
        let from = end;
        end += value.unwrap_or(0.0).max(0.0);
        (from, end)
    };
    values.iter().map(place).collect()
}

fn fill(style: usize) -> String {
    format!("url(#fill-{})", style % super::svg::STYLES)
}

/// The first and the last tick stay within the drawing.
fn anchor_of(share: f64) -> &'static str {
    match share {
        share if share < 0.02 => "start",
        share if share > 0.98 => "end",
        _ => "middle",
    }
}
