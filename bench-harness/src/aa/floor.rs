//! The noise floor of a machine, as a later run takes it: what is nearer than this is a tie.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Judgement;
use crate::exit::usage;

/// The noise floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NoiseFloor {
    /// On whom it was measured.
    pub(crate) measured_on: String,
    /// It is that of the medians of so many runs; those of fewer are noisier.
    pub(crate) repetitions: u32,
    /// How far from 1 the ratio of two equals is: 0.02 is 2 %. By metric, the largest of all cells.
    pub(crate) by_metric: BTreeMap<String, f64>,
}

/// The part of `aa.json` that a later run needs.
#[derive(Deserialize)]
struct Told {
    noise_floor: NoiseFloor,
}

/// The name of the file in a directory of results.
const FILE: &str = "aa.json";

impl NoiseFloor {
    /// The floor that a judgement found.
    pub(crate) fn of(judgement: &Judgement, measured_on: &str, repetitions: u32) -> NoiseFloor {
        let mut by_metric = BTreeMap::new();
        for judged in &judgement.metrics {
            let floor: &mut f64 = by_metric.entry(judged.metric.clone()).or_insert(0.0);
            *floor = floor.max(judged.floor);
        }
        NoiseFloor { measured_on: measured_on.to_owned(), repetitions, by_metric }
    }

    /// Reads an `aa.json`, or the one in a directory.
    pub(crate) fn read(path: &Path) -> anyhow::Result<NoiseFloor> {
        let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
        let wrong =
            |what: String| usage(format!("{} has no noise floor, as aa writes one: {what}", file.display()));
        let text = fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
        let told: Told = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let floor = told.noise_floor;
        match floor.by_metric.iter().find(|(_, floor)| **floor < 0.0) {
            Some((metric, floor)) => Err(wrong(format!("that of {metric} is {floor}, below 0"))),
            None => Ok(floor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_read_from_a_file_or_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE);
        let floor = NoiseFloor {
            measured_on: "floor".into(),
            repetitions: 5,
            by_metric: BTreeMap::from([("elapsed_ns".into(), 0.02)]),
        };
        fs::write(&file, serde_json::json!({"noise_floor": floor, "more": 1}).to_string()).unwrap();
        assert_eq!(NoiseFloor::read(&file).unwrap(), floor);
        assert_eq!(NoiseFloor::read(directory.path()).unwrap(), floor);
        let error = NoiseFloor::read(Path::new("/nowhere/aa.json")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/aa.json has no noise floor, as aa writes one: "), "{error}");
        fs::write(&file, "{}").unwrap();
        let error = NoiseFloor::read(&file).unwrap_err().to_string();
        assert!(error.contains("missing field `noise_floor`"), "{error}");
    }
}
