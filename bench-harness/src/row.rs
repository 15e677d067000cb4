//! A row: what came of one cell. It has figures or a reason.

use std::collections::BTreeMap;
use std::fmt;

use cell_protocol::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use statistics::Percentile;

use crate::percentile::percentile_ns;

use crate::format::printable;

/// The version of the row format.
pub(crate) const FORMAT: u32 = 1;

/// One line of `cells.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Row {
    /// The version of this format.
    pub(crate) format: u32,
    /// The experiment, `capacity.burst`.
    pub(crate) experiment: String,
    /// The runtime, `tokio`.
    pub(crate) runtime: String,
    /// The variant, `current-thread`.
    pub(crate) variant: String,
    /// What distinguishes this cell from the others of the variant and the experiment.
    pub(crate) params: BTreeMap<String, Value>,
    /// From 1.
    pub(crate) repetition: u32,
    /// The how-manieth row of the run, from 1.
    pub(crate) order: u64,
    /// The how-manieth cell of the run's plan it is of, from 1: all rows of a ramp are of one. 0 where there is no plan.
    #[serde(default)]
    pub(crate) cell_number: u64,
    /// Whether that cell is finished with this row. Where no row says so, the cell was cut short.
    #[serde(default)]
    pub(crate) ends_cell: bool,
    pub(crate) status: Status,
    /// Why there are no figures, or why they do not count.
    pub(crate) reason: Option<String>,
    /// The figures by name; their unit is the last word of it.
    pub(crate) metrics: BTreeMap<String, Figure>,
    /// What kept the figure from being larger, for the verdict of a ramp and for a step that was not met.
    pub(crate) limited_by: Option<String>,
    /// Whether the machine, and not the model, set the limit: the figure is a lower bound then.
    pub(crate) censored: Option<bool>,
    /// What the limit was told from, and what else was seen.
    pub(crate) evidence: BTreeMap<String, Value>,
    /// HDR V2 in base64.
    pub(crate) histograms: BTreeMap<String, String>,
    /// What was checked of the figures.
    pub(crate) checks: Vec<Check>,
}

/// Which cell: rows of one cell differ in repetition and order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CellId {
    pub(crate) experiment: String,
    pub(crate) runtime: String,
    pub(crate) variant: String,
    pub(crate) params: BTreeMap<String, Value>,
}

/// Whether a row's figures may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    /// They may.
    Ok,
    /// They may, as a lower bound.
    Censored,
    /// The run was interrupted; there are no figures.
    Partial,
    /// The runtime cannot do this; there are no figures.
    Unsupported,
    /// A check failed: the figures are shown, never ranked.
    Invalid,
    /// There are no figures.
    Failed,
}

/// One audit: two things that come from different places and must agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Check {
    /// What is compared, `completed_on_both_sides`.
    pub(crate) name: String,
    /// Whether the value keeps to the limit.
    pub(crate) ok: bool,
    pub(crate) value: Figure,
    pub(crate) limit: Figure,
}

/// A finite number: an undefined one cannot be made, so that none reaches a file.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, JsonSchema)]
pub(crate) struct Figure(f64);

/// What a cell that was measured gives to its row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) metrics: BTreeMap<String, Figure>,
    pub(crate) evidence: BTreeMap<String, Value>,
    pub(crate) histograms: BTreeMap<String, String>,
    pub(crate) checks: Vec<Check>,
}

/// Parameters in one field of a table: `requests=10000 warm=false`.
pub(crate) fn params_text(params: &BTreeMap<String, Value>) -> String {
    let each = params.iter().map(|(name, value)| {
        format!("{name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    });
    each.collect::<Vec<_>>().join(" ")
}

impl Row {
    /// A row with figures, which is invalid where a check failed.
    pub(crate) fn measured(cell: CellId, repetition: u32, measured: Measured) -> Row {
        let failed = measured.checks.iter().find(|check| !check.ok);
        let reason = failed
            .map(|check| format!("check {} failed: {} against {}", check.name, check.value, check.limit));
        let status = if failed.is_some() { Status::Invalid } else { Status::Ok };
        Row {
            metrics: measured.metrics,
            evidence: measured.evidence,
            histograms: measured.histograms,
            checks: measured.checks,
            ..Row::empty(cell, repetition, status, reason)
        }
    }

    /// A row without figures.
    pub(crate) fn without_figures(
        cell: CellId,
        repetition: u32,
        status: Status,
        reason: impl Into<String>,
    ) -> Row {
        Row::empty(cell, repetition, status, Some(reason.into()))
    }

    /// The check that it is invalid by: the first that failed.
    pub(crate) fn failed_check(&self) -> Option<&Check> {
        self.checks.iter().find(|check| !check.ok)
    }

    /// Which cell this is a row of.
    pub(crate) fn cell(&self) -> CellId {
        CellId {
            experiment: self.experiment.clone(),
            runtime: self.runtime.clone(),
            variant: self.variant.clone(),
            params: self.params.clone(),
        }
    }

    /// A figure of the row, where it has it.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).map(|figure| figure.get())
    }

    fn empty(cell: CellId, repetition: u32, status: Status, reason: Option<String>) -> Row {
        Row {
            format: FORMAT,
            experiment: cell.experiment,
            runtime: cell.runtime,
            variant: cell.variant,
            params: cell.params,
            repetition,
            order: 0,
            cell_number: 0,
            ends_cell: false,
            status,
            // A runner's own words may be in it.
            reason: reason.map(|reason| printable(&reason).into_owned()),
            metrics: BTreeMap::new(),
            limited_by: None,
            censored: None,
            evidence: BTreeMap::new(),
            histograms: BTreeMap::new(),
            checks: Vec::new(),
        }
    }
}

impl Status {
    /// Whether the figures of such a row may be ranked.
    pub(crate) fn ranks(self) -> bool {
        matches!(self, Status::Ok | Status::Censored)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Censored => "censored",
            Status::Partial => "partial",
            Status::Unsupported => "unsupported",
            Status::Invalid => "invalid",
            Status::Failed => "failed",
        }
    }
}

impl Measured {
    /// Adds a metric, unless it is undefined.
    pub(crate) fn metric(&mut self, name: &str, value: impl Into<Option<f64>>) {
        if let Some(figure) = value.into().and_then(Figure::new) {
            self.metrics.insert(name.to_owned(), figure);
        }
    }

    /// Adds a metric that is a whole number.
    pub(crate) fn count(&mut self, name: &str, value: u64) {
        self.metrics.insert(name.to_owned(), Figure::from(value));
    }

    /// Adds a percentile, unless it is one that the samples do not support.
    #[expect(clippy::cast_precision_loss, reason = "an hour is below 2^53 ns")]
    pub(crate) fn percentile(&mut self, name: &str, histogram: &Histogram, percentile: Percentile) {
        self.metric(name, percentile_ns(histogram, percentile).map(|ns| ns as f64));
    }

    /// Adds a histogram, in the form in which rows keep it.
    pub(crate) fn histogram(&mut self, name: &str, histogram: &Histogram) {
        if let Ok(Value::String(text)) = serde_json::to_value(histogram) {
            self.histograms.insert(name.to_owned(), text);
        }
    }

    /// Adds a piece of evidence, unless there is none.
    pub(crate) fn note(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        if !value.is_null() {
            self.evidence.insert(name.to_owned(), value);
        }
    }
}

impl Figure {
    /// The number, unless it is infinite or none at all.
    pub(crate) fn new(value: f64) -> Option<Figure> {
        value.is_finite().then_some(Figure(value))
    }

    pub(crate) fn get(self) -> f64 {
        self.0
    }
}

impl From<u64> for Figure {
    #[expect(clippy::cast_precision_loss, reason = "a count of 2^53 and more is shown to 16 digits")]
    fn from(value: u64) -> Figure {
        Figure(value as f64)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Figure {
    /// Whole numbers without a decimal point.
    #[expect(clippy::cast_possible_truncation, reason = "the bound is within 64 bits")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 9.0e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Figure, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Figure::new(value).ok_or_else(|| serde::de::Error::custom("a figure must be finite"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell() -> CellId {
        CellId {
            experiment: "capacity.burst".into(),
            runtime: "tokio".into(),
            variant: "multi-thread".into(),
            params: BTreeMap::from([("requests".into(), 10_000.into())]),
        }
    }

    #[test]
    fn an_undefined_figure_reaches_no_row() {
        let mut measured = Measured::default();
        measured.metric("efficiency", f64::NAN);
        measured.metric("throughput_per_s", 1.0 / 0.0);
        measured.metric("response_p50_ns", None);
        measured.metric("elapsed_ns", 104_000_000.0);
        let row = Row::measured(cell(), 1, measured);
        let text = serde_json::to_string(&row).unwrap();
        assert!(text.contains(r#""metrics":{"elapsed_ns":104000000}"#), "{text}");
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
    }

    #[test]
    fn a_failed_check_makes_a_row_invalid_and_names_itself() {
        let check = |ok| Check { name: "lost".into(), ok, value: Figure(3.0), limit: Figure(0.0) };
        let row = |ok| Row::measured(cell(), 1, Measured { checks: vec![check(ok)], ..Measured::default() });
        assert_eq!((row(true).status, row(true).reason), (Status::Ok, None));
        assert_eq!(row(false).status, Status::Invalid);
        assert_eq!(row(false).reason.unwrap(), "check lost failed: 3 against 0");
        assert!(!Status::Invalid.ranks());
    }

    #[test]
    fn the_order_of_statuses_is_from_best_to_worst() {
        let worst = [Status::Ok, Status::Failed, Status::Censored].into_iter().max();
        assert_eq!(worst, Some(Status::Failed));
    }
}
