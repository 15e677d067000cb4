//! Cells that have a quota of CPU time: whether there can be any, and what a row says of theirs.

use std::path::Path;

use cell_control::{ControlGroups, End, QuotaError};

use crate::exit::Refused;
use crate::place::{CpusBy, Place};
use crate::row::Measured;

/// Looks for where groups with a quota can be made, and tries it.
pub(crate) fn find(cpus: u64) -> Result<ControlGroups, QuotaError> {
    let groups = ControlGroups::find(Path::new("/"))?;
    drop(groups.make(cpus)?);
    Ok(groups)
}

/// What the quotas of `places` want, before the first cell; none where no place has one. Groups that a killed harness
/// left are removed in any case.
///
/// # Errors
///
/// No group can be made here, or not with so large a quota.
pub(crate) fn prepare(places: &[Place]) -> anyhow::Result<Option<ControlGroups>> {
    if let Ok(groups) = ControlGroups::find(Path::new("/")) {
        groups.remove_left();
    }
    let largest = places.iter().filter_map(|place| place.quota).max();
    let found = largest.map(find).transpose();
    found.map_err(|error| {
        Refused(format!("--cpus-by {}: {error}; or measure with --cpus-by affinity", CpusBy::Quota.name()))
            .into()
    })
}

/// How often and for how long the quota held the cell back.
pub(crate) fn note(measured: &mut Measured, end: &End) {
    let Some(held) = &end.held else { return };
    let ns = |duration: std::time::Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    measured.note("quota_period_ns", ns(held.period));
    if let Some(throttled) = held.throttled {
        measured.note("quota_periods", throttled.periods);
        measured.note("quota_throttled_periods", throttled.throttled_periods);
        measured.note("quota_throttled_ns", ns(throttled.throttled));
    }
}
