//! The pipeline in the Prometheus text exposition format: levels, counts, batches, and waits since it began.

use std::fmt::{Display, Write};
use std::time::Duration;

use latency_histogram::Histogram;
use workload::pipeline::{Lane, LaneCounts, Stage};

use super::stages::Stages;

/// A count of a lane, with its name and what it is.
type Count = (&'static str, &'static str, fn(&LaneCounts) -> u64);

const COUNTS: [Count; 6] = [
    ("images_offered_total", "Images brought.", |counts| counts.offered),
    ("images_admitted_total", "Images that got a slot.", |counts| counts.admitted),
    ("images_refused_total", "Images turned away.", |counts| counts.refused),
    ("images_completed_total", "Images that went through.", |counts| counts.completed),
    ("images_panicked_total", "Images that a stage panicked with.", |counts| counts.panicked),
    ("images_lost_total", "Images that a stage dropped.", |counts| counts.lost),
];
const GAUGES: [Count; 2] = [
    ("images_waiting", "Images that wait for a slot.", |counts| counts.waiting),
    ("images_in_flight", "Images in flight.", |counts| counts.in_flight),
];

impl Stages {
    /// What `/metrics` tells. Waits and batches are those of the window, which [`measure`](Stages::measure) sets.
    #[must_use]
    pub fn metrics(&self) -> String {
        let (levels, account) = (self.levels(), self.account());
        let mut text = Text::default();
        for (kind, counts) in [("counter", &COUNTS[..]), ("gauge", &GAUGES)] {
            for (name, help, count) in counts {
                text.head(name, kind, help);
                Lane::ALL
                    .iter()
                    .for_each(|lane| text.line(name, &[("lane", lane)], count(&levels.counts[*lane])));
            }
        }
        text.head("images_queued", "gauge", "Images that wait before a stage.");
        for (stage, lane) in queues() {
            text.line("images_queued", &[("stage", &stage), ("lane", &lane)], levels.queued[stage][lane]);
        }
        text.head("stage_busy_workers", "gauge", "Workers of a stage that have an image or a batch.");
        Stage::ALL.iter().for_each(|stage| {
            text.line("stage_busy_workers", &[("stage", stage)], levels.busy[*stage]);
        });
        text.head("image_bytes", "gauge", "Bytes of the images in flight.");
        text.line("image_bytes", &[("form", &"compressed")], levels.compressed_bytes);
        text.line("image_bytes", &[("form", &"decoded")], levels.decoded_bytes);
        text.head("images_in_flight_peak", "gauge", "The most images in flight so far.");
        text.line("images_in_flight_peak", &[], levels.in_flight_peak);
        text.head("batches_total", "counter", "Batches that began, by their size.");
        for (size, count) in &account.window.batch_sizes {
            text.line("batches_total", &[("size", size)], count);
        }
        text.head("queue_wait_seconds", "summary", "The wait before a stage.");
        for (stage, lane) in queues() {
            let labels: [(&str, &dyn Display); 2] = [("stage", &stage), ("lane", &lane)];
            text.summary("queue_wait_seconds", &labels, &account.window.queue_wait[stage][lane]);
        }
        text.head("image_response_seconds", "summary", "From the intended start to the end of an image.");
        for lane in Lane::ALL {
            text.summary("image_response_seconds", &[("lane", &lane)], &account.window.response[lane]);
        }
        text.0
    }
}

fn queues() -> impl Iterator<Item = (Stage, Lane)> {
    Stage::ALL.into_iter().flat_map(|stage| Lane::ALL.map(|lane| (stage, lane)))
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    fn line(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        match &labels[..] {
            [] => self.write(format_args!("{name} {value}")),
            labels => self.write(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    /// A quantile of nothing is left out: it would be no number.
    fn summary(&mut self, name: &str, labels: &[(&str, &dyn Display)], times: &Histogram) {
        let seconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64();
        for (quantile, share) in [("0.5", 0.5), ("0.99", 0.99), ("1", 1.0)] {
            let Some(ns) = times.quantile_ns(share) else { continue };
            let quantile: (&str, &dyn Display) = ("quantile", &quantile);
            self.line(name, &[labels, &[quantile]].concat(), seconds(ns));
        }
        self.line(&format!("{name}_count"), labels, times.count());
    }

    fn write(&mut self, words: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{words}").expect("writing to a string cannot fail");
    }
}
