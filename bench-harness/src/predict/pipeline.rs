//! `predict pipeline`: each stage by what it consumes, batches, memory, the limit in flight, and the ceiling.

use std::time::Duration;

use prediction::pipeline::{Configuration, Detector, Stages, in_flight_bytes};
use prediction::whole;

use super::Prediction;
use super::figure::rounded;
use super::inputs::inputs;
use super::value::{Auto, Count, Counts, DetectorKind, Number, Time};

inputs! {
    Pipeline, Values {
        /// How long an image is waited for
        fetch: Time = Time(Duration::from_millis(40)),
        /// CPU time to decode an image
        decode: Time = Time(Duration::from_millis(8)),
        /// Detector time of a batch, however large
        detect_batch: Time = Time(Duration::from_millis(30)),
        /// Detector time of an image, beside its batch's
        detect_image: Time = Time(Duration::from_millis(6)),
        /// CPU time to annotate and to render an image
        post: Time = Time(Duration::from_millis(6)),
        /// Cores that the CPU stages share
        cores: Count = Count(4),
        /// Images a second that are wanted
        target: Number = Number(120.0),
        /// Batch sizes to compare
        batches: Counts = Counts(vec![1, 2, 4, 8, 12, 13, 16, 32]),
        /// Core counts to compare
        ceiling_cores: Counts = Counts(vec![1, 2, 4]),
        /// The most images in a batch
        batch: Count = Count(16),
        /// What detects: device or cpu
        detector: DetectorKind = DetectorKind::Device,
        /// Devices, or batches at one time on the cores
        detectors: Count = Count(1),
        /// Fetches at one time
        fetch_workers: Count = Count(16),
        /// Images being decoded at one time; auto is one for each core
        decode_workers: Auto = Auto(None),
        /// Images being rendered at one time; auto is one for each core
        post_workers: Auto = Auto(None),
        /// The most images in flight
        in_flight_max: Count = Count(48),
        /// Limits on images in flight to compare
        limits: Counts = Counts(vec![12, 24, 48]),
        /// Bytes of an image as it is fetched
        compressed_bytes: Count = Count(500_000),
        /// Bytes of an image as pixels
        decoded_bytes: Count = Count(1_920 * 1_080 * 3),
    }
}

pub(crate) fn predict(flags: Pipeline, file: Pipeline) -> anyhow::Result<Prediction> {
    let values = flags.over(file);
    let stages = values.stages();
    let mut prediction = Prediction::of("pipeline", &values)?;
    of_stages(&mut prediction, &values, stages);
    of_batches(&mut prediction, &values, stages);
    of_cores(&mut prediction, &values, stages);
    of_memory(&mut prediction, &values);
    of_limit(&mut prediction, &values, stages);
    of_configuration(&mut prediction, &values, stages);
    Ok(prediction)
}

impl Values {
    fn stages(&self) -> Stages {
        Stages {
            fetch: self.fetch.0,
            decode: self.decode.0,
            detect_batch: self.detect_batch.0,
            detect_image: self.detect_image.0,
            post: self.post.0,
        }
    }

    fn configuration(&self) -> Configuration {
        let at_once = self.detectors.0;
        Configuration {
            cores: self.cores.0,
            fetch_workers: self.fetch_workers.0,
            decode_workers: self.decode_workers.0.unwrap_or(self.cores.0),
            post_workers: self.post_workers.0.unwrap_or(self.cores.0),
            batch: self.batch.0,
            detector: match self.detector {
                DetectorKind::Device => Detector::Device { devices: at_once },
                DetectorKind::Cpu => Detector::Cpu { workers: at_once },
            },
            in_flight_max: self.in_flight_max.0,
        }
    }
}

fn of_stages(prediction: &mut Prediction, values: &Values, stages: Stages) {
    let (target, cores) = (values.target.0, values.cores.0);
    let fetches = stages.fetches_in_flight(target);
    let [decode, post, cpu] =
        [stages.decode_cores(target), stages.post_cores(target), stages.cpu_cores(target)];
    prediction.push("fetches_in_flight", fetches);
    prediction.push("decode_cores", decode);
    prediction.push("post_cores", post);
    prediction.push("cpu_cores", cpu);
    prediction.line(format!("target {target} img/s on {cores} cores"));
    prediction.line(format!(
        "fetch   : in flight = rate x time (Little) = {} requests -> I/O workers >= {}, no CPU used",
        rounded(fetches, 1),
        whole::at_least(fetches)
    ));
    prediction.line(format!("decode  : cores needed = {}", rounded(decode, 2)));
    prediction.line(format!("post    : cores needed = {}", rounded(post, 2)));
    prediction.line(format!("CPU stages together    : {} of {cores} cores", rounded(cpu, 2)));
}

fn of_batches(prediction: &mut Prediction, values: &Values, stages: Stages) {
    let target = values.target.0;
    prediction.line("batch  accel img/s  fill wait if the batcher idles  arrivals while one batch runs");
    for &batch in &values.batches.0 {
        let (rate, fill) = (stages.detect_per_s(batch), stages.fill_wait_ms(batch, target));
        let arrivals = stages.arrivals_while_detecting(batch, target);
        prediction.push_at("detect_images_per_s", format!("batch={batch}"), rate);
        prediction.push_at("fill_wait_ms", format!("batch={batch}"), fill);
        prediction.push_at("arrivals_while_detecting", format!("batch={batch}"), arrivals);
        prediction.line(format!("{batch:>5}  {rate:>9.1}  {fill:>14.1} ms  {arrivals:>16.1}"));
    }
    let smallest = stages.smallest_batch(target);
    prediction.push("smallest_batch", smallest);
    let told = smallest.map_or_else(
        || format!("none, a detector does less than {:.1} img/s", stages.detect_limit_per_s()),
        |batch| batch.to_string(),
    );
    prediction.line(format!("smallest batch that reaches the target: {told}"));
}

fn of_cores(prediction: &mut Prediction, values: &Values, stages: Stages) {
    for &cores in &values.ceiling_cores.0 {
        let ceiling = stages.cpu_ceiling_per_s(cores);
        prediction.push_at("cpu_ceiling_images_per_s", format!("cores={cores}"), ceiling);
        prediction.line(format!("CPU-stage ceiling on {cores} core(s): {ceiling:.1} img/s"));
    }
}

fn of_memory(prediction: &mut Prediction, values: &Values) {
    let limit = values.in_flight_max.0;
    let forms = [
        ("decoded", values.decoded_bytes.0, "in_flight_decoded_bytes"),
        ("compressed", values.compressed_bytes.0, "in_flight_compressed_bytes"),
    ];
    for (form, image, figure) in forms {
        let all = in_flight_bytes(limit, image);
        prediction.push(figure, all);
        prediction.line(format!(
            "{form} image {:.1} MB; {limit} in flight = {:.0} MB",
            image as f64 / 1e6,
            all / 1e6
        ));
    }
}

fn of_limit(prediction: &mut Prediction, values: &Values, stages: Stages) {
    let (batch, target, limit) = (values.batch.0, values.target.0, values.in_flight_max.0);
    let advice = stages.in_flight(batch, target);
    prediction.push("in_flight_floor", advice.floor);
    prediction.push("in_flight_advised", advice.advised);
    prediction.line("");
    prediction.line(format!(
        "in flight at the very least: {target} img/s x {:.0} ms through an empty pipeline, in batches of {batch} = {}",
        stages.unloaded(batch).as_secs_f64() * 1e3,
        advice.floor
    ));
    prediction.line(format!(
        "in flight advised: one batch more, so that the next one waits while one runs = {}",
        advice.advised
    ));
    if limit < advice.advised {
        let than = if limit < advice.floor { "the least" } else { "advised" };
        prediction.line(format!("the limit of {limit} is below what is {than}"));
    }
}

fn of_configuration(prediction: &mut Prediction, values: &Values, stages: Stages) {
    let configuration = values.configuration();
    let ceiling = stages.ceiling(&configuration);
    let expected = stages.expected_per_s(&configuration);
    prediction.push("ceiling_images_per_s", ceiling.images_per_s);
    prediction.push("bottleneck", ceiling.bottleneck.name());
    prediction.push("expected_images_per_s", expected);
    prediction.line("");
    prediction.line(format!(
        "ceiling: {:.1} img/s, set by the {}, in batches of {}",
        ceiling.images_per_s, ceiling.bottleneck, configuration.batch
    ));
    if ceiling.images_per_s < values.target.0 {
        prediction.line(format!("the target of {} img/s is above it", values.target));
    }
    for (part, per_s) in ceiling.parts {
        prediction.push_at("part_ceiling_images_per_s", format!("part={part}"), per_s);
        prediction.line(format!("  {:<15}  {per_s:>9.1} img/s", part.name()));
    }
    prediction.line("limit  ceiling img/s  expected img/s  set by");
    for &limit in &values.limits.0 {
        let limited = Configuration { in_flight_max: limit, ..configuration };
        let (ceiling, expected) = (stages.ceiling(&limited), stages.expected_per_s(&limited));
        let at = || format!("in_flight_max={limit}");
        prediction.push_at("ceiling_images_per_s", at(), ceiling.images_per_s);
        prediction.push_at("bottleneck", at(), ceiling.bottleneck.name());
        prediction.push_at("expected_images_per_s", at(), expected);
        prediction.line(format!(
            "{limit:>5}  {:>13.1}  {expected:>14.1}  {}",
            ceiling.images_per_s, ceiling.bottleneck
        ));
    }
}
