//! The charts of the memory experiments: what one more costs, in its parts.

use super::limit;
use crate::experiment::Experiment;
use crate::format::bytes;
use crate::report::chart::{Bar, Bars, Chart, Picture, Shape};
use crate::report::{Data, of};
use crate::summary::Group;

const PARTS: [(&str, &str); 4] = [
    ("user (PSS)", "pss_bytes_per_unit"),
    ("page tables", "page_table_bytes_per_unit"),
    ("kernel stacks", "kernel_stack_bytes_per_unit"),
    ("kernel objects, sockets among them (slab)", "slab_bytes_per_unit"),
];

pub(super) fn charts(data: &Data<'_>) -> Vec<Chart> {
    vec![
        chart(data, Experiment::Tasks, "What one more waiting request costs", "one more waiting request"),
        chart(
            data,
            Experiment::Connections,
            "What one more idle connection costs",
            "one more idle connection",
        ),
    ]
}

fn chart(data: &Data<'_>, experiment: Experiment, title: &str, what: &str) -> Chart {
    let mut bars: Vec<Bar> = of(data.groups, experiment).filter_map(bar).collect();
    let whole = |bar: &Bar| bar.values.iter().flatten().sum::<f64>();
    bars.sort_by(|a, b| whole(a).total_cmp(&whole(b)));
    Chart {
        title: title.to_owned(),
        caption: format!(
            "Bytes of {what}, as the slope over growing numbers of them. The figure is what any user can see: user, page \
             tables and kernel stacks. Slab, which holds both ends of a connection, stands apart."
        ),
        picture: Picture::Bars(Bars {
            parts: PARTS.iter().map(|(name, _)| *name).collect(),
            shape: Shape::Stack,
            base: 1_024.0,
            format: bytes,
            bars,
        }),
    }
}

fn bar(group: &Group) -> Option<Bar> {
    let place = group.cell.params.get("waiting").and_then(serde_json::Value::as_str);
    // What a pool has in service it had before: its places were paid for at the start.
    if limit(group).is_some() && place == Some("in-service") {
        return None;
    }
    let total = group.median("total_bytes_per_unit")?;
    let slab = group.median("slab_bytes_per_unit").filter(|slab| *slab >= 1.0);
    let slab = slab.map(|slab| format!(" + {} slab", bytes(slab))).unwrap_or_default();
    let doubt = if group.status.ranks() { "" } else { " (invalid)" };
    let place = if place == Some("queued") { ", in the queue" } else { "" };
    Some(Bar {
        label: format!("{}{place}", group.label),
        told: format!("{}{slab}{doubt}", bytes(total)),
        values: PARTS.iter().map(|(_, name)| group.median(name)).collect(),
        is_doubtful: !group.status.ranks(),
        anchor: Some(group.anchor()),
        ..Bar::default()
    })
}
