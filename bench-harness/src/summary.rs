//! From rows to a summary: per cell and metric the median and the interval over repetitions.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use statistics::{Interval, Level, Sample, median_interval};

use crate::environment::Run;
use crate::experiment::Experiment;
use crate::row::{CellId, Figure, Row, Status, params_text};
use crate::table::Table;

/// All repetitions of one cell.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) cell: CellId,
    /// `tokio:current-thread`
    pub(crate) label: String,
    pub(crate) status: Status,
    pub(crate) reason: Option<String>,
    pub(crate) metrics: BTreeMap<String, Spread>,
    /// What ended the repetitions; where that differs, each limit with how many it ended.
    pub(crate) limited_by: Option<String>,
    /// Whether the median is a lower bound: where a repetition is one, the true median may be larger.
    pub(crate) censored: Option<bool>,
    /// Whether some repetitions are lower bounds and others are not.
    pub(crate) is_mixed: bool,
    /// Of the repetition that is nearest to the median.
    pub(crate) evidence: BTreeMap<String, Value>,
    /// Where it stands among the groups of a run, from 1.
    pub(crate) number: usize,
    /// Where its rows stand among those of the run.
    pub(crate) rows: Vec<usize>,
}

/// A figure over repetitions. The sample is the repetition, not the request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: Figure,
    pub(crate) min: Figure,
    pub(crate) max: Figure,
    pub(crate) n: u32,
    /// Of the median; none of one repetition.
    pub(crate) interval: Option<Interval>,
}

/// What the interval of a median is to cover where there are repetitions enough. Of five it is the smallest and the
/// largest, which cover 93.75 %.
const COVERAGE: Level = Level::P90;

/// One entry of `summary.json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Entry {
    /// The experiment, `capacity.burst`.
    experiment: String,
    /// The runtime, `tokio`.
    runtime: String,
    /// The variant, `current-thread`.
    variant: String,
    /// What distinguishes this cell from the others of the variant and the experiment.
    params: BTreeMap<String, Value>,
    /// Null where the cell has no figures.
    metric: Option<String>,
    /// Over the repetitions.
    median: Option<Figure>,
    /// The interval of the median, by order statistics; null where n is 1 and the figure is no slope.
    ci_low: Option<Figure>,
    /// The upper end of that interval.
    ci_high: Option<Figure>,
    /// Whether it is that of a fitted line, whose slope the figure is, and not over repetitions: so where n is 1.
    ci_of_fit: bool,
    /// With which probability that interval covers the true median: less than 0.9 where n is below 5.
    coverage: Option<f64>,
    /// The smallest repetition.
    min: Option<Figure>,
    /// The largest repetition.
    max: Option<Figure>,
    /// Repetitions with a figure. 1 says nothing of the spread.
    n: u32,
    status: Status,
    /// Why there are no figures, or why they do not count.
    reason: Option<String>,
    /// Where repetitions ended by several limits, each with how many it ended.
    limited_by: Option<String>,
    /// The median, the ends of its interval and the largest are lower bounds: at least one repetition is.
    censored: Option<bool>,
}

/// Between which two figures another one lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) low: Figure,
    pub(crate) high: Figure,
    /// With this probability.
    pub(crate) coverage: f64,
    pub(crate) is_of_fit: bool,
}

impl Spread {
    fn of(figures: Vec<f64>) -> Option<Spread> {
        let sample = Sample::new(figures).ok()?;
        let [median, min, max] = [sample.median(), sample.min(), sample.max()].map(Figure::new);
        Some(Spread {
            median: median?,
            min: min?,
            max: max?,
            n: u32::try_from(sample.n()).unwrap_or(u32::MAX),
            // A run has at most a thousand repetitions, and more are not computed with.
            interval: median_interval(&sample, COVERAGE).ok().flatten(),
        })
    }
}

impl Group {
    /// The median of a metric.
    pub(crate) fn median(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).map(|spread| spread.median.get())
    }

    /// The interval of a metric: that over repetitions, or, of one repetition, that of the line whose slope it is.
    pub(crate) fn interval(&self, name: &str) -> Option<Bounds> {
        let spread = self.metrics.get(name)?;
        if let Some(interval) = spread.interval {
            let (low, high) = (Figure::new(interval.low())?, Figure::new(interval.high())?);
            return Some(Bounds { low, high, coverage: interval.coverage(), is_of_fit: false });
        }
        let fit = self.evidence.get("fit")?.get(name)?;
        let figure = |name: &str| fit.get(name)?.as_f64();
        let (low, high) = (Figure::new(figure("low")?)?, Figure::new(figure("high")?)?);
        Some(Bounds { low, high, coverage: figure("coverage")?, is_of_fit: true })
    }

    /// What its rows are found by in a report.
    pub(crate) fn anchor(&self) -> String {
        format!("cell-{}", self.number)
    }

    /// A parameter that is a whole number.
    pub(crate) fn param(&self, name: &str) -> Option<u64> {
        self.cell.params.get(name)?.as_u64()
    }
}

/// Groups rows by cell: experiments in their order, runtimes as the run lists them, parameters ascending.
pub(crate) fn groups(run: &Run, rows: &[Row]) -> Vec<Group> {
    // By a key that can be hashed: a run may have thousands of cells.
    let mut places: HashMap<(&str, &str, &str, String), usize> = HashMap::new();
    let mut cells: Vec<(CellId, Vec<usize>)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let params = serde_json::json!(row.params).to_string();
        let key = (row.experiment.as_str(), row.runtime.as_str(), row.variant.as_str(), params);
        let place = *places.entry(key).or_insert_with(|| {
            cells.push((row.cell(), Vec::new()));
            cells.len() - 1
        });
        cells[place].1.push(index);
    }
    cells.sort_by_cached_key(|(cell, _)| rank(run, cell));
    let numbered = cells.into_iter().zip(1..);
    numbered.map(|((cell, indices), number)| group(run, rows, cell, indices, number)).collect()
}

/// The entries of `summary.json`.
pub(crate) fn entries(groups: &[Group]) -> Vec<Entry> {
    groups.iter().flat_map(of_group).collect()
}

impl Entry {
    /// The tidy table: one line a figure.
    pub(crate) fn table(entries: &[Entry]) -> Table {
        let mut table = Table::new(&[
            "experiment",
            "runtime",
            "variant",
            "params",
            "metric",
            "median",
            "ci_low",
            "ci_high",
            "ci_of_fit",
            "coverage",
            "min",
            "max",
            "n",
            "status",
            "reason",
            "limited_by",
            "censored",
        ]);
        let figure = |figure: Option<Figure>| figure.map(|figure| figure.to_string()).unwrap_or_default();
        for entry in entries {
            table.push(vec![
                entry.experiment.clone(),
                entry.runtime.clone(),
                entry.variant.clone(),
                params_text(&entry.params),
                entry.metric.clone().unwrap_or_default(),
                figure(entry.median),
                figure(entry.ci_low),
                figure(entry.ci_high),
                entry.ci_of_fit.to_string(),
                entry.coverage.map(|coverage| coverage.to_string()).unwrap_or_default(),
                figure(entry.min),
                figure(entry.max),
                entry.n.to_string(),
                entry.status.name().to_owned(),
                entry.reason.clone().unwrap_or_default(),
                entry.limited_by.clone().unwrap_or_default(),
                entry.censored.map(|censored| censored.to_string()).unwrap_or_default(),
            ]);
        }
        table
    }
}

fn of_group(group: &Group) -> Vec<Entry> {
    let interval = |metric: Option<&str>| group.interval(metric?);
    let entry = |metric: Option<&str>, spread: Option<Spread>| Entry {
        experiment: group.cell.experiment.clone(),
        runtime: group.cell.runtime.clone(),
        variant: group.cell.variant.clone(),
        params: group.cell.params.clone(),
        metric: metric.map(str::to_owned),
        median: spread.map(|spread| spread.median),
        ci_low: interval(metric).map(|interval| interval.low),
        ci_high: interval(metric).map(|interval| interval.high),
        ci_of_fit: interval(metric).is_some_and(|interval| interval.is_of_fit),
        coverage: interval(metric).map(|interval| interval.coverage),
        min: spread.map(|spread| spread.min),
        max: spread.map(|spread| spread.max),
        n: spread.map_or(0, |spread| spread.n),
        status: group.status,
        reason: group.reason.clone(),
        limited_by: group.limited_by.clone(),
        censored: group.censored,
    };
    if group.metrics.is_empty() {
        return vec![entry(None, None)];
    }
    group.metrics.iter().map(|(name, spread)| entry(Some(name), Some(*spread))).collect()
}

fn group(run: &Run, rows: &[Row], cell: CellId, indices: Vec<usize>, number: usize) -> Group {
    let all: Vec<&Row> = indices.iter().map(|index| &rows[*index]).collect();
    // A repetition that was cut short says nothing, unless there is no other.
    let finished: Vec<&Row> = all.iter().copied().filter(|row| row.status != Status::Partial).collect();
    let told = if finished.is_empty() { all } else { finished };
    let ranked: Vec<&Row> = told.iter().copied().filter(|row| row.status.ranks()).collect();
    // Figures that must not be ranked are shown where there are no others.
    let shown = if ranked.is_empty() { told.clone() } else { ranked };
    let mut metrics = BTreeMap::new();
    for name in shown.iter().flat_map(|row| row.metrics.keys()) {
        let figures = shown.iter().filter_map(|row| row.metric(name)).collect();
        if let Some(spread) = Spread::of(figures) {
            metrics.insert(name.clone(), spread);
        }
    }
    let worst = told.iter().max_by_key(|row| row.status);
    let lower_bounds = shown.iter().filter(|row| row.censored == Some(true)).count();
    let is_mixed = lower_bounds > 0 && lower_bounds < shown.len();
    let mixed =
        || format!("{lower_bounds} of {} repetitions are lower bounds, and so is their median", shown.len());
    let distance = |row: &&Row| match (row.metric("in_flight_capacity"), metrics.get("in_flight_capacity")) {
        (Some(own), Some(spread)) => (own - spread.median.get()).abs(),
        _ => 0.0,
    };
    let typical = shown.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let description = run.runtimes.iter().find(|description| description.runtime == cell.runtime);
    let label = description.map_or_else(
        || format!("{}:{}", cell.runtime, cell.variant),
        |description| description.label(&cell.variant),
    );
    // Of a cell that was measured as two.
    let side = cell.params.get("side").and_then(Value::as_str);
    let label = side.map_or_else(|| label.clone(), |side| format!("{label} ({side})"));
    let by =
        cell.params.get("cpus_by").and_then(Value::as_str).map(|by| format!(" by {by}")).unwrap_or_default();
    let cpus = cell.params.get("cpus").map(|cpus| format!(" ({cpus} CPU{by})")).unwrap_or_default();
    Group {
        label: label + &cpus,
        status: worst.map_or(Status::Failed, |row| row.status),
        reason: worst.and_then(|row| row.reason.clone()).or_else(|| is_mixed.then(mixed)),
        limited_by: limits(&shown),
        censored: if lower_bounds > 0 { Some(true) } else { shown.iter().find_map(|row| row.censored) },
        is_mixed,
        evidence: typical.map(|row| row.evidence.clone()).unwrap_or_default(),
        metrics,
        cell,
        number,
        rows: indices,
    }
}

/// `objective`, or `objective (2 of 3), load client (1 of 3)`, the most frequent first.
fn limits(rows: &[&Row]) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for limit in rows.iter().filter_map(|row| row.limited_by.as_deref()) {
        match counts.iter_mut().find(|(name, _)| *name == limit) {
            Some((_, count)) => *count += 1,
            None => counts.push((limit, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    match counts[..] {
        [] => None,
        [(only, count)] if count == rows.len() => Some(only.to_owned()),
        _ => {
            let each = counts.iter().map(|(name, count)| format!("{name} ({count} of {})", rows.len()));
            Some(each.collect::<Vec<_>>().join(", "))
        }
    }
}

type Rank = (usize, usize, usize, String, Vec<(String, u64, String)>);

fn rank(run: &Run, cell: &CellId) -> Rank {
    let experiment = Experiment::ALL.iter().position(|experiment| experiment.name() == cell.experiment);
    let runtime = run.runtimes.iter().position(|description| description.runtime == cell.runtime);
    let variant = runtime
        .and_then(|at| run.runtimes[at].variants.iter().position(|variant| variant.name == cell.variant));
    let last = usize::MAX;
    let params = cell
        .params
        .iter()
        .map(|(name, value)| (name.clone(), value.as_u64().unwrap_or(0), value.to_string()));
    (
        experiment.unwrap_or(last),
        runtime.unwrap_or(last),
        variant.unwrap_or(last),
        cell.variant.clone(),
        params.collect(),
    )
}

#[cfg(test)]
mod tests;
