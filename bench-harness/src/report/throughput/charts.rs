//! The charts of the throughput experiments: requests a second with their CPU, and the response times behind them.

use crate::experiment::Experiment;
use crate::format::{count, metric, ns};
use crate::report::chart::{Axis, Bar, Bars, Chart, Line, Panel, Panels, Picture, Shape, Ticks};
use crate::report::{Data, curves, of};
use crate::summary::Group;

pub(super) fn charts(data: &Data<'_>) -> Vec<Chart> {
    let mut numbers: Vec<u64> =
        of(data.groups, Experiment::Closed).filter_map(|group| group.param("connections")).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let each = numbers.into_iter().flat_map(|connections| {
        let groups: Vec<&Group> = of(data.groups, Experiment::Closed)
            .filter(|group| group.param("connections") == Some(connections))
            .collect();
        [rate(&groups, connections), cpu(&groups, connections)]
    });
    let mut charts: Vec<Chart> = each.collect();
    charts.push(responses(data));
    charts
}

fn rate(groups: &[&Group], connections: u64) -> Chart {
    Chart {
        title: format!("Requests a second over {} connections", count(connections)),
        caption: "An empty plan, as fast as it goes; more is better. `>=` marks what the load client, and not the server, \
                  limits: CPU a request ranks alone there. A line is the interval over repetitions."
            .to_owned(),
        picture: bars(groups, "throughput_per_s", |value| metric("", value.round())),
    }
}

fn cpu(groups: &[&Group], connections: u64) -> Chart {
    Chart {
        title: format!("Server CPU a request over {} connections", count(connections)),
        caption: "What the model itself costs, in the same cells; less is better.".to_owned(),
        picture: bars(groups, "cpu_ns_per_request", ns),
    }
}

fn bars(groups: &[&Group], name: &'static str, format: fn(f64) -> String) -> Picture {
    let bar = |group: &&Group| {
        let value = group.median(name)?;
        let is_bound = group.censored == Some(true) && name == "throughput_per_s";
        let mark = if is_bound { ">= " } else { "" };
        let doubt = if group.status.ranks() { "" } else { " (invalid)" };
        let interval = group.interval(name);
        Some(Bar {
            label: group.label.clone(),
            told: format!("{mark}{}{doubt}", format(value)),
            values: vec![Some(value)],
            interval: interval.map(|interval| (interval.low.get(), interval.high.get())),
            is_doubtful: !group.status.ranks(),
            anchor: Some(group.anchor()),
        })
    };
    let bars = groups.iter().filter_map(bar).collect();
    Picture::Bars(Bars { parts: vec![name], shape: Shape::Stack, base: 1_000.0, format, bars })
}

/// At a rate that all are offered, and so comparable.
fn responses(data: &Data<'_>) -> Chart {
    let panel = |group: &Group| {
        let points = curves::points(data, group, "response");
        let told = curves::furthest(&points)?.to_owned();
        let rate = group.median("offered_rate_per_s").map(|rate| metric("", rate.round()));
        let name = rate.map_or_else(String::new, |rate| format!("{rate}/s"));
        let doubt = if group.status.ranks() { "" } else { " (invalid)" };
        let line = Line { style: 0, name, told: told + doubt, points };
        Some(Panel { title: group.label.clone(), lines: vec![line] })
    };
    Chart {
        title: "Response times at a rate that is offered to all".to_owned(),
        caption: "An open loop at a share of what the floor can do, from the intended start of each request. Each step to \
                  the right leaves a tenth of the requests. An outline is a row whose check failed."
            .to_owned(),
        picture: Picture::Panels(Panels {
            x: curves::across(),
            y: Axis { title: "response", ticks: Ticks::Round, is_log: true, format: ns },
            has_diagonal: false,
            panels: of(data.groups, Experiment::Open).filter_map(panel).collect(),
        }),
    }
}
