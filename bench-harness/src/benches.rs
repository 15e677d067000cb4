//! What `cargo bench` measured of the primitives, taken from Criterion's directory into that of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::Primitive;

use crate::exit::usage;
use crate::row::FORMAT;

/// `benches.json`: every primitive of every runtime that was found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Benches {
    /// The version of this format.
    pub(crate) format: u32,
    /// By runtime, and then by primitive.
    pub(crate) benches: Vec<Bench>,
}

/// A primitive of a runtime. It has figures or a reason, never both.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Bench {
    /// The runtime, `tokio`.
    pub(crate) runtime: String,
    /// As [`Primitive::id`] has it.
    pub(crate) primitive: String,
    /// When, in UTC.
    pub(crate) measured_at: Option<String>,
    /// Null where there is a reason.
    pub(crate) figures: Option<Figures>,
    /// Why there are none.
    pub(crate) reason: Option<String>,
}

/// Of one operation, in nanoseconds: over the samples of one process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Figures {
    /// The median of an operation.
    pub(crate) median_ns: f64,
    /// The lower end of its interval.
    pub(crate) ci_low_ns: f64,
    /// The upper end of it.
    pub(crate) ci_high_ns: f64,
    /// With which probability that interval has the median, by resampling.
    pub(crate) confidence: f64,
}

impl Benches {
    /// Takes what is in Criterion's directory. What is there of other benches is left alone.
    ///
    /// # Errors
    ///
    /// A usage error where there is no such directory, none of the primitives in it, or a damaged file.
    pub(crate) fn collect(criterion: &Path) -> anyhow::Result<Benches> {
        let at = criterion.display();
        let cannot = |error: std::io::Error| {
            usage(format!("cannot read the benches in {at}: {error}; cargo bench makes target/criterion"))
        };
        let mut benches = Vec::new();
        for entry in fs::read_dir(criterion).map_err(cannot)? {
            let directory = entry.map_err(cannot)?.path();
            for primitive in Primitive::ALL {
                benches.extend(bench(&directory.join(primitive.id()), primitive)?);
            }
        }
        if benches.is_empty() {
            return Err(usage(format!(
                "{at} has none of the primitives' figures; run cargo bench -p 'runtime-*' --bench primitives"
            )));
        }
        benches.sort_by(|a, b| (&a.runtime, &a.primitive).cmp(&(&b.runtime, &b.primitive)));
        Ok(Benches { format: FORMAT, benches })
    }

    /// By primitive, and then by runtime.
    pub(crate) fn by_primitive(&self) -> BTreeMap<Primitive, BTreeMap<&str, &Bench>> {
        let mut by_primitive: BTreeMap<Primitive, BTreeMap<&str, &Bench>> = BTreeMap::new();
        for bench in &self.benches {
            // One that this harness does not know is left out.
            let known = Primitive::ALL.into_iter().find(|primitive| primitive.id() == bench.primitive);
            if let Some(primitive) = known {
                by_primitive.entry(primitive).or_default().insert(&bench.runtime, bench);
            }
        }
        by_primitive
    }
}

/// What Criterion says that was measured.
#[derive(Deserialize)]
struct Measured {
    group_id: String,
}

/// The part of Criterion's estimates that is used.
#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
    confidence_interval: ConfidenceInterval,
}

#[derive(Deserialize)]
struct ConfidenceInterval {
    confidence_level: f64,
    lower_bound: f64,
    upper_bound: f64,
}

/// What a bench records in the place of figures.
#[derive(Deserialize)]
struct Refused {
    runtime: String,
    reason: String,
}

/// What is in the directory of one primitive of one runtime, where there is one.
fn bench(directory: &Path, primitive: Primitive) -> anyhow::Result<Option<Bench>> {
    let new = directory.join("new");
    let primitive = primitive.id().to_owned();
    if let Some((Measured { group_id }, _)) = read(&new.join("benchmark.json"))? {
        let Some((Estimates { median }, measured_at)) = read(&new.join("estimates.json"))? else {
            return Err(usage(format!("{} has no estimates.json", new.display())));
        };
        let interval = median.confidence_interval;
        let figures = Figures {
            median_ns: median.point_estimate,
            ci_low_ns: interval.lower_bound,
            ci_high_ns: interval.upper_bound,
            confidence: interval.confidence_level,
        };
        return Ok(Some(Bench {
            runtime: group_id,
            primitive,
            measured_at,
            figures: Some(figures),
            reason: None,
        }));
    }
    let refused = read(&directory.join("refused.json"))?;
    Ok(refused.map(|(Refused { runtime, reason }, measured_at)| Bench {
        runtime,
        primitive,
        measured_at,
        figures: None,
        reason: Some(reason),
    }))
}

/// A file and when it was written, where it is there.
fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> anyhow::Result<Option<(T, Option<String>)>> {
    let at = path.display();
    let text = match fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        other => other.map_err(|error| usage(format!("cannot read {at}: {error}")))?,
    };
    let value = serde_json::from_slice(&text).map_err(|error| usage(format!("{at} is damaged: {error}")))?;
    let written = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    Ok(Some((value, written.map(utc))))
}

fn utc(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests;
