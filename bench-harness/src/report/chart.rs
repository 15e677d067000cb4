//! Charts as values: what is drawn, told in words beside it. `svg` draws them.

mod bars;
mod panels;
mod scale;
mod svg;

pub(crate) use bars::{Bar, Bars, Shape};
pub(crate) use panels::{Axis, Line, Panel, Panels, Point, Ticks};
pub(crate) use svg::patterns;

use maud::{Markup, html};

use super::page::words;

/// A chart with its title.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// What is drawn, and how to read it.
    pub(crate) caption: String,
    pub(crate) picture: Picture,
}

/// The kinds of charts.
#[derive(Clone, Debug)]
pub(crate) enum Picture {
    /// One row for each variant.
    Bars(Bars),
    /// One small chart for each model or variant, all with the same axes.
    Panels(Panels),
}

impl Chart {
    pub(crate) fn is_empty(&self) -> bool {
        match &self.picture {
            Picture::Bars(bars) => bars.bars.is_empty(),
            Picture::Panels(panels) => panels.panels.is_empty(),
        }
    }

    /// As a figure of a page.
    pub(crate) fn html(&self) -> Markup {
        let class = match self.picture {
            Picture::Bars(_) => "chart",
            Picture::Panels(_) => "chart wide",
        };
        html! {
            figure class=(class) {
                figcaption { h3 { (self.title) } p { (words(&self.caption)) } }
                @match &self.picture {
                    Picture::Bars(bars) => (bars.html(&self.title)),
                    Picture::Panels(panels) => (panels.html()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
