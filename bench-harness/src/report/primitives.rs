//! The sections of the primitives: what `cargo bench` measured, beside what others have.

use workload::Primitive;

use super::Section;
use super::columns::none;
use super::literature::KNOWN;
use super::study::Study;
use crate::benches::{Bench, Benches};
use crate::contestant::FLOOR;
use crate::format::ns;
use crate::table::Table;

pub(super) const STUDY: Study = Study {
    name: "primitives",
    title: "What do a model's primitives cost by themselves?",
    headline: |_| None,
    findings: |_| Vec::new(),
    charts: |_| Vec::new(),
    sections: |data| sections(data.benches),
    how_to_read: |data| how_to_read(data.benches),
};

pub(super) fn sections(benches: Option<&Benches>) -> Vec<Section> {
    let Some(benches) = benches else { return Vec::new() };
    vec![
        Section::new("What the primitives of each model cost (cargo bench, medians)", medians(benches)),
        Section::new("How sure the medians of the primitives are", intervals(benches)),
        Section::new("What others measured of the primitives", elsewhere()),
    ]
}

/// A primitive a line, beside the literature.
fn medians(benches: &Benches) -> Table {
    let runtimes = runtimes(benches);
    let header: Vec<&str> = [&["primitive"], &runtimes[..], &["elsewhere"]].concat();
    let mut table = Table::new(&header);
    for (primitive, by_runtime) in benches.by_primitive() {
        let median = |runtime: &&str| {
            by_runtime.get(runtime).and_then(|bench| bench.figures).map_or_else(none, |of| ns(of.median_ns))
        };
        let known = KNOWN.iter().filter(|known| known.primitive == primitive);
        let known: Vec<String> = known.map(|known| format!("{} {}", known.of, ns(known.ns))).collect();
        let mut row = vec![primitive.title().to_owned()];
        row.extend(runtimes.iter().map(median));
        row.push(known.join("; "));
        table.push(row);
    }
    table
}

/// The runtimes, with the one that is no model first.
fn runtimes(benches: &Benches) -> Vec<&str> {
    let mut runtimes: Vec<&str> = benches.benches.iter().map(|bench| bench.runtime.as_str()).collect();
    runtimes.sort_unstable_by_key(|runtime| (*runtime != FLOOR, *runtime));
    runtimes.dedup();
    runtimes
}

fn intervals(benches: &Benches) -> Table {
    let mut table = Table::new(&["primitive", "runtime", "median", "interval", "measured at", "status"]);
    for (primitive, by_runtime) in benches.by_primitive() {
        for runtime in runtimes(benches) {
            let Some(bench) = by_runtime.get(runtime) else { continue };
            let interval = bench.figures.map(|of| {
                let percent = of.confidence * 100.0;
                format!("[{}, {}] {percent:.0} %", ns(of.ci_low_ns), ns(of.ci_high_ns))
            });
            table.push(vec![
                primitive.title().to_owned(),
                runtime.to_owned(),
                bench.figures.map_or_else(none, |of| ns(of.median_ns)),
                interval.unwrap_or_else(none),
                bench.measured_at.clone().unwrap_or_else(none),
                status(bench),
            ]);
        }
    }
    table
}

fn status(bench: &Bench) -> String {
    bench.reason.as_ref().map_or_else(|| "ok".to_owned(), |reason| format!("unsupported: {reason}"))
}

fn elsewhere() -> Table {
    let mut table = Table::new(&["primitive", "of", "figure", "how", "source"]);
    for known in KNOWN {
        let cells = [known.primitive.title(), known.of, &ns(known.ns), known.how, known.source];
        table.push(cells.map(str::to_owned).to_vec());
    }
    table
}

/// What the words in the tables mean.
pub(super) fn how_to_read(benches: Option<&Benches>) -> String {
    if benches.is_none() {
        return String::new();
    }
    let operation = |primitive: Primitive| format!("{}: {}", primitive.title(), primitive.operation());
    let operations: Vec<String> = Primitive::ALL.into_iter().map(operation).collect();
    format!(
        "\
Of a primitive, the figure is that of one operation, over the samples of one process that was measured by `cargo bench` \
and not in this run: its interval is that of the samples, and another process may differ by more. What others measured \
is of other machines and programs, and says no more than which order of magnitude to expect. One operation is, of {}.
",
        operations.join("; of ")
    )
}
