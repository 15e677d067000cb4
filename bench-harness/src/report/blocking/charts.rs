//! The charts of the blocking experiments: what the innocent feel as blockers become more, and how far out it goes.

use super::{Kind, kinds, share, text, title};
use crate::experiment::Experiment;
use crate::format::{count, ns};
use crate::report::chart::{Axis, Chart, Line, Panel, Panels, Picture, Point, Ticks};
use crate::report::{Data, curves, of};
use crate::summary::Group;

/// The style of the probes alone; the others are those of their strategies.
const ALONE: usize = 4;

pub(super) fn charts(data: &Data<'_>) -> Vec<Chart> {
    let probes: Vec<&Group> = of(data.groups, Experiment::Probe).collect();
    let mut blockers: Vec<Option<String>> = kinds(&probes).into_iter().map(|(blocker, _)| blocker).collect();
    blockers.dedup();
    let largest = probes.iter().filter_map(|group| share(group)).filter(|share| *share < 100).max();
    let each = blockers.iter().flat_map(|blocker| {
        let curve = largest.filter(|share| *share > 0).map(|share| tails(data, &probes, blocker, share));
        [Some(by_share(&probes, blocker)), curve]
    });
    each.flatten().collect()
}

/// p99 of the probes by the share of the workers' time that blockers take, a panel for each variant.
fn by_share(probes: &[&Group], blocker: &Option<String>) -> Chart {
    let panel = |label: &str| {
        let lines = strategies(probes, blocker, label).into_iter().map(|(style, name, groups)| {
            let alone = probes.iter().filter(|group| group.label == label && share(group) == Some(0));
            let mut points: Vec<Point> =
                alone.chain(&groups).filter_map(|group| point(group, share(group)?)).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let ends = points.first().zip(points.last());
            let told = ends.map(|(first, last)| format!("{} to {}", ns(first.y), ns(last.y)));
            Line { style, name, told: told.unwrap_or_default(), points }
        });
        Panel { title: label.to_owned(), lines: lines.collect() }
    };
    Chart {
        title: format!("What the innocent feel: {}", heading(blocker)),
        caption: "Response time of requests that only wait 5 ms or as long as their plan says (p99, from the intended \
                  start), by the share of the workers' time that blockers take. From 100 % on there is more to do than \
                  there is time for, and the figure grows for as long as it lasts. An outline is a row whose check failed."
            .to_owned(),
        picture: Picture::Panels(Panels {
            x: Axis {
                title: "blockers' share of the workers' time",
                ticks: Ticks::Round,
                is_log: false,
                format: |value| format!("{value:.0} %"),
            },
            y: Axis { title: "probe p99", ticks: Ticks::Round, is_log: true, format: ns },
            has_diagonal: false,
            panels: of_each(probes, panel),
        }),
    }
}

/// All percentiles of the probes, alone and beside blockers.
fn tails(data: &Data<'_>, probes: &[&Group], blocker: &Option<String>, at: u64) -> Chart {
    let line = |style: usize, name: String, group: &Group| {
        let points = curves::points(data, group, "probe_response");
        let told = curves::furthest(&points).unwrap_or_default().to_owned();
        Line { style, name, told, points }
    };
    let panel = |label: &str| {
        let alone = probes.iter().find(|group| group.label == label && share(group) == Some(0));
        let alone = alone.map(|group| line(ALONE, "alone".to_owned(), group));
        let beside = strategies(probes, blocker, label).into_iter().filter_map(|(style, name, groups)| {
            groups.iter().find(|group| share(group) == Some(at)).map(|group| line(style, name, group))
        });
        Panel { title: label.to_owned(), lines: alone.into_iter().chain(beside).collect() }
    };
    Chart {
        title: format!("How far out it goes: {}, for {at} % of the workers' time", heading(blocker)),
        caption: "Each step to the right leaves a tenth of the probes. A curve ends where fewer than ten probes lie \
                  beyond it. An outline is a row whose check failed."
            .to_owned(),
        picture: Picture::Panels(Panels {
            x: curves::across(),
            y: Axis { title: "probe response", ticks: Ticks::Round, is_log: true, format: ns },
            has_diagonal: false,
            panels: of_each(probes, panel),
        }),
    }
}

/// A panel for each variant whose lines have points.
fn of_each(probes: &[&Group], panel: impl Fn(&str) -> Panel) -> Vec<Panel> {
    let mut labels: Vec<&str> = probes.iter().map(|group| group.label.as_str()).collect();
    labels.dedup();
    let mut panels: Vec<Panel> = labels.into_iter().map(panel).collect();
    for panel in &mut panels {
        panel.lines.retain(|line| !line.points.is_empty());
    }
    panels.retain(|panel| !panel.lines.is_empty());
    panels
}

/// The strategies of a variant, with their styles and their groups.
fn strategies<'a>(
    probes: &[&'a Group],
    blocker: &Option<String>,
    label: &str,
) -> Vec<(usize, String, Vec<&'a Group>)> {
    let mut found: Vec<(usize, String, Vec<&Group>)> = Vec::new();
    let beside = probes.iter().copied().filter(|group| {
        group.label == label && text(group, "blocker") == blocker.as_deref() && blocker.is_some()
    });
    for group in beside {
        let threads = group.param("offload_threads");
        let name = match (text(group, "strategy"), threads) {
            (Some("offload"), Some(threads)) => format!("offloaded to {}", count(threads)),
            (strategy, _) => strategy.unwrap_or_default().replace('-', " "),
        };
        match found.iter_mut().find(|(_, known, _)| *known == name) {
            Some((_, _, groups)) => groups.push(group),
            None => {
                let offloads = found.iter().filter(|(style, _, _)| [1, 3].contains(style)).count();
                let style = match text(group, "strategy") {
                    Some("inline") => 0,
                    Some("in-place") => 2,
                    _ => [1, 3][offloads % 2],
                };
                found.push((style, name, vec![group]));
            }
        }
    }
    found.sort_by_key(|(style, _, _)| *style);
    found
}

#[expect(clippy::cast_precision_loss, reason = "a share has three digits")]
fn point(group: &Group, at: u64) -> Option<Point> {
    let p99 = group.median("probe_p99_ns")?;
    Some(Point {
        x: at as f64,
        y: p99,
        mark: true,
        is_hollow: !group.status.ranks(),
        told: format!("{} at {at} %, {}", ns(p99), group.status.name()),
        anchor: Some(group.anchor()),
    })
}

fn heading(blocker: &Option<String>) -> String {
    let kind: Kind = (blocker.clone(), String::new());
    title(&kind).trim_end_matches(", inline").to_lowercase()
}
