//! The ranges in which the values of an experiments file make sense. Each bound is a type that is never made: a field
//! with it is read as its `deserialize` says, and is in the schema as the same constant says.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use statistics::Level;

/// A duration above 0 and up to a day, written as 100ms or 1m 30s.
pub(super) enum Time {}

/// A whole number from 1.
pub(super) enum Count {}

/// A whole number from 1, as narrow as repetitions and backlogs are.
pub(super) enum SmallCount {}

/// At least one whole number from 1.
pub(super) enum Counts {}

/// At least one value.
pub(super) struct AtLeastOne<T>(PhantomData<T>);

/// A finite number above 0.
pub(super) enum Positive {}

/// A probability above 0 and below 1.
pub(super) enum Probability {}

impl Time {
    /// The longest time that a file may state.
    const MAX: Duration = Duration::from_secs(24 * 3_600);
    /// What reads as a duration at all, and is not 0. No pattern can add up what is in it.
    const PATTERN: &str = concat!(
        r"^(?=.*[1-9])\s*([0-9][0-9\s]*(\.[0-9\s]*[0-9][0-9\s]*)?",
        "(nanos|nsec|ns|usec|us|µs|millis|msec|ms|seconds|second|secs|sec|s|minutes|minute|min|mins|m|hours|hour|hr|hrs|h",
        r"|days|day|d|weeks|week|wk|wks|w|months|month|M|years|year|yr|yrs|y)\s*)+$"
    );

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        let duration = humantime::parse_duration(&text).map_err(|error| {
            D::Error::custom(format!("{text:?} is not a duration such as 100ms or 1m 30s: {error}"))
        })?;
        if duration.is_zero() || duration > Time::MAX {
            return Err(D::Error::custom(format!(
                "{text:?} is not a duration above 0 and up to {}",
                Time::max()
            )));
        }
        Ok(duration)
    }

    fn max() -> humantime::FormattedDuration {
        humantime::format_duration(Time::MAX)
    }
}

impl Count {
    /// The largest count that a file may state: more requests than this would not fit a machine's memory.
    const MAX: u64 = 100_000_000;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        up_to(Count::MAX, i64::deserialize(deserializer)?)
    }
}

impl SmallCount {
    const MAX: u32 = 1_000_000;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        up_to(SmallCount::MAX, i64::deserialize(deserializer)?)
    }
}

impl Counts {
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
        let counts = AtLeastOne::<i64>::deserialize(deserializer)?;
        counts.into_iter().map(|count| up_to(Count::MAX, count)).collect()
    }
}

impl<T> AtLeastOne<T> {
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        T: Deserialize<'de>,
    {
        let values = Vec::deserialize(deserializer)?;
        if values.is_empty() {
            return Err(D::Error::custom("an empty list leaves nothing to measure"));
        }
        Ok(values)
    }
}

impl Positive {
    const MAX: f64 = 1e9;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let number = f64::deserialize(deserializer)?;
        if number > 0.0 && number <= Positive::MAX {
            return Ok(number);
        }
        Err(D::Error::custom(format!("{number} is not a number above 0 and up to {}", Positive::MAX)))
    }

    /// The same, where the value is there.
    pub(super) fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Positive::deserialize(deserializer).map(Some)
    }
}

impl Probability {
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Level, D::Error> {
        let number = f64::deserialize(deserializer)?;
        Level::new(number).map_err(|error| D::Error::custom(format!("{number}: {error}")))
    }
}

fn up_to<T: TryFrom<i64> + Into<u64> + Copy, E: Error>(max: T, count: i64) -> Result<T, E> {
    let max: u64 = max.into();
    let narrow = T::try_from(count).ok().filter(|count| (1..=max).contains(&(*count).into()));
    narrow.ok_or_else(|| E::custom(format!("{count} is not a whole number from 1 to {max}")))
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let range = format!("A duration such as 100ms or 1m 30s, above 0 and up to {}.", Time::max());
        json_schema!({ "type": "string", "pattern": Time::PATTERN, "description": range })
    }
}

impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": Count::MAX })
    }
}

impl JsonSchema for SmallCount {
    fn schema_name() -> Cow<'static, str> {
        "SmallCount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": SmallCount::MAX })
    }
}

impl JsonSchema for Counts {
    fn schema_name() -> Cow<'static, str> {
        "Counts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        AtLeastOne::<Count>::json_schema(generator)
    }
}

impl<T: JsonSchema> JsonSchema for AtLeastOne<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("AtLeastOne{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": generator.subschema_for::<T>(), "minItems": 1 })
    }
}

impl JsonSchema for Positive {
    fn schema_name() -> Cow<'static, str> {
        "Positive".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "maximum": Positive::MAX })
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 })
    }
}
