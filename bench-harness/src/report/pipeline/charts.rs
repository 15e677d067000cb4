//! The charts of the pipeline: bulk rate against interactive time, and the rate against batch size beside its arithmetic.

use super::{by_variant, front, policy, setting};
use crate::experiment::Experiment;
use crate::format::{metric, ns};
use crate::report::chart::Chart;
use crate::report::chart::{Axis, Line, Panel, Panels, Picture, Point, Ticks};
use crate::report::{Data, of};
use crate::summary::Group;

pub(super) fn charts(data: &Data<'_>) -> Vec<Chart> {
    vec![trade_off(data.groups), by_batch(data.groups)]
}

fn images() -> Axis {
    Axis { title: "bulk images/s", ticks: Ticks::Round, is_log: false, format: |value| metric("", value) }
}

fn trade_off(groups: &[Group]) -> Chart {
    Chart {
        title: "Bulk rate against interactive response".to_owned(),
        caption: "One point a policy: further right is more bulk work, lower is a shorter wait, from the intended start. The \
                  line joins the policies that no other beats in both; an outline is one that is beaten, or whose check \
                  failed. The upright line is the ceiling of the rate in batches."
            .to_owned(),
        picture: Picture::Panels(Panels {
            x: images(),
            y: Axis { title: "interactive p50", ticks: Ticks::Round, is_log: true, format: ns },
            has_diagonal: false,
            panels: by_variant(groups).iter().filter_map(|(label, own)| panel(label, own)).collect(),
        }),
    }
}

fn panel(label: &str, own: &[&Group]) -> Option<Panel> {
    let front = front(own);
    let point = |group: &Group, is_hollow: bool| {
        let (rate, p50) = (group.median("bulk_images_per_s")?, group.median("interactive_p50_ns")?);
        Some(Point {
            x: rate,
            y: p50,
            mark: true,
            is_hollow,
            told: format!("{} {}/s at {}", policy(group), metric("", rate), ns(p50)),
            anchor: Some(group.anchor()),
        })
    };
    let joined: Vec<Point> = front.iter().filter_map(|group| point(group, false)).collect();
    let told = joined.iter().map(|point| point.told.clone()).collect::<Vec<_>>().join(", ");
    let mut lines = vec![Line { style: 0, name: "not beaten:".to_owned(), told, points: joined }];
    for group in own.iter().filter(|group| !front.iter().any(|other| other.anchor() == group.anchor())) {
        let Some(point) = point(group, true) else { continue };
        let name = if group.status.ranks() { "beaten:" } else { "not ranked, a check failed:" };
        lines.push(Line { style: 1, name: name.to_owned(), told: point.told.clone(), points: vec![point] });
    }
    let points = || lines.iter().flat_map(|line| &line.points);
    if points().count() < 2 {
        return None;
    }
    let low = points().map(|point| point.y).fold(f64::INFINITY, f64::min);
    let high = points().map(|point| point.y).fold(0.0, f64::max);
    let ceiling = own.iter().filter_map(|group| group.median("ceiling_images_per_s")).reduce(f64::max)?;
    let end =
        |y: f64| Point { x: ceiling, y, mark: false, is_hollow: false, told: String::new(), anchor: None };
    let told = format!("{}/s", metric("", ceiling));
    lines.push(Line { style: 2, name: "ceiling".to_owned(), told, points: vec![end(low), end(high)] });
    Some(Panel { title: label.to_owned(), lines })
}

/// Cells of one device and the study's limit in flight, which differ in batch size alone.
fn by_batch(groups: &[Group]) -> Chart {
    // A batch that is larger than the study's queue has a queue of its own size.
    let batch = |group: &Group| {
        let mut words = setting(group).split_whitespace();
        let size = words.next()?.strip_prefix("batch=")?;
        words
            .all(|word| word.strip_prefix("queue=") == Some(size))
            .then(|| size.parse::<f64>().ok())
            .flatten()
    };
    let mut panels: Vec<Panel> = Vec::new();
    let line =
        |style, name: &str| Line { style, name: name.to_owned(), told: String::new(), points: Vec::new() };
    for group in of(groups, Experiment::Sizing) {
        let (Some(size), Some(rate), Some(ceiling)) =
            (batch(group), group.median("images_per_s"), group.median("ceiling_images_per_s"))
        else {
            continue;
        };
        let at = panels.iter().position(|panel| panel.title == group.label).unwrap_or_else(|| {
            let lines = vec![line(0, "measured"), line(1, "ceiling")];
            panels.push(Panel { title: group.label.clone(), lines });
            panels.len() - 1
        });
        let told =
            |what: &str, rate: f64| format!("{what} {}/s in batches of up to {size}", metric("", rate));
        let point = |y: f64, what: &str| Point {
            x: size,
            y,
            mark: true,
            is_hollow: !group.status.ranks(),
            told: told(what, y),
            anchor: Some(group.anchor()),
        };
        panels[at].lines[0].points.push(point(rate, "measured"));
        panels[at].lines[1].points.push(point(ceiling, "at most"));
    }
    panels.retain(|panel| panel.lines[0].points.len() > 1);
    for line in panels.iter_mut().flat_map(|panel| &mut panel.lines) {
        line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        line.told = line.points.last().map(|point| point.told.clone()).unwrap_or_default();
    }
    Chart {
        title: "The rate against the size of batches".to_owned(),
        caption: "By arrival, on one device, all images together. Nothing can be above the ceiling, which is arithmetic. An \
                  outline is a row whose check failed."
            .to_owned(),
        picture: Picture::Panels(Panels {
            x: Axis { title: "images a batch, at most", is_log: true, ..images() },
            y: Axis { title: "images/s", ..images() },
            has_diagonal: false,
            panels,
        }),
    }
}
