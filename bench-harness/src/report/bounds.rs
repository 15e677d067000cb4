//! What a reader must know of figures that are lower bounds.

use crate::format::count;
use crate::summary::Group;

/// How many verdicts are lower bounds, and by what.
pub(super) fn lower_bounds(groups: &[Group]) -> Option<String> {
    let censored: Vec<&Group> = groups.iter().filter(|group| group.censored == Some(true)).collect();
    let mut limits: Vec<&str> = censored
        .iter()
        .map(|group| group.limited_by.as_deref().unwrap_or("what is not named"))
        .filter(|limit| !limit.is_empty())
        .collect();
    limits.sort_unstable();
    limits.dedup();
    (!censored.is_empty()).then(|| {
        format!(
            "{} cells have a lower bound, marked `>=`, and not a figure: the machine or the experiment, and not the model, \
             ended them ({})",
            count(censored.len() as u64),
            limits.join("; ")
        )
    })
}
