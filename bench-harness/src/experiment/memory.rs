//! The values of the memory experiments: waiting requests, and idle connections.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use workload::Plan;

use super::bounds;

/// The fewest numbers that a line is fitted to.
pub(crate) const LOOKS_MIN: usize = 5;

/// The table `[memory]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    pub(crate) tasks: Tasks,
    pub(crate) connections: Connections,
}

/// The values of `memory.tasks`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tasks {
    /// How many requests wait, look by look.
    #[serde(deserialize_with = "units")]
    pub(crate) units: Vec<u64>,
    #[serde(deserialize_with = "bounds::count")]
    pub(crate) limited_looks: u64,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) wait: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) wait_max: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) settle: Duration,
    #[serde(deserialize_with = "bounds::small_count")]
    pub(crate) repetitions: u32,
}

/// The values of `memory.connections`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Connections {
    /// How many connections are open, look by look.
    #[serde(deserialize_with = "units")]
    pub(crate) units: Vec<u64>,
    pub(crate) plan: Plan,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) timeout: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) settle: Duration,
    #[serde(deserialize_with = "bounds::small_count")]
    pub(crate) repetitions: u32,
}

impl Tasks {
    /// How many requests are in service, look by look, where the model lets no more than `limit` in: evenly spaced
    /// numbers up to it, or none where they are too few for a line.
    pub(crate) fn up_to(&self, limit: u64) -> Vec<u64> {
        let looks = self.limited_looks.min(limit);
        let units: Vec<u64> = (1..=looks).map(|look| limit * look / looks).collect();
        if units.len() < LOOKS_MIN { Vec::new() } else { units }
    }
}

/// Ascending numbers, enough for a line.
fn units<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let units = bounds::counts(deserializer)?;
    if units.len() < LOOKS_MIN {
        let given = units.len();
        return Err(D::Error::custom(format!("a line needs {LOOKS_MIN} numbers at least, not {given}")));
    }
    if !units.is_sorted_by(|a, b| a < b) {
        return Err(D::Error::custom("each number must be above the one before it"));
    }
    Ok(units)
}

#[cfg(test)]
mod tests {
    use super::super::{Experiment, Size, Values};

    #[test]
    fn a_limited_model_is_looked_at_up_to_its_limit() {
        let tasks = Values::built_in(Size::Quick).unwrap().memory.tasks;
        assert_eq!(tasks.up_to(200), [20, 40, 60, 80, 100, 120, 140, 160, 180, 200]);
        assert_eq!(tasks.up_to(32), [3, 6, 9, 12, 16, 19, 22, 25, 28, 32]);
        assert_eq!(tasks.up_to(5), [1, 2, 3, 4, 5]);
        assert_eq!(tasks.up_to(2), [0; 0], "two numbers are no line");
    }

    #[test]
    fn numbers_that_make_no_line_are_refused() {
        let error = |given: &str| {
            let given = [given.to_owned()];
            Values::with_given(None, Size::Quick, Experiment::Tasks, &given).unwrap_err().to_string()
        };
        assert!(
            error("units=1,2,3,4").contains("memory.tasks.units: a line needs 5 numbers at least, not 4")
        );
        assert!(error("units=1,2,3,3,4").contains("each number must be above the one before it"));
        assert!(error("units=0,1,2,3,4").contains("0 is not a whole number from 1"));
    }
}
