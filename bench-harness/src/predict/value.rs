//! The kinds of value that a law takes, each read alike from a flag and from a file, within what makes sense.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Value;

const DURATION_MAX: Duration = Duration::from_secs(24 * 3_600);
const COUNT_MAX: u64 = 100_000_000;
const NUMBER_MAX: f64 = 1e9;
const LIST_MAX: usize = 64;

/// A duration above 0 and up to a day: 40ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

/// A whole number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) u64);

/// Whole numbers from 1: 1,2,4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) Vec<u64>);

/// A number above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

/// A whole number from 1, or `auto`: what the arithmetic itself says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Auto(pub(crate) Option<u64>);

/// What detects: `device` or `cpu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DetectorKind {
    Device,
    Cpu,
}

/// Why a text is no such value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unfit(String);

impl FromStr for Time {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Time, Unfit> {
        let unfit = || Unfit(format!("{text:?} is not a duration above 0 and up to 1day, such as 40ms"));
        let time = humantime::parse_duration(text).map_err(|_| unfit())?;
        if time.is_zero() || time > DURATION_MAX { Err(unfit()) } else { Ok(Time(time)) }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl FromStr for Count {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Count, Unfit> {
        let count = text.replace('_', "").parse().ok().filter(|count| (1..=COUNT_MAX).contains(count));
        count.map(Count).ok_or_else(|| Unfit(format!("{text:?} is not a whole number from 1 to {COUNT_MAX}")))
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Counts {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Counts, Unfit> {
        let counts = text.split(',').map(|text| text.trim().parse::<Count>().map(|count| count.0));
        let counts = counts.collect::<Result<Vec<_>, _>>()?;
        if counts.len() > LIST_MAX {
            return Err(Unfit(format!("{} numbers are more than {LIST_MAX}", counts.len())));
        }
        Ok(Counts(counts))
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&counts.join(","))
    }
}

impl FromStr for Number {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Number, Unfit> {
        let number =
            text.replace('_', "").parse().ok().filter(|number| *number > 0.0 && *number <= NUMBER_MAX);
        number
            .map(Number)
            .ok_or_else(|| Unfit(format!("{text:?} is not a number above 0 and up to {NUMBER_MAX}")))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Auto {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Auto, Unfit> {
        if text == "auto" {
            return Ok(Auto(None));
        }
        let count = text.parse::<Count>().map_err(|error| Unfit(format!("{error}, or auto")))?;
        Ok(Auto(Some(count.0)))
    }
}

impl fmt::Display for Auto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(count) => count.fmt(f),
            None => f.write_str("auto"),
        }
    }
}

impl FromStr for DetectorKind {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<DetectorKind, Unfit> {
        match text {
            "device" => Ok(DetectorKind::Device),
            "cpu" => Ok(DetectorKind::Cpu),
            _ => Err(Unfit(format!("{text:?} is neither device nor cpu"))),
        }
    }
}

impl fmt::Display for DetectorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DetectorKind::Device => "device",
            DetectorKind::Cpu => "cpu",
        })
    }
}

/// A value of a file is read as the same text in a flag, where it is of the right kind, and written as that kind.
macro_rules! read_as_its_text {
    ($($kind:ident: $($variant:ident)|+, $example:literal, $written:expr;)+) => {$(
        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$kind, D::Error> {
                let value = Value::deserialize(deserializer)?;
                match &value {
                    $(Value::$variant(_))|+ => plain(&value).parse().map_err(D::Error::custom),
                    _ => Err(D::Error::custom(format!("{value} is of the wrong type; write {}", $example))),
                }
            }
        }
        impl Serialize for $kind {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let written: fn(&$kind) -> serde_json::Value = $written;
                written(self).serialize(serializer)
            }
        }
    )+};
}

read_as_its_text! {
    Time: String, "\"40ms\"", |time| time.to_string().into();
    Count: Integer, "4", |count| count.0.into();
    Counts: Array, "[1, 2, 4]", |counts| counts.0.clone().into();
    Number: Integer | Float, "120", |number| number.0.into();
    Auto: Integer | String, "4 or \"auto\"", |auto| auto.0.map_or_else(|| "auto".into(), Into::into);
    DetectorKind: String, "\"device\" or \"cpu\"", |kind| kind.to_string().into();
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused_with_what_does() {
        for text in ["0", "-1", "1.5", "NaN", "1e3", "", "100000001", "99999999999999999999"] {
            let error = text.parse::<Count>().expect_err(text).to_string();
            assert!(error.ends_with("is not a whole number from 1 to 100000000"), "{error}");
            assert!(
                text.parse::<Auto>().is_err() && format!("1,{text}").parse::<Counts>().is_err(),
                "{text}"
            );
        }
        for text in ["0", "-1", "NaN", "inf", "1e300", "many", ""] {
            assert!(text.parse::<Number>().is_err(), "{text}");
        }
        for text in ["0s", "-1ms", "2days", "NaN", "40", "", "99999999999999999999s"] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
        assert!("gpu".parse::<DetectorKind>().is_err());
        assert!(vec!["1"; 65].join(",").parse::<Counts>().is_err());
    }

    #[test]
    fn what_is_read_is_written_alike() {
        assert_eq!("40ms".parse::<Time>().expect("a time").to_string(), "40ms");
        assert_eq!("1, 2,4".parse::<Counts>().expect("counts").to_string(), "1,2,4");
        assert_eq!("120".parse::<Number>().expect("a number").to_string(), "120");
        assert_eq!("auto".parse::<Auto>().expect("auto").to_string(), "auto");
        assert_eq!("1_000".parse::<Count>().expect("a count").to_string(), "1000");
    }
}
