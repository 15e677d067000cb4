//! The pipeline as `/metrics` tells it: levels, counts, batches, and waits since it began.

use latency_histogram::Histogram;
use workload::pipeline::{Lane, LaneCounts, Stage};

use super::stages::Stages;
use crate::exposition::{Exposition, Labels};

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
        let mut told = Exposition::default();
        for (kind, counts) in [("counter", &COUNTS[..]), ("gauge", &GAUGES)] {
            for (name, help, count) in counts {
                told.head(name, kind, help);
                Lane::ALL
                    .iter()
                    .for_each(|lane| told.line(name, &[("lane", lane)], count(&levels.counts[*lane])));
            }
        }
        told.head("images_queued", "gauge", "Images that wait before a stage.");
        for (stage, lane) in queues() {
            told.line("images_queued", &[("stage", &stage), ("lane", &lane)], levels.queued[stage][lane]);
        }
        told.head("stage_busy_workers", "gauge", "Workers of a stage that have an image or a batch.");
        Stage::ALL.iter().for_each(|stage| {
            told.line("stage_busy_workers", &[("stage", stage)], levels.busy[*stage]);
        });
        told.head("image_bytes", "gauge", "Bytes of the images in flight.");
        told.line("image_bytes", &[("form", &"compressed")], levels.compressed_bytes);
        told.line("image_bytes", &[("form", &"decoded")], levels.decoded_bytes);
        told.head("images_in_flight_peak", "gauge", "The most images in flight so far.");
        told.line("images_in_flight_peak", &[], levels.in_flight_peak);
        told.head("batches_total", "counter", "Batches that began, by their size.");
        for (size, count) in &account.window.batch_sizes {
            told.line("batches_total", &[("size", size)], count);
        }
        told.head("queue_wait_seconds", "summary", "The wait before a stage.");
        for (stage, lane) in queues() {
            let times = &account.window.queue_wait[stage][lane];
            summary(&mut told, "queue_wait_seconds", &[("stage", &stage), ("lane", &lane)], times);
        }
        told.head("image_response_seconds", "summary", "From the intended start to the end of an image.");
        for lane in Lane::ALL {
            let times = &account.window.response[lane];
            summary(&mut told, "image_response_seconds", &[("lane", &lane)], times);
        }
        told.into_text()
    }
}

fn queues() -> impl Iterator<Item = (Stage, Lane)> {
    Stage::ALL.into_iter().flat_map(|stage| Lane::ALL.map(|lane| (stage, lane)))
}

fn summary(told: &mut Exposition, name: &str, labels: Labels<'_>, times: &Histogram) {
    told.quantiles(name, labels, &[0.5, 0.99, 1.0], |share| times.quantile_ns(share));
    told.line(&format!("{name}_count"), labels, times.count());
}
