//! Small charts side by side, one for each model or variant, all with the same axes, so that any two can be compared
//! and none has more lines than can be told apart.

use maud::{Markup, html};

use crate::format::signs;

use super::scale::Scale;
use super::svg::{STYLES, linked, mark, place, short};

/// The panels of one chart.
#[derive(Clone, Debug)]
pub(crate) struct Panels {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// Whether there is a line where y is x, that all others are held against.
    pub(crate) has_diagonal: bool,
    pub(crate) panels: Vec<Panel>,
}

/// What one direction of all panels means.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) title: &'static str,
    pub(crate) ticks: Ticks,
    pub(crate) is_log: bool,
    /// A value, as text.
    pub(crate) format: fn(f64) -> String,
}

/// Where an axis has ticks.
#[derive(Clone, Debug)]
pub(crate) enum Ticks {
    /// At round numbers.
    Round,
    /// Here, with these names.
    Named(Vec<(f64, &'static str)>),
}

/// One small chart.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) lines: Vec<Line>,
}

/// One line, with what it says in words.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Lines that mean the same have the same style in all panels.
    pub(crate) style: usize,
    pub(crate) name: String,
    pub(crate) told: String,
    pub(crate) points: Vec<Point>,
}

/// One point of a line.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) mark: bool,
    /// Drawn as an outline alone: the caption says what that means.
    pub(crate) is_hollow: bool,
    pub(crate) told: String,
    pub(crate) anchor: Option<String>,
}

const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 38.0;

/// The scales of all panels.
struct Scales {
    x: Scale,
    y: Scale,
}

impl Panels {
    pub(super) fn html(&self) -> Markup {
        let points = || self.panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
        let scales = Scales {
            x: self.x.scale(points().map(|point| point.x)),
            y: self.y.scale(points().map(|point| point.y)),
        };
        html! {
            p class="axes" { "Across: " (self.x.title) ". Upwards: " (self.y.title) "." }
            div class="panels" {
                @for panel in &self.panels {
                    section class="panel" {
                        h4 { (panel.title) }
                        (self.drawing(&scales, panel))
                        ul class="key" {
                            @for line in &panel.lines {
                                li {
                                    svg width="26" height="12" aria-hidden="true" {
                                        line x1="0" x2="26" y1="6" y2="6" class={ "line l" (line.style % STYLES) } {}
                                        (mark(line.style, "13", "6", false))
                                    }
                                    span { b { (line.name) } " " (signs(&line.told)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn drawing(&self, scales: &Scales, panel: &Panel) -> Markup {
        let told = panel.lines.iter().map(|line| format!("{} {}", line.name, line.told));
        let alternative = format!(
            "{}: {} by {}. {}",
            panel.title,
            self.y.title,
            self.x.title,
            told.collect::<Vec<_>>().join("; ")
        );
        let (left, right, top, bottom) =
            (place(LEFT), place(WIDTH - RIGHT), place(TOP), place(HEIGHT - BOTTOM));
        html! {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(alternative) {
                @for (value, name) in self.y.ticks(&scales.y, 5) {
                    @let y = scales.y_at(value);
                    line x1=(left) x2=(right) y1=(place(y)) y2=(place(y)) class="grid" {}
                    text x=(place(LEFT - 6.0)) y=(place(y + 4.0)) text-anchor="end" class="tick" { (name) }
                }
                @for (value, name) in self.x.ticks(&scales.x, 5) {
                    @let x = scales.x_at(value);
                    line x1=(place(x)) x2=(place(x)) y1=(top) y2=(bottom) class="grid" {}
                    @let anchor = if x > WIDTH - RIGHT - 12.0 { "end" } else { "middle" };
                    text x=(place(x)) y=(place(HEIGHT - BOTTOM + 16.0)) text-anchor=(anchor) class="tick" { (name) }
                }
                text x=(right) y=(place(HEIGHT - 5.0)) text-anchor="end" class="axis" { (self.x.title) }
                @if self.has_diagonal { (scales.diagonal()) }
                @for line in &panel.lines {
                    polyline points=(scales.path(line)) class={ "line l" (line.style % STYLES) } {}
                }
                // The first marks are the smallest, and on top: those of lines that are alike are all seen.
                @for line in panel.lines.iter().rev() {
                    @for point in line.points.iter().filter(|point| point.mark) {
                        (linked(point.anchor.as_deref(), html! {
                            title { (line.name) ": " (point.told) }
                            (mark(line.style, &place(scales.x_at(point.x)), &place(scales.y_at(point.y)), point.is_hollow))
                        }))
                    }
                }
            }
        }
    }
}

impl Axis {
    fn scale(&self, values: impl Iterator<Item = f64>) -> Scale {
        if self.is_log { Scale::log(values) } else { Scale::from_zero(values.fold(0.0, f64::max), 1_000.0) }
    }

    fn ticks(&self, scale: &Scale, most: usize) -> Vec<(f64, String)> {
        match &self.ticks {
            Ticks::Named(ticks) => {
                let (low, high) = scale.ends();
                let within = ticks.iter().filter(|(value, _)| (low..=high).contains(value));
                within.map(|(value, name)| (*value, (*name).to_owned())).collect()
            }
            Ticks::Round => {
                scale.ticks(most).into_iter().map(|tick| (tick, short(&(self.format)(tick)))).collect()
            }
        }
    }
}

impl Scales {
    fn x_at(&self, value: f64) -> f64 {
        self.x.at(value).mul_add(WIDTH - LEFT - RIGHT, LEFT)
    }

    fn y_at(&self, value: f64) -> f64 {
        (1.0 - self.y.at(value)).mul_add(HEIGHT - TOP - BOTTOM, TOP)
    }

    fn path(&self, line: &Line) -> String {
        let point = |point: &Point| format!("{},{}", place(self.x_at(point.x)), place(self.y_at(point.y)));
        line.points.iter().map(point).collect::<Vec<_>>().join(" ")
    }

    fn diagonal(&self) -> Markup {
        let low = self.x.ends().0.max(self.y.ends().0);
        let high = self.x.ends().1.min(self.y.ends().1);
        html! {
            line x1=(place(self.x_at(low))) y1=(place(self.y_at(low)))
                x2=(place(self.x_at(high))) y2=(place(self.y_at(high))) class="reference" {}
        }
    }
}
