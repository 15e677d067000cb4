//! The values of the memory experiments: waiting requests, and idle connections.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use workload::Plan;

use super::bounds;

/// The fewest numbers that a line is fitted to.
pub(crate) const LOOKS_MIN: usize = 5;

/// The table `[memory]`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    /// `memory.tasks`: what does one more waiting request cost, in process?
    pub(crate) tasks: Tasks,
    /// `memory.connections`: what does one more idle connection cost, that has served a request?
    pub(crate) connections: Connections,
}

/// The values of `memory.tasks`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tasks {
    /// How many requests wait, look by look.
    #[serde(with = "Units")]
    pub(crate) units: Vec<u64>,
    /// Where the model limits how many are in service: so many numbers of them, up to the limit.
    #[serde(with = "bounds::Count")]
    pub(crate) limited_looks: u64,
    /// How long every request waits.
    #[serde(with = "bounds::Time")]
    pub(crate) wait: Duration,
    /// Where the first one ends before the last look, the cell is taken again with a longer wait, up to this.
    #[serde(with = "bounds::Time")]
    pub(crate) wait_max: Duration,
    /// From when all are there to the look.
    #[serde(with = "bounds::Time")]
    pub(crate) settle: Duration,
    /// How often it is measured where the command line does not say.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) repetitions: u32,
}

/// The values of `memory.connections`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Connections {
    /// How many connections are open, look by look.
    #[serde(with = "Units")]
    pub(crate) units: Vec<u64>,
    /// What each connection has served.
    pub(crate) plan: Plan,
    /// A connection that has no answer after this has failed.
    #[serde(with = "bounds::Time")]
    pub(crate) timeout: Duration,
    /// From when all are there to the look.
    #[serde(with = "bounds::Time")]
    pub(crate) settle: Duration,
    /// How often it is measured where the command line does not say.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) repetitions: u32,
}

/// Ascending numbers, enough for a line.
enum Units {}

impl Tasks {
    /// How many requests are in service, look by look, where the model lets no more than `limit` in: evenly spaced
    /// numbers up to it, or none where they are too few for a line.
    pub(crate) fn up_to(&self, limit: u64) -> Vec<u64> {
        let looks = self.limited_looks.min(limit);
        let units: Vec<u64> = (1..=looks).map(|look| limit * look / looks).collect();
        if units.len() < LOOKS_MIN { Vec::new() } else { units }
    }
}

impl Units {
    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
        let units = bounds::Counts::deserialize(deserializer)?;
        if units.len() < LOOKS_MIN {
            let given = units.len();
            return Err(D::Error::custom(format!("a line needs {LOOKS_MIN} numbers at least, not {given}")));
        }
        if !units.is_sorted_by(|a, b| a < b) {
            return Err(D::Error::custom("each number must be above the one before it"));
        }
        Ok(units)
    }
}

impl JsonSchema for Units {
    fn schema_name() -> Cow<'static, str> {
        "Units".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": generator.subschema_for::<bounds::Count>(),
            "minItems": LOOKS_MIN,
            "uniqueItems": true,
            "description": "Each number is above the one before it.",
        })
    }
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
