//! The audits of a row. Each compares two things that come from different places; one that fails makes the row
//! invalid. Pure functions, each with the lies that it catches and a saturated row that it accepts beside it.
//!
//! * [`in_process`], [`over_http`]: what was asked for, what came of it on each side, and that no time is too short.
//! * [`server`]: what a server has counted to its end, and what the kernel says that its process used.
//! * [`ceiling`]: no more ends than there are places and time for.
//! * [`compute`]: planned computing shows as CPU time, and no more is done than there are CPUs for.
//! * [`pipeline`]: what the batching pipeline did, against its arithmetic.
//! * [`quota`]: a cell with a quota of CPU time was held to it.
//! * [`window`]: Little's law and steadiness, in a window of a longer run.

mod ceiling;
mod compute;
mod in_process;
mod over_http;
mod pipeline;
mod quota;
mod server;
mod window;

use std::time::Duration;

use load_driver::honesty;

use crate::row::{Check, Figure};

pub(crate) use ceiling::{Ends, Places};
pub(crate) use compute::{CERTAIN_SHARE, Computing};
pub(crate) use in_process::{InProcess, in_process};
pub(crate) use over_http::{OverHttp, over_http, unheard};
pub(crate) use pipeline::{Pipeline, pipeline};
pub(crate) use server::server;
pub(crate) use window::{Regime, Stream, Window, window};

/// What a load generator measured of its own pace.
pub(crate) fn paced(checks: &[honesty::Check]) -> Vec<Check> {
    checks.iter().filter_map(|own| check(own.name, own.ok, own.value, own.limit)).collect()
}

pub(crate) fn equal(name: &str, value: u64, limit: u64) -> Check {
    whole(name, value == limit, value, limit)
}

pub(crate) fn at_most(name: &str, value: u64, limit: u64) -> Check {
    whole(name, value <= limit, value, limit)
}

pub(crate) fn at_least(name: &str, value: u64, limit: u64) -> Check {
    whole(name, value >= limit, value, limit)
}

fn whole(name: &str, ok: bool, value: u64, limit: u64) -> Check {
    Check { name: name.to_owned(), ok, value: Figure::from(value), limit: Figure::from(limit) }
}

/// A check of figures that may be undefined: of those there is none.
pub(crate) fn check(name: &str, ok: bool, value: f64, limit: f64) -> Option<Check> {
    Some(Check { name: name.to_owned(), ok, value: Figure::new(value)?, limit: Figure::new(limit)? })
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "a count or a time of 2^53 and more is compared to 16 digits")]
fn float(value: u64) -> f64 {
    value as f64
}

/// The names of the checks that fail.
#[cfg(test)]
fn failing(checks: impl IntoIterator<Item = Check>) -> Vec<String> {
    checks.into_iter().filter(|check| !check.ok).map(|check| check.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generators_own_checks_are_checks_of_the_row() {
        let own = |value, ok| honesty::Check { name: "send_lag_p99_ns", ok, value, limit: 1e6 };
        assert_eq!(failing(paced(&[own(9e5, true)])), [""; 0]);
        assert_eq!(failing(paced(&[own(2e6, false)])), ["send_lag_p99_ns"]);
        assert!(paced(&[own(f64::NAN, false)]).is_empty());
    }
}
