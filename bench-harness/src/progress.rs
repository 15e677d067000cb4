//! What a person sees while a run goes on: a bar on a terminal, one plain line a cell elsewhere.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::format::printable;
use crate::output::tell;

/// Progress on standard error.
#[derive(Debug)]
pub(crate) enum Progress {
    Bar(ProgressBar),
    Lines { done: usize, cells: usize },
    Silent,
}

impl Progress {
    /// For a run of so many cells, which take about `expected`.
    pub(crate) fn new(cells: usize, expected: Duration, wanted: bool) -> Progress {
        if !wanted {
            return Progress::Silent;
        }
        if !io::stderr().is_terminal() {
            tell(format_args!("{cells} cells, about {} s", expected.as_secs().max(1)));
            return Progress::Lines { done: 0, cells };
        }
        let bar = ProgressBar::new(u64::try_from(cells).unwrap_or(u64::MAX));
        let style =
            ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} (about {prefix}) {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.set_prefix(format!("{} s", expected.as_secs().max(1)));
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress::Bar(bar)
    }

    /// A cell begins.
    pub(crate) fn begin(&self, label: &str) {
        if let Progress::Bar(bar) = self {
            bar.set_message(label.to_owned());
        }
    }

    /// A row was made.
    pub(crate) fn row(&self, text: &str) {
        match self {
            Progress::Bar(bar) => bar.println(printable(text)),
            Progress::Lines { done, cells } => tell(format_args!("[{}/{cells}] {text}", done + 1)),
            Progress::Silent => {}
        }
    }

    /// A cell is over.
    pub(crate) fn end(&mut self) {
        match self {
            Progress::Bar(bar) => bar.inc(1),
            Progress::Lines { done, .. } => *done += 1,
            Progress::Silent => {}
        }
    }

    /// The run is over.
    pub(crate) fn finish(&self) {
        if let Progress::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
