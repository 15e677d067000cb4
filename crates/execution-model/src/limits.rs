//! Which values a runtime and its server may be started with, wherever they come from: a command line or a cell's
//! spec. Whatever passes here cannot overflow a clock, or allocate more than a machine has before anything began.

use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::runtime::RuntimeConfig;
use crate::server::{ListenSpec, ServerLimits};

const WORKERS: RangeInclusive<usize> = 1..=4096;
/// The memory of some queues is taken at the start: 640 MB for the longest.
const QUEUE: RangeInclusive<usize> = 1..=10_000_000;
const OFFLOAD_THREADS: RangeInclusive<usize> = 1..=30_000;
const PLACES: RangeInclusive<u64> = 1..=100_000_000;
const BACKLOG: RangeInclusive<u32> = 1..=65_535;
const TIME_LIMIT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(24 * 60 * 60);

/// A value is not among those that are accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} of {given} is out of range; give {least} to {most}")]
pub struct OutOfRange {
    what: &'static str,
    given: String,
    least: String,
    most: String,
}

impl RuntimeConfig {
    /// The same, if each value is accepted.
    ///
    /// # Errors
    ///
    /// Names the first value that is not, and what is.
    pub fn checked(self) -> Result<RuntimeConfig, OutOfRange> {
        within("a number of workers", self.workers, WORKERS)?;
        within("a queue capacity", self.queue_capacity, QUEUE)?;
        if let Some(threads) = self.offload_threads {
            within("a number of threads to offload to", threads, OFFLOAD_THREADS)?;
        }
        Ok(self)
    }
}

impl RuntimeConfig {
    /// Threads to offload to, of a library's pool of at most `most` threads: as many as were asked for, or all.
    ///
    /// # Errors
    ///
    /// There are not so many.
    pub fn offload_threads_of(&self, most: usize) -> Result<usize, OutOfRange> {
        let threads = self.offload_threads.unwrap_or(most);
        within("a number of threads to offload to", threads, 1..=most)
    }
}

impl ServerLimits {
    /// The same, if each value is accepted.
    ///
    /// # Errors
    ///
    /// Names the first value that is not, and what is.
    pub fn checked(self) -> Result<ServerLimits, OutOfRange> {
        within("an in-flight limit", self.in_flight, PLACES)?;
        within("a connection limit", self.connections, PLACES)?;
        within("an idle time-out", self.idle, TIME_LIMIT)?;
        within("a request time-out", self.request, TIME_LIMIT)?;
        Ok(self)
    }
}

impl ListenSpec {
    /// The same, if the backlog is accepted.
    ///
    /// # Errors
    ///
    /// Says that it is not, and what is.
    pub fn checked(self) -> Result<ListenSpec, OutOfRange> {
        within("a listen backlog", self.backlog, BACKLOG)?;
        Ok(self)
    }
}

/// How long a drain may take, if that is accepted.
///
/// # Errors
///
/// Says that it is not, and what is.
pub fn checked_drain(drain: Duration) -> Result<Duration, OutOfRange> {
    within("a drain time-out", drain, TIME_LIMIT)
}

pub(crate) fn within<T: PartialOrd + Debug>(
    what: &'static str,
    given: T,
    accepted: RangeInclusive<T>,
) -> Result<T, OutOfRange> {
    if accepted.contains(&given) {
        return Ok(given);
    }
    let (least, most) = accepted.into_inner();
    let text = |value: T| format!("{value:?}");
    Err(OutOfRange { what, given: text(given), least: text(least), most: text(most) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);
    const LEAST: Duration = Duration::from_millis(1);

    fn limits(places: u64, time: Duration) -> ServerLimits {
        ServerLimits { in_flight: places, connections: places, idle: time, request: time }
    }

    fn config(workers: usize, queue_capacity: usize, offload_threads: Option<usize>) -> RuntimeConfig {
        RuntimeConfig { workers, queue_capacity, offload_threads }
    }

    #[test]
    fn what_is_at_the_bounds_is_accepted() {
        assert!(limits(1, LEAST).checked().is_ok() && limits(100_000_000, DAY).checked().is_ok());
        assert!(config(1, 1, None).checked().is_ok());
        assert!(config(4096, 10_000_000, Some(30_000)).checked().is_ok());
        assert_eq!(checked_drain(DAY), Ok(DAY));
    }

    #[test]
    fn what_is_beyond_them_is_named_with_what_is_accepted() {
        let said = |result: Result<ServerLimits, OutOfRange>| result.unwrap_err().to_string();
        let place = ServerLimits { connections: 100_000_001, ..limits(1, LEAST) };
        let place = said(place.checked());
        assert_eq!(place, "a connection limit of 100000001 is out of range; give 1 to 100000000");
        let long = ServerLimits { request: DAY + LEAST, ..limits(1, DAY) };
        let long = said(long.checked());
        assert_eq!(long, "a request time-out of 86400.001s is out of range; give 1ms to 86400s");
        assert!(said(limits(0, DAY).checked()).starts_with("an in-flight limit of 0 is"));
        assert!(said(limits(1, Duration::ZERO).checked()).starts_with("an idle time-out of 0ns is"));
        assert!(config(0, 1, None).checked().is_err() && config(4097, 1, None).checked().is_err());
        assert!(config(1, 0, None).checked().is_err() && config(1, usize::MAX, None).checked().is_err());
        assert!(config(1, 1, Some(0)).checked().is_err());
        let pool = |asked| config(1, 1, asked).offload_threads_of(500);
        assert_eq!((pool(None), pool(Some(4)), pool(Some(500))), (Ok(500), Ok(4), Ok(500)));
        let many = pool(Some(501)).unwrap_err().to_string();
        assert_eq!(many, "a number of threads to offload to of 501 is out of range; give 1 to 500");
        assert!(checked_drain(Duration::MAX).is_err());
        let listen = ListenSpec { address: ([127, 0, 0, 1], 0).into(), backlog: 0, reuse_port: false };
        assert!(listen.checked().is_err());
    }
}
