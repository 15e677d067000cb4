//! The ranges in which the values of an experiments file make sense, and how they are read.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use statistics::Level;

/// The longest time that a file may state.
const DURATION_MAX: Duration = Duration::from_secs(24 * 3_600);
/// The largest count that a file may state: more requests than this would not fit a machine's memory.
const COUNT_MAX: u64 = 100_000_000;

/// A duration above 0 and up to a day, written as 100ms or 1m 30s.
pub(super) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let duration = humantime::parse_duration(&text).map_err(|error| {
        D::Error::custom(format!("{text:?} is not a duration such as 100ms or 1m 30s: {error}"))
    })?;
    if duration.is_zero() || duration > DURATION_MAX {
        return Err(D::Error::custom(format!("{text:?} is not a duration above 0 and up to 1day")));
    }
    Ok(duration)
}

/// A whole number from 1.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let count = i64::deserialize(deserializer)?;
    in_range(count, COUNT_MAX).ok_or_else(|| D::Error::custom(not_a_count(count, COUNT_MAX)))
}

/// A whole number from 1, as narrow as repetitions and backlogs are.
pub(super) fn small_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    const MAX: u64 = 1_000_000;
    let count = i64::deserialize(deserializer)?;
    let narrow = in_range(count, MAX).and_then(|count| u32::try_from(count).ok());
    narrow.ok_or_else(|| D::Error::custom(not_a_count(count, MAX)))
}

/// At least one whole number from 1.
pub(super) fn counts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let counts = some::<i64, D>(deserializer)?;
    let check =
        |count| in_range(count, COUNT_MAX).ok_or_else(|| D::Error::custom(not_a_count(count, COUNT_MAX)));
    counts.into_iter().map(check).collect()
}

/// At least one value.
pub(super) fn some<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let values = Vec::deserialize(deserializer)?;
    if values.is_empty() {
        return Err(D::Error::custom("an empty list leaves nothing to measure"));
    }
    Ok(values)
}

/// A finite number above 0.
pub(super) fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    const MAX: f64 = 1e9;
    let number = f64::deserialize(deserializer)?;
    if number > 0.0 && number <= MAX {
        return Ok(number);
    }
    Err(D::Error::custom(format!("{number} is not a number above 0 and up to {MAX}")))
}

/// A probability above 0 and below 1.
pub(super) fn level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Level, D::Error> {
    let number = f64::deserialize(deserializer)?;
    Level::new(number).map_err(|error| D::Error::custom(format!("{number}: {error}")))
}

/// As [`positive`], where the value is there.
pub(super) fn optional_positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    positive(deserializer).map(Some)
}

fn in_range(count: i64, max: u64) -> Option<u64> {
    u64::try_from(count).ok().filter(|count| (1..=max).contains(count))
}

fn not_a_count(count: i64, max: u64) -> String {
    format!("{count} is not a whole number from 1 to {max}")
}
