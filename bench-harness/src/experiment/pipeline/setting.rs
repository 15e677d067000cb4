//! What a pipeline is given in the place of the study's own values, as words: `batch=16 in-flight=12`.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::time::Duration;

use prediction::pipeline::{Configuration, Detector as DetectorSize, Stages};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use workload::BlockingStrategy;
use workload::pipeline::{Detector, Order, PipelineSpec, Policy, StageCosts, Variation};

use super::Named;

/// The most that a setting may ask for, of anything that is counted.
const COUNT_MAX: usize = 1_000;
/// The longest that a stage may take for an image.
const COST_MAX: Duration = Duration::from_secs(10);

/// What differs from the study's own pipeline; what is none does not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Setting {
    policy: Option<Named>,
    batch: Option<usize>,
    in_flight: Option<usize>,
    /// The room before each stage.
    queue: Option<usize>,
    devices: Option<usize>,
    /// Detection computes on the cores, so many batches at one time.
    cpu_detectors: Option<usize>,
    fetch: Option<Duration>,
    decode: Option<Duration>,
    detect_batch: Option<Duration>,
    detect_image: Option<Duration>,
    post: Option<Duration>,
    /// Costs differ from image to image by a log-normal distribution, whose deviation is this share of the mean.
    deviation_percent: Option<usize>,
    pub(crate) strategy: Option<BlockingStrategy>,
    /// There is no bulk work.
    pub(crate) is_alone: bool,
}

impl Setting {
    /// The pipeline on so many cores. The policy is the setting's own, or else the one that is given.
    pub(crate) fn pipeline(&self, cores: usize, policy: Policy, seed: u64) -> PipelineSpec {
        let study = PipelineSpec::of_the_study(cores);
        let policy = self.policy.map_or(policy, |named| named.policy);
        let detector = match (self.devices, self.cpu_detectors) {
            (Some(devices), _) => Detector::Device { devices },
            (None, Some(workers)) => Detector::Cpu { workers },
            (None, None) => study.detector,
        };
        let variation = match self.deviation_percent {
            Some(percent) => Variation::LogNormal { deviation_share: share(percent), seed },
            None => study.variation,
        };
        PipelineSpec {
            policy: Policy { batch_max: self.batch.unwrap_or(policy.batch_max), ..policy },
            costs: StageCosts {
                fetch: self.fetch.unwrap_or(study.costs.fetch),
                decode: self.decode.unwrap_or(study.costs.decode),
                detect_batch: self.detect_batch.unwrap_or(study.costs.detect_batch),
                detect_image: self.detect_image.unwrap_or(study.costs.detect_image),
                post: self.post.unwrap_or(study.costs.post),
            },
            variation,
            detector,
            queue_capacity: self.queue.unwrap_or(study.queue_capacity),
            in_flight_max: self.in_flight.unwrap_or(study.in_flight_max),
            ..study
        }
    }

    /// How far the costs of images are from their mean, as a share of it.
    pub(crate) fn deviation_share(&self) -> f64 {
        self.deviation_percent.map_or(0.0, share)
    }

    fn take(&mut self, key: &str, text: &str) -> Result<(), String> {
        let slot = match key {
            "policy" => {
                let found = Named::find(text);
                self.policy = Some(found.ok_or_else(|| {
                    let known = Policy::ALL.map(|(name, _)| name).join(", ");
                    format!("{text:?} is not a policy; there are {known}")
                })?);
                return Ok(());
            }
            "strategy" => {
                self.strategy = Some(text.parse().map_err(|error| format!("{error}"))?);
                return Ok(());
            }
            "fetch" => return time(&mut self.fetch, text),
            "decode" => return time(&mut self.decode, text),
            "detect-batch" => return time(&mut self.detect_batch, text),
            "detect-image" => return time(&mut self.detect_image, text),
            "post" => return time(&mut self.post, text),
            "batch" => &mut self.batch,
            "in-flight" => &mut self.in_flight,
            "queue" => &mut self.queue,
            "devices" => &mut self.devices,
            "cpu-detectors" => &mut self.cpu_detectors,
            "deviation-percent" => &mut self.deviation_percent,
            other => {
                return Err(format!(
                    "unknown key {other:?}; there are policy, batch, in-flight, queue, devices, cpu-detectors, fetch, decode, \
                     detect-batch, detect-image, post, deviation-percent and strategy, and `alone` without a value"
                ));
            }
        };
        let out_of_range =
            |_: Option<ParseIntError>| format!("{text:?} is not a whole number from 1 to {COUNT_MAX}");
        let count: usize = text.parse().map_err(|error| out_of_range(Some(error)))?;
        if !(1..=COUNT_MAX).contains(&count) {
            return Err(out_of_range(None));
        }
        *slot = Some(count);
        Ok(())
    }

    /// What is said twice over, or would be without effect.
    fn refuse_contradictions(&self) -> Result<(), String> {
        if self.devices.is_some() && self.cpu_detectors.is_some() {
            return Err("devices and cpu-detectors are two ways to detect; give one".to_owned());
        }
        if self.deviation_percent.is_some_and(|percent| percent > 100) {
            return Err("deviation-percent is at most 100".to_owned());
        }
        let lanes = self.policy.filter(|named| named.policy.order == Order::InteractiveFirst);
        match lanes {
            Some(Named { name, .. }) if self.batch.is_some() => {
                Err(format!("the batches of {name} are its own; batch is for fifo1 and fifo16"))
            }
            _ => Ok(()),
        }
    }
}

fn time(slot: &mut Option<Duration>, text: &str) -> Result<(), String> {
    let time =
        humantime::parse_duration(text).map_err(|error| format!("{text:?} is not a duration: {error}"))?;
    if time > COST_MAX {
        return Err(format!("{text:?} is above {COST_MAX:?}"));
    }
    *slot = Some(time);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "at most 100")]
fn share(percent: usize) -> f64 {
    percent as f64 / 100.0
}

/// The costs of a pipeline, as its arithmetic takes them.
pub(crate) fn stages(costs: &StageCosts) -> Stages {
    let StageCosts { fetch, decode, detect_batch, detect_image, post } = *costs;
    Stages { fetch, decode, detect_batch, detect_image, post }
}

/// How many images can wait for a batch at one time.
fn room(spec: &PipelineSpec) -> usize {
    match spec.policy.order {
        Order::Arrival => spec.queue_capacity,
        Order::InteractiveFirst => spec.queue_capacity.saturating_mul(2),
    }
}

/// What a pipeline is given, as its arithmetic takes it.
pub(crate) fn configuration(spec: &PipelineSpec, cores: u64) -> Configuration {
    let whole = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Configuration {
        cores,
        fetch_workers: whole(spec.workers.fetch),
        decode_workers: whole(spec.workers.decode),
        post_workers: whole(spec.workers.post),
        batch: whole(spec.policy.batch_max.min(room(spec))),
        detector: match spec.detector {
            Detector::Device { devices } => DetectorSize::Device { devices: whole(devices) },
            Detector::Cpu { workers } => DetectorSize::Cpu { workers: whole(workers) },
        },
        in_flight_max: whole(spec.in_flight_max),
    }
}

impl FromStr for Setting {
    type Err = String;

    /// Words of KEY=VALUE; none at all is the study's own pipeline.
    fn from_str(text: &str) -> Result<Setting, String> {
        let mut setting = Setting::default();
        for word in text.split_whitespace() {
            match word.split_once('=') {
                Some((key, value)) => setting.take(key, value)?,
                None if word == "alone" => setting.is_alone = true,
                None => {
                    return Err(format!("{word:?} is neither `alone` nor KEY=VALUE, such as in-flight=12"));
                }
            }
        }
        setting.refuse_contradictions()?;
        Ok(setting)
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |key: &str, value: Option<usize>| value.map(|value| format!("{key}={value}"));
        let time = |key: &str, value: Option<Duration>| {
            value.map(|value| format!("{key}={}", humantime::format_duration(value)).replace(' ', ""))
        };
        let words = [
            self.policy.map(|named| format!("policy={}", named.name)),
            count("batch", self.batch),
            count("in-flight", self.in_flight),
            count("queue", self.queue),
            count("devices", self.devices),
            count("cpu-detectors", self.cpu_detectors),
            time("fetch", self.fetch),
            time("decode", self.decode),
            time("detect-batch", self.detect_batch),
            time("detect-image", self.detect_image),
            time("post", self.post),
            count("deviation-percent", self.deviation_percent),
            self.strategy.map(|strategy| format!("strategy={strategy}")),
            self.is_alone.then(|| "alone".to_owned()),
        ];
        f.write_str(&words.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Setting, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error| D::Error::custom(format!("{text:?}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_written_as_it_is_read() {
        for text in [
            "",
            "alone",
            "batch=16 in-flight=12 queue=32",
            "policy=hold8 deviation-percent=20",
            "devices=2 fetch=1s500ms post=2ms strategy=inline",
            "cpu-detectors=2 decode=0s detect-batch=1ms detect-image=1us",
        ] {
            assert_eq!(text.parse::<Setting>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_told() {
        for (text, expected) in [
            ("cap=12", "unknown key \"cap\""),
            ("batch", "neither `alone` nor KEY=VALUE"),
            ("batch=0", "not a whole number from 1"),
            ("batch=x", "not a whole number from 1"),
            ("in-flight=1001", "from 1 to 1000"),
            ("devices=2 cpu-detectors=2", "give one"),
            ("deviation-percent=101", "at most 100"),
            ("policy=hold9", "there are fifo1"),
            ("policy=hold8 batch=2", "its own"),
            ("fetch=soon", "not a duration"),
            ("fetch=11s", "above 10s"),
            ("strategy=later", "later"),
        ] {
            let error = text.parse::<Setting>().unwrap_err();
            assert!(error.contains(expected) && error.lines().count() == 1, "{text}: {error}");
        }
    }

    #[test]
    fn what_is_not_said_is_the_studys() {
        let of = |text: &str| text.parse::<Setting>().unwrap().pipeline(2, Policy::FIFO16, 7);
        let study = PipelineSpec { policy: Policy::FIFO16, ..PipelineSpec::of_the_study(2) };
        assert_eq!(of(""), study);
        let small = Policy { batch_max: 4, ..Policy::FIFO16 };
        assert_eq!(
            of("batch=4 in-flight=12"),
            PipelineSpec { policy: small, in_flight_max: 12, ..study.clone() }
        );
        assert_eq!(of("policy=join").policy, Policy::JOIN);
        assert_eq!(of("cpu-detectors=2").detector, Detector::Cpu { workers: 2 });
        assert_eq!(
            of("deviation-percent=20").variation,
            Variation::LogNormal { deviation_share: 0.2, seed: 7 }
        );
        let ceiling = |text: &str| stages(&study.costs).ceiling(&configuration(&of(text), 2)).images_per_s;
        let settings = ["", "batch=1", "devices=2", "batch=32", "batch=32 queue=32"];
        // No batch is larger than the queue before it.
        let expected = ["127.0", "27.8", "142.9", "127.0", "142.9"];
        assert_eq!(settings.map(|text| format!("{:.1}", ceiling(text))), expected);
    }
}
