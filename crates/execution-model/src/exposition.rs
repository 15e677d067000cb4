//! The Prometheus text exposition format, in which `/metrics` is told.

use std::fmt::{Arguments, Display, Write};
use std::time::Duration;

/// Labels, each with its value.
pub(crate) type Labels<'l> = &'l [(&'l str, &'l dyn Display)];

/// Metrics that are told so far.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
}

impl Exposition {
    /// What a metric is, once before its lines.
    pub(crate) fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    pub(crate) fn line(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        match &labels[..] {
            [] => self.write(format_args!("{name} {value}")),
            labels => self.write(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    /// A metric of one line.
    pub(crate) fn metric(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.head(name, kind, help);
        self.line(name, &[], value);
    }

    /// The lines of a summary of times. A quantile of nothing is left out: it would be no number.
    pub(crate) fn quantiles(
        &mut self,
        name: &str,
        labels: Labels<'_>,
        shares: &[f64],
        quantile_ns: impl Fn(f64) -> Option<u64>,
    ) {
        for share in shares {
            let Some(ns) = quantile_ns(*share) else { continue };
            let quantile: (&str, &dyn Display) = ("quantile", share);
            self.line(name, &[labels, &[quantile]].concat(), seconds(ns));
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    fn write(&mut self, words: Arguments<'_>) {
        writeln!(self.text, "{words}").expect("writing to a string cannot fail");
    }
}

pub(crate) fn seconds(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64()
}
