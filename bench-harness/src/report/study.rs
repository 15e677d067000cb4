//! What a family of experiments brings to a report. One more family is one more file with such a value, and its name
//! in the list.

use super::chart::Chart;
use super::{Data, Section, blocking, capacity, memory, pipeline, primitives, throughput};
use crate::summary::Group;

/// One family of experiments.
pub(super) struct Study {
    /// What its part of a page is found by.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The one sentence that a reader in a hurry takes away, computed from the rows.
    pub(super) headline: fn(&[Group]) -> Option<String>,
    /// All that was found, a sentence each.
    pub(super) findings: fn(&[Group]) -> Vec<String>,
    pub(super) charts: fn(&Data<'_>) -> Vec<Chart>,
    pub(super) sections: fn(&Data<'_>) -> Vec<Section>,
    /// What has to be known to read its tables, where there are any.
    pub(super) how_to_read: fn(&Data<'_>) -> String,
}

/// In the order of a report.
pub(super) const STUDIES: [Study; 6] =
    [capacity::STUDY, memory::STUDY, blocking::STUDY, throughput::STUDY, pipeline::STUDY, primitives::STUDY];

/// What was found, in as many sentences as there are studies that have one.
pub(super) fn headlines(groups: &[Group]) -> Vec<String> {
    STUDIES.iter().filter_map(|study| (study.headline)(groups)).collect()
}
