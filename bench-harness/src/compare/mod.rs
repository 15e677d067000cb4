//! Two runs side by side: what changed by more than noise, what did not, and what cannot be compared. Pure: a command
//! reads the runs, and a text, a page or a file shows what came of it.

mod differences;
mod floor;
mod html;
mod judge;
mod pair;
mod text;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use statistics::distance;

use crate::better::Better;
use crate::environment::Run;
use crate::report;
use crate::row::{Figure, Row, Status};
use crate::summary::{self, Group};

pub(crate) use differences::Difference;
pub(crate) use floor::Floors;
pub(crate) use html::html;
pub(crate) use judge::Verdict;
pub(crate) use text::{csv, text};

use judge::COVERAGE;
use pair::Pair;

/// One of the two runs.
#[derive(Debug)]
pub(crate) struct Side {
    /// As the user names it.
    pub(crate) name: String,
    pub(crate) run: Run,
    pub(crate) rows: Vec<Row>,
    groups: Vec<Group>,
}

/// What came of comparing two runs, the first being what the second is held against.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Comparison {
    /// The version of this format.
    pub(crate) format: u32,
    pub(crate) a: About,
    pub(crate) b: About,
    /// Why the runs as wholes cannot be compared. Where there are any, figures are compared only for who asks for it.
    pub(crate) differences: Vec<Difference>,
    /// What else a reader has to know.
    pub(crate) notes: Vec<String>,
    pub(crate) counts: Counts,
    /// Each figure of each cell that both runs have, what matters most first.
    pub(crate) figures: Vec<Compared>,
    /// Cells that one of the runs has alone.
    pub(crate) only_in_a: Vec<String>,
    /// And those that the other one has alone.
    pub(crate) only_in_b: Vec<String>,
}

/// Which run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct About {
    /// As it was named on the command line.
    pub(crate) name: String,
    /// In UTC, by RFC 3339.
    pub(crate) started_at: String,
    /// `quick` or `full`, or `aa`.
    pub(crate) size: String,
    /// The git revision of its harness.
    pub(crate) revision: String,
}

/// How many figures got which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Counts {
    /// Cells that both runs have.
    pub(crate) cells: usize,
    /// Figures that are worse by more than the threshold; and so on, as the verdicts have it.
    pub(crate) regressed: usize,
    /// Those that are better, likewise.
    pub(crate) improved: usize,
    /// Those that cannot be compared.
    pub(crate) incomparable: usize,
    /// Those of which repetitions are too few to tell.
    pub(crate) inconclusive: usize,
    /// Those in which no difference is told.
    pub(crate) unchanged: usize,
    /// Those that have an interval, so that a difference can be told.
    pub(crate) judged: usize,
}

/// One figure of one cell in both runs; or a cell whose statuses leave no figures to compare.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Compared {
    pub(crate) verdict: Verdict,
    /// The experiment, `capacity.burst`.
    pub(crate) experiment: String,
    /// The runtime, `tokio`.
    pub(crate) runtime: String,
    /// The variant, `current-thread`.
    pub(crate) variant: String,
    #[serde(skip)]
    pub(crate) label: String,
    /// What distinguishes this cell from the others of the variant and the experiment.
    pub(crate) params: BTreeMap<String, Value>,
    pub(crate) status_a: Status,
    pub(crate) status_b: Status,
    /// None where a status leaves no figure of the cell to compare.
    pub(crate) metric: Option<String>,
    /// Which way the metric is better.
    pub(crate) better: Option<Better>,
    /// The median of A.
    pub(crate) a: Option<Figure>,
    /// The median of B.
    pub(crate) b: Option<Figure>,
    /// Repetitions of A with a figure.
    pub(crate) n_a: usize,
    /// Repetitions of B with a figure.
    pub(crate) n_b: usize,
    /// B over A, and the interval of that.
    pub(crate) ratio: Option<Figure>,
    /// The lower end of the interval of the ratio.
    pub(crate) low: Option<Figure>,
    /// The upper end of it.
    pub(crate) high: Option<Figure>,
    /// How far from 1 the ratio must be to be called a difference: 0.02 is 2 %.
    pub(crate) threshold: Option<f64>,
    /// How many repetitions of each side would tell.
    pub(crate) repetitions_wanted: Option<u32>,
    /// Why the verdict is what it is, where it does not follow from the figures.
    pub(crate) reason: Option<String>,
}

impl Side {
    pub(crate) fn new(name: String, run: Run, rows: Vec<Row>) -> Side {
        let groups = summary::groups(&run, &rows);
        Side { name, run, rows, groups }
    }

    fn about(&self) -> About {
        About {
            name: self.name.clone(),
            started_at: self.run.started_at.clone(),
            size: self.run.size.clone(),
            revision: self.run.build.revision.clone(),
        }
    }

    fn by_key(&self) -> HashMap<Key<'_>, &Group> {
        self.groups.iter().map(|group| (key(group), group)).collect()
    }
}

impl Comparison {
    /// Says what differs between the runs as wholes, and no more.
    pub(crate) fn refused(a: &Side, b: &Side) -> Option<Comparison> {
        let differences = differences::differences(&a.run, &b.run);
        let none = Comparison {
            format: crate::row::FORMAT,
            a: a.about(),
            b: b.about(),
            differences,
            notes: notes(a, b),
            counts: Counts::default(),
            figures: Vec::new(),
            only_in_a: Vec::new(),
            only_in_b: Vec::new(),
        };
        (!none.differences.is_empty()).then_some(none)
    }

    /// Compares all figures, whatever differs between the runs as wholes.
    pub(crate) fn of(a: &Side, b: &Side, floors: &Floors) -> Comparison {
        let is_same = a.rows == b.rows;
        let in_b = b.by_key();
        let in_a = a.by_key();
        let mut figures = Vec::new();
        let mut unknown = BTreeSet::new();
        let mut cells = 0;
        for one in &a.groups {
            let Some(other) = in_b.get(&key(one)) else { continue };
            cells += 1;
            let pair = Pair { a, b, one, other, floors };
            figures.extend(pair.compared(&mut unknown));
        }
        if is_same {
            let told = |figure: &&mut Compared| figure.metric.is_some();
            for figure in figures.iter_mut().filter(told) {
                (figure.verdict, figure.reason, figure.repetitions_wanted) = (Verdict::Unchanged, None, None);
            }
        }
        // Stable: within a verdict and a distance, the order is that of the report.
        figures.sort_by(|a, b| a.verdict.cmp(&b.verdict).then_with(|| b.distance().total_cmp(&a.distance())));
        let mut notes = notes(a, b);
        if is_same {
            notes.insert(0, "A and B are the same run.".to_owned());
        }
        notes.push(floors.told());
        if !unknown.is_empty() {
            let names = unknown.into_iter().collect::<Vec<_>>().join(", ");
            notes.push(format!("Left out, since nothing says which way they are better: {names}."));
        }
        let alone = |groups: &[Group], other: &HashMap<Key<'_>, &Group>| {
            groups.iter().filter(|group| !other.contains_key(&key(group))).map(cell_name).collect()
        };
        Comparison {
            format: crate::row::FORMAT,
            a: a.about(),
            b: b.about(),
            differences: differences::differences(&a.run, &b.run),
            notes,
            counts: Counts::of(&figures, cells),
            only_in_a: alone(&a.groups, &in_b),
            only_in_b: alone(&b.groups, &in_a),
            figures,
        }
    }

    /// How many intervals leave out 1 by chance, at the most, where nothing has changed.
    pub(crate) fn false_alarms_expected(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "figures of a run are few")]
        let judged = self.counts.judged as f64;
        judged * (1.0 - COVERAGE.get())
    }
}

impl Counts {
    fn of(figures: &[Compared], cells: usize) -> Counts {
        let count = |verdict: Verdict| figures.iter().filter(|figure| figure.verdict == verdict).count();
        Counts {
            cells,
            regressed: count(Verdict::Regressed),
            improved: count(Verdict::Improved),
            incomparable: count(Verdict::Incomparable),
            inconclusive: count(Verdict::Inconclusive),
            unchanged: count(Verdict::Unchanged),
            judged: figures.iter().filter(|figure| figure.low.is_some()).count(),
        }
    }
}

impl Compared {
    /// Whether it says no more than that neither run has a figure, for the same reason.
    fn is_alike_without_figures(&self) -> bool {
        self.metric.is_none() && self.status_a == self.status_b
    }

    /// How far the ratio is from 1. What has none comes last.
    fn distance(&self) -> f64 {
        self.ratio.and_then(|ratio| distance(ratio.get()).ok()).unwrap_or(-1.0)
    }
}

/// What tells a cell from others.
type Key<'a> = (&'a str, &'a str, &'a str, String);

fn key(group: &Group) -> Key<'_> {
    let cell = &group.cell;
    (&cell.experiment, &cell.runtime, &cell.variant, serde_json::json!(cell.params).to_string())
}

/// `capacity.burst tokio requests=10000 warm=false`
fn cell_name(group: &Group) -> String {
    let params = crate::row::params_text(&group.cell.params);
    format!("{} {} {params}", group.cell.experiment, group.label).trim_end().to_owned()
}

fn notes(a: &Side, b: &Side) -> Vec<String> {
    let mut notes = differences::notes(&a.run, &b.run);
    for (name, side) in [("A", a), ("B", b)] {
        notes.extend(
            report::warnings(&side.run, &side.groups).iter().map(|warning| format!("{name}: {warning}.")),
        );
    }
    notes
}

#[cfg(test)]
mod tests;
