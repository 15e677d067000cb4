//! The decision table: every variant beside its headline figures. Computed once, as values; each report renders them.

use statistics::distance;

use super::{FLOOR, Group, Run, Status};
use crate::aa::NoiseFloor;
use crate::better::{Better, better};

mod questions;
mod text;

use questions::{Answer, Chosen, QUESTIONS, Question};

/// Every variant beside its headline figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decision {
    pub(crate) columns: Vec<Column>,
    pub(crate) lines: Vec<Line>,
    /// Why a figure is missing, or shown and not ranked. Each stands here once; cells name it by its number, from 1.
    pub(crate) reasons: Vec<String>,
    /// Whether any column tells a best one or a tie: figures of one repetition tell none.
    pub(crate) is_ranked: bool,
}

/// One headline figure, the same for all.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// Under which conditions, and which way is better.
    pub(crate) condition: String,
}

/// One variant.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) label: String,
    /// `event loop`
    pub(crate) model: String,
    pub(crate) cells: Vec<Cell>,
}

/// One figure of one variant, or the number of the reason why there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// `>= 2,000`; none where there is no figure.
    pub(crate) figure: Option<String>,
    pub(crate) interval: Option<String>,
    /// What else belongs to the figure, such as the limit of a capacity.
    pub(crate) note: Option<String>,
    pub(crate) standing: Standing,
    /// What is not `ok`: the status, with the number of its reason.
    pub(crate) told: Option<(&'static str, usize)>,
    /// Where its rows are.
    pub(crate) anchor: Option<String>,
}

/// How a figure stands in its column, as far as the run can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing is told: it is not ranked, it is behind, or repetitions are too few.
    #[default]
    Untold,
    /// Ahead of all others by more than the noise.
    Best,
    /// Not to be told from the first of the column.
    Tie,
}

impl Decision {
    /// The table of a run. A column whose experiment was not run is left out.
    pub(crate) fn of(run: &Run, groups: &[Group]) -> Decision {
        let chosen = Chosen::of(groups);
        let asked: Vec<&Question> = QUESTIONS
            .iter()
            .filter(|question| groups.iter().any(|group| group.cell.experiment == question.experiment.name()))
            .collect();
        let variants = variants(run, groups);
        let mut decision = Decision {
            columns: asked
                .iter()
                .map(|question| Column { title: question.title, condition: (question.condition)(&chosen) })
                .collect(),
            lines: variants
                .iter()
                .map(|(first, _)| Line {
                    label: first.label.clone(),
                    model: model(run, first),
                    cells: vec![],
                })
                .collect(),
            ..Decision::default()
        };
        if asked.is_empty() {
            return Decision::default();
        }
        for question in asked {
            let answers: Vec<Option<Answer<'_>>> =
                variants.iter().map(|(_, own)| (question.answer)(&chosen, own)).collect();
            let standings = standings(run.noise_floor.as_ref(), &answers);
            for (index, (answer, standing)) in answers.iter().zip(standings).enumerate() {
                decision.is_ranked |= standing != Standing::Untold;
                let cell = decision.cell(question, answer.as_ref(), standing);
                decision.lines[index].cells.push(cell);
            }
        }
        decision
    }

    fn cell(&mut self, question: &Question, answer: Option<&Answer<'_>>, standing: Standing) -> Cell {
        let Some(answer) = answer else {
            let told = Some(("none", self.reason("not measured in this run".to_owned())));
            return Cell { told, ..Cell::default() };
        };
        let group = answer.group;
        let figure = answer.figure(question);
        let told = match (&group.reason, group.status) {
            (_, Status::Ok | Status::Censored) if figure.is_some() => None,
            (_, Status::Ok | Status::Censored) => {
                Some(("none", self.reason("too few samples for this figure".to_owned())))
            }
            (reason, status) => {
                let reason = reason.clone().unwrap_or_else(|| "without a reason".to_owned());
                Some((status.name(), self.reason(reason)))
            }
        };
        Cell {
            interval: figure.as_ref().and_then(|_| answer.interval(question)),
            note: figure.as_ref().and_then(|_| answer.note.clone()),
            figure,
            standing,
            told,
            anchor: Some(group.anchor()),
        }
    }

    fn reason(&mut self, reason: String) -> usize {
        let known = self.reasons.iter().position(|known| *known == reason);
        known.unwrap_or_else(|| {
            self.reasons.push(reason);
            self.reasons.len() - 1
        }) + 1
    }
}

/// The groups of each variant, in the order in which the run lists runtimes and variants.
fn variants<'a>(run: &Run, groups: &'a [Group]) -> Vec<(&'a Group, Vec<&'a Group>)> {
    let mut variants: Vec<(&Group, Vec<&Group>)> = Vec::new();
    for group in groups {
        match variants.iter_mut().find(|(first, _)| first.label == group.label) {
            Some((_, own)) => own.push(group),
            None => variants.push((group, vec![group])),
        }
    }
    let place = |group: &Group| {
        let runtime = run.runtimes.iter().position(|one| one.runtime == group.cell.runtime);
        let variant = runtime
            .and_then(|at| run.runtimes[at].variants.iter().position(|one| one.name == group.cell.variant));
        (runtime.unwrap_or(usize::MAX), variant.unwrap_or(usize::MAX))
    };
    variants.sort_by_key(|(first, _)| place(first));
    variants
}

fn model(run: &Run, group: &Group) -> String {
    let known = run.runtimes.iter().find(|one| one.runtime == group.cell.runtime);
    known.map(|one| one.execution_model.clone()).unwrap_or_default()
}

/// How each answer stands. The floor has no model to choose and is not ranked, nor is what is no exact figure.
fn standings(floor: Option<&NoiseFloor>, answers: &[Option<Answer<'_>>]) -> Vec<Standing> {
    let mut standings = vec![Standing::Untold; answers.len()];
    let mut ranked: Vec<(usize, &Answer<'_>, f64)> = answers
        .iter()
        .enumerate()
        .filter_map(|(index, answer)| {
            let answer = answer.as_ref()?;
            let is_ranked = answer.is_comparable
                && answer.group.status == Status::Ok
                && answer.group.cell.runtime != FLOOR;
            Some((index, answer, answer.group.median(answer.metric)?)).filter(|_| is_ranked)
        })
        .collect();
    match ranked.first().and_then(|(_, answer, _)| better(answer.metric)) {
        Some(Better::Less) => ranked.sort_by(|(_, _, a), (_, _, b)| a.total_cmp(b)),
        Some(Better::More) => ranked.sort_by(|(_, _, a), (_, _, b)| b.total_cmp(a)),
        None => return standings,
    }
    let Some(((first, best, _), others)) = ranked.split_first() else { return standings };
    let compared: Vec<(usize, Option<bool>)> =
        others.iter().map(|(index, other, _)| (*index, is_tie(floor, best, other))).collect();
    let ties = compared.iter().filter(|(_, tie)| *tie == Some(true));
    ties.for_each(|(index, _)| standings[*index] = Standing::Tie);
    standings[*first] = if standings.contains(&Standing::Tie) {
        Standing::Tie
    } else if !compared.is_empty() && compared.iter().all(|(_, tie)| *tie == Some(false)) {
        Standing::Best
    } else {
        Standing::Untold
    };
    standings
}

/// By the noise floor where there is one for as many repetitions, or else by intervals that overlap. None where the
/// repetitions say nothing of the spread.
fn is_tie(floor: Option<&NoiseFloor>, a: &Answer<'_>, b: &Answer<'_>) -> Option<bool> {
    let spread = |answer: &Answer<'_>| answer.group.metrics.get(answer.metric).copied();
    let (first, second) = (spread(a)?, spread(b)?);
    let share = floor
        .filter(|floor| first.n.min(second.n) >= floor.repetitions)
        .and_then(|floor| floor.by_metric.get(a.metric));
    if let Some(share) = share {
        return distance(second.median.get() / first.median.get()).ok().map(|distance| distance <= *share);
    }
    let (first, second) = (first.interval?, second.interval?);
    Some(first.low() <= second.high() && second.low() <= first.high())
}

#[cfg(test)]
mod tests;
