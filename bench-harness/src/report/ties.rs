//! Ties: variants that differ by less than the noise floor of the machine, where that was measured.

use statistics::distance;

use super::{Group, Run};

/// The metrics by which variants are ranked.
const RANKED: [&str; 3] = ["elapsed_ns", "throughput_per_s", "cpu_ns_per_request"];

/// One sentence for each metric of each cell that has ties.
pub(crate) fn ties(run: &Run, groups: &[Group]) -> Vec<String> {
    let Some(floor) = &run.noise_floor else { return Vec::new() };
    let mut sentences = Vec::new();
    let mut is_noisier = false;
    for first in first_of_each_cell(groups) {
        for name in RANKED {
            let Some(share) = floor.by_metric.get(name) else { continue };
            let mut ranked: Vec<(&str, f64)> = Vec::new();
            for group in groups.iter().filter(|group| is_same_cell(group, first) && group.status.ranks()) {
                let Some(spread) = group.metrics.get(name) else { continue };
                if spread.n >= floor.repetitions {
                    ranked.push((&group.label, spread.median.get()));
                } else {
                    is_noisier = true;
                }
            }
            ranked.sort_by(|(_, a), (_, b)| a.total_cmp(b));
            let tied = ranked.windows(2).filter_map(|pair| {
                let [(a, low), (b, high)] = pair else { return None };
                distance(high / low)
                    .is_ok_and(|distance| distance <= *share)
                    .then(|| format!("`{a}` and `{b}`"))
            });
            let tied: Vec<String> = tied.collect();
            if !tied.is_empty() {
                sentences.push(format!(
                    "In {} of {}{} a tie is what differs by at most the noise floor of {:.1} %: {}.",
                    name.trim_end_matches("_ns").replace('_', " "),
                    first.cell.experiment,
                    params(first),
                    share * 100.0,
                    tied.join(", ")
                ));
            }
        }
    }
    if is_noisier {
        sentences.push(format!(
            "The noise floor is that of medians of {} runs, measured on `{}`; of figures of fewer runs no tie is told.",
            floor.repetitions, floor.measured_on
        ));
    }
    sentences
}

/// One group of each cell, whoever it is of.
fn first_of_each_cell(groups: &[Group]) -> Vec<&Group> {
    let mut firsts: Vec<&Group> = Vec::new();
    for group in groups {
        if !firsts.iter().any(|first| is_same_cell(first, group)) {
            firsts.push(group);
        }
    }
    firsts
}

fn is_same_cell(a: &Group, b: &Group) -> bool {
    a.cell.experiment == b.cell.experiment && a.cell.params == b.cell.params
}

/// What tells the cell apart, where it has parameters.
fn params(group: &Group) -> String {
    let params = group.cell.params.iter().map(|(name, value)| {
        format!("{name} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    });
    let params = params.collect::<Vec<_>>().join(", ");
    if params.is_empty() { params } else { format!(" ({params})") }
}
