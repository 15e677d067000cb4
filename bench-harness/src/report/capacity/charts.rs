//! The charts of the capacity experiments: how near a burst comes to its bound, and where in-flight capacity ends.

use serde_json::Value;

use crate::experiment::Experiment;
use crate::format::{count, metric, ns, whole};
use crate::report::chart::{Axis, Bar, Bars, Chart, Line, Panel, Panels, Picture, Point, Shape, Ticks};
use crate::report::{Data, of};
use crate::summary::Group;

pub(super) fn charts(data: &Data<'_>) -> Vec<Chart> {
    vec![
        efficiency(data.groups),
        cpu(data.groups),
        curves(data, Experiment::HoldTasks, "tasks, in process"),
        curves(data, Experiment::Hold, "connections, over HTTP"),
    ]
}

fn efficiency(groups: &[Group]) -> Chart {
    let is_warm = |group: &Group| group.cell.params.get("warm").and_then(Value::as_bool) == Some(true);
    let mut bars: Vec<Bar> = Vec::new();
    for group in of(groups, Experiment::Burst) {
        let Some(efficiency) = group.median("efficiency") else { continue };
        let place = usize::from(is_warm(group));
        let bar = match bars.iter_mut().position(|bar| bar.label == group.label) {
            Some(at) => &mut bars[at],
            None => {
                bars.push(Bar {
                    label: group.label.clone(),
                    values: vec![None; 2],
                    anchor: Some(group.anchor()),
                    ..Bar::default()
                });
                bars.last_mut().expect("one was pushed")
            }
        };
        bar.values[place] = Some(efficiency);
        bar.is_doubtful |= !group.status.ranks();
        let slash = if bar.told.is_empty() { "" } else { " / " };
        let doubt = if group.status.ranks() { "" } else { " (invalid)" };
        bar.told.push_str(&format!("{slash}{efficiency:.3}{doubt}"));
    }
    Chart {
        title: "How near does a burst come to its bound?".to_owned(),
        caption: "Bound / elapsed: at 1 a burst takes no longer than arithmetic says, be it that all wait at once or \
                  that a pool takes turns. The first figure is cold, the second warm."
            .to_owned(),
        picture: Picture::Bars(Bars {
            parts: vec!["first burst of a process (cold)", "second burst (warm)"],
            shape: Shape::Marks,
            base: 1_000.0,
            format: |value| format!("{value:.2}"),
            bars,
        }),
    }
}

/// What a waiting request costs in CPU, from its start to its end.
fn cpu(groups: &[Group]) -> Chart {
    let is_cold = |group: &&Group| group.cell.params.get("warm") != Some(&true.into());
    let bar = |group: &Group| {
        let cost = group.median("cpu_ns_per_request")?;
        let interval = group.interval("cpu_ns_per_request");
        Some(Bar {
            label: group.label.clone(),
            told: format!("{}{}", ns(cost), if group.status.ranks() { "" } else { " (invalid)" }),
            values: vec![Some(cost)],
            interval: interval.map(|interval| (interval.low.get(), interval.high.get())),
            is_doubtful: !group.status.ranks(),
            anchor: Some(group.anchor()),
        })
    };
    Chart {
        title: "What does a waiting request cost in CPU?".to_owned(),
        caption:
            "In process, in the first burst of a process: starting it, its wait, and its end; less is better."
                .to_owned(),
        picture: Picture::Bars(Bars {
            parts: vec!["CPU a request"],
            shape: Shape::Stack,
            base: 1_000.0,
            format: ns,
            bars: of(groups, Experiment::Burst).filter(is_cold).filter_map(bar).collect(),
        }),
    }
}

/// How many were in flight of those that were offered, a panel for each runtime.
fn curves(data: &Data<'_>, experiment: Experiment, what: &str) -> Chart {
    let mut panels: Vec<(&str, Panel)> = Vec::new();
    for verdict in of(data.groups, experiment).filter(|group| group.param("requests").is_none()) {
        let steps = of(data.groups, experiment).filter(|group| group.label == verdict.label);
        let mut points: Vec<Point> = steps.filter_map(step).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let runtime = verdict.cell.runtime.as_str();
        let place = panels.iter().position(|(other, _)| *other == runtime).unwrap_or_else(|| {
            panels.push((runtime, Panel { title: runtime.to_owned(), lines: Vec::new() }));
            panels.len() - 1
        });
        let lines = &mut panels[place].1.lines;
        let name = verdict.label.split_once(':').map_or("default variant", |(_, variant)| variant);
        lines.push(Line { style: lines.len(), name: name.to_owned(), told: told(verdict), points });
    }
    panels.retain(|(_, panel)| panel.lines.iter().any(|line| !line.points.is_empty()));
    let number =
        || Axis { title: "", ticks: Ticks::Round, is_log: true, format: |value| count(whole(value)) };
    Chart {
        title: format!("How many can wait at once: {what}"),
        caption: "Most in flight at one time, of as many as were offered. On the dashed line are all of them; a line \
                  that leaves it has met its limit, which is named. An outline is a step whose p99 response did not meet \
                  the objective, or a row whose check failed."
            .to_owned(),
        picture: Picture::Panels(Panels {
            x: Axis { title: "requests offered", ..number() },
            y: Axis { title: "most in flight", ..number() },
            has_diagonal: true,
            panels: panels.into_iter().map(|(_, panel)| panel).collect(),
        }),
    }
}

#[expect(clippy::cast_precision_loss, reason = "requests of a step are far below 2^53")]
fn step(group: &Group) -> Option<Point> {
    let (requests, peak) = (group.param("requests")?, group.median("in_flight_peak")?);
    let limit = group.limited_by.as_ref().map(|limit| format!(", {limit}")).unwrap_or_default();
    Some(Point {
        x: requests as f64,
        y: peak,
        mark: true,
        is_hollow: group.limited_by.is_some() || !group.status.ranks(),
        told: format!("{} of {} in flight{limit}", metric("", peak), count(requests)),
        anchor: Some(group.anchor()),
    })
}

/// `>= 2,000, end of the ramp`
fn told(verdict: &Group) -> String {
    let mark = if verdict.censored == Some(true) { ">= " } else { "" };
    match verdict.median("in_flight_capacity") {
        Some(capacity) => {
            let limit = verdict.limited_by.as_deref().map(|limit| format!(", {limit}")).unwrap_or_default();
            format!("{mark}{}{limit}", metric("", capacity))
        }
        None => format!("no capacity: {}", verdict.reason.as_deref().unwrap_or(verdict.status.name())),
    }
}
