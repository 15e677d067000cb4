//! One cell in both runs: which of its figures can be compared, and what is said of those that cannot.

use std::collections::BTreeSet;

use statistics::Sample;

use super::judge::{self, Why};
use super::{Compared, Floors, Side, Verdict};
use crate::better::{self, Better, COMPUTED, Sense};
use crate::row::{Figure, Status};
use crate::summary::Group;

/// What is exact also where the load client limits the rate: it ranks alone then.
const EXACT_WHERE_LIMITED: &str = "cpu_ns_per_request";

/// One cell in both runs.
pub(super) struct Pair<'a> {
    pub(super) a: &'a Side,
    pub(super) b: &'a Side,
    pub(super) one: &'a Group,
    pub(super) other: &'a Group,
    pub(super) floors: &'a Floors,
}

impl Pair<'_> {
    /// All of its figures that can be compared; names of metrics of which nothing is known are put in `unknown`.
    pub(super) fn compared(&self, unknown: &mut BTreeSet<String>) -> Vec<Compared> {
        let (one, other) = (self.one, self.other);
        let has_exact = |group: &Group| {
            group.status == Status::Ok
                || group.status == Status::Censored && group.metrics.contains_key(EXACT_WHERE_LIMITED)
        };
        let is_exact = |group: &Group, name: &str| group.status == Status::Ok || name == EXACT_WHERE_LIMITED;
        let mut compared = Vec::new();
        if one.status != Status::Ok || other.status != Status::Ok {
            compared.push(self.of_statuses());
        }
        if !has_exact(one) || !has_exact(other) {
            return compared;
        }
        let names: BTreeSet<&String> = one.metrics.keys().chain(other.metrics.keys()).collect();
        for name in names.into_iter().filter(|name| !COMPUTED.contains(&name.as_str())) {
            match better::sense(name) {
                Some(Sense::Figure(better)) if is_exact(one, name) && is_exact(other, name) => {
                    compared.push(self.of_metric(name, better));
                }
                Some(_) => {}
                None => drop(unknown.insert(name.clone())),
            }
        }
        compared
    }

    /// The cell, where a status leaves figures out.
    fn of_statuses(&self) -> Compared {
        let (was, is) = (self.one.status, self.other.status);
        let reason = |group: &Group| {
            let told = group
                .reason
                .clone()
                .or_else(|| group.limited_by.as_ref().map(|by| format!("limited by {by}")));
            told.map(|told| format!(": {told}")).unwrap_or_default()
        };
        let told = if was == is {
            format!("{} in both{}", is.name(), reason(self.other))
        } else {
            // The side that is not ok has something to say.
            let telling = if is == Status::Ok { self.one } else { self.other };
            format!("was {}, is {}{}", was.name(), is.name(), reason(telling))
        };
        let can = |status: Status| status.ranks();
        let cannot = |status: Status| matches!(status, Status::Failed | Status::Unsupported);
        let verdict = match (was, is) {
            _ if can(was) && cannot(is) => Verdict::Regressed,
            _ if cannot(was) && can(is) => Verdict::Improved,
            _ => Verdict::Incomparable,
        };
        Compared { verdict, reason: Some(told), ..self.blank() }
    }

    fn of_metric(&self, name: &str, better: Better) -> Compared {
        let samples = [(self.a, self.one), (self.b, self.other)].map(|(side, group)| {
            let rows = group.rows.iter().map(|index| &side.rows[*index]).filter(|row| row.status.ranks());
            Sample::new(rows.filter_map(|row| row.metric(name))).ok()
        });
        let blank = Compared { metric: Some(name.to_owned()), better: Some(better), ..self.blank() };
        let median =
            |sample: &Option<Sample>| sample.as_ref().and_then(|sample| Figure::new(sample.median()));
        let n = |sample: &Option<Sample>| sample.as_ref().map_or(0, Sample::n);
        let [a, b] = &samples;
        let told = Compared { a: median(a), b: median(b), n_a: n(a), n_b: n(b), ..blank };
        let (Some(a), Some(b)) = (a, b) else {
            let who = if a.is_none() { "A" } else { "B" };
            let reason = Some(format!("{who} has no such figure"));
            return Compared { verdict: Verdict::Incomparable, reason, ..told };
        };
        let threshold = self.floors.threshold(name, a.n().min(b.n()));
        let judged = judge::judge(a, b, better, threshold);
        Compared {
            verdict: judged.verdict,
            ratio: judged.ratio.and_then(Figure::new),
            low: judged.interval.and_then(|(low, _)| Figure::new(low)),
            high: judged.interval.and_then(|(_, high)| Figure::new(high)),
            threshold: Some(threshold),
            repetitions_wanted: match judged.why {
                Some(Why::TooFew { repetitions }) => Some(repetitions),
                _ => None,
            },
            reason: judged.why.map(|why| match why {
                Why::TooFew { repetitions } => format!("about {repetitions} repetitions of each would do"),
                Why::NoRatio(error) => error.to_string(),
            }),
            ..told
        }
    }

    fn blank(&self) -> Compared {
        let cell = &self.other.cell;
        Compared {
            verdict: Verdict::Incomparable,
            experiment: cell.experiment.clone(),
            runtime: cell.runtime.clone(),
            variant: cell.variant.clone(),
            label: self.other.label.clone(),
            params: cell.params.clone(),
            status_a: self.one.status,
            status_b: self.other.status,
            metric: None,
            better: None,
            a: None,
            b: None,
            n_a: 0,
            n_b: 0,
            ratio: None,
            low: None,
            high: None,
            threshold: None,
            repetitions_wanted: None,
            reason: None,
        }
    }
}
