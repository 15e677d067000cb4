//! Any of the ways in which requests can arrive, as a value that goes into a message.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Arrivals, OpenArrivals, Schedule};

/// When the requests of a cell begin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// A number of requests, spread over a time; over none, a burst.
    Spread(Arrivals),
    /// A rate, for a time.
    Open(OpenArrivals),
}

impl Pattern {
    /// So many requests at once.
    #[must_use]
    pub const fn burst(requests: u64) -> Pattern {
        Pattern::Spread(Arrivals { requests, spread: Duration::ZERO })
    }

    /// How many requests there are.
    #[must_use]
    pub fn requests(&self) -> u64 {
        match self {
            Pattern::Spread(arrivals) => arrivals.requests,
            Pattern::Open(arrivals) => u64::try_from(arrivals.starts().count()).unwrap_or(u64::MAX),
        }
    }

    /// When the last request begins, from the start of the measurement; none where there is no request.
    #[must_use]
    pub fn last_start(&self) -> Option<Duration> {
        match self {
            Pattern::Spread(arrivals) => Some(arrivals.start(arrivals.requests.checked_sub(1)?)),
            Pattern::Open(arrivals) => arrivals.starts().last().map(Duration::from_nanos),
        }
    }
}

impl Schedule for Pattern {
    fn starts_ns(&self) -> impl Iterator<Item = u64> {
        let starts: Box<dyn Iterator<Item = u64>> = match self {
            Pattern::Spread(arrivals) => Box::new(arrivals.starts_ns()),
            Pattern::Open(arrivals) => Box::new(arrivals.starts_ns()),
        };
        starts
    }

    fn length(&self) -> Duration {
        match self {
            Pattern::Spread(arrivals) => arrivals.length(),
            Pattern::Open(arrivals) => arrivals.length(),
        }
    }
}

/// A duration as a whole number of nanoseconds, which is what messages carry.
pub(crate) mod nanoseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        // A time that is longer than 584 years is as good as that.
        serializer.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spacing;
    use super::*;

    fn open() -> OpenArrivals {
        OpenArrivals {
            rate_per_s: 200.0,
            spacing: Spacing::Constant,
            seed: 7,
            duration: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_pattern_is_the_schedule_that_it_holds() {
        let spread = Arrivals { requests: 4, spread: Duration::from_nanos(40) };
        let pattern = Pattern::Spread(spread);
        assert_eq!(pattern.starts_ns().collect::<Vec<_>>(), [0, 10, 20, 30]);
        assert_eq!((pattern.requests(), pattern.length()), (4, spread.spread));
        assert_eq!(pattern.last_start(), Some(Duration::from_nanos(30)));
        let pattern = Pattern::Open(open());
        assert_eq!((pattern.requests(), pattern.length()), (200, Duration::from_secs(1)));
        assert_eq!(pattern.last_start(), Some(Duration::from_millis(995)));
        assert!(pattern.starts_ns().eq(open().starts()));
        assert_eq!((Pattern::burst(0).requests(), Pattern::burst(0).last_start()), (0, None));
        assert_eq!(Pattern::burst(3).last_start(), Some(Duration::ZERO));
    }

    #[test]
    fn the_message_counts_nanoseconds() {
        let text = |pattern: Pattern| serde_json::to_string(&pattern).unwrap();
        assert_eq!(text(Pattern::burst(3)), r#"{"spread":{"requests":3,"spread_ns":0}}"#);
        let open = Pattern::Open(open());
        let expected =
            r#"{"open":{"rate_per_s":200.0,"spacing":"constant","seed":7,"duration_ns":1000000000}}"#;
        assert_eq!(text(open), expected);
        assert_eq!(serde_json::from_str::<Pattern>(expected).unwrap(), open);
        assert!(serde_json::from_str::<Pattern>(r#"{"spread":{"requests":3,"spread":0}}"#).is_err());
    }
}
