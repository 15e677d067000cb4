//! The values of the pipeline experiments: the policies under one load, and the same pipeline under other settings.

mod setting;

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use workload::arrivals::Spacing;
use workload::pipeline::Policy;

use super::bounds;

pub(crate) use setting::{Setting, configuration, stages};

/// The table `[pipeline]`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pipelines {
    /// Of all policies.
    pub(crate) policy: Pipeline,
    /// `pipeline.sizing`: batch sizes, limits in flight and detectors, beside their arithmetic.
    pub(crate) sizing: Pipeline,
    /// `pipeline.conditions`: what is left of a policy's gain where costs vary, where the loop computes, and alone?
    pub(crate) conditions: Pipeline,
}

/// The values of one pipeline experiment, or of one for each policy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pipeline {
    /// What differs from the study's own pipeline, a cell each.
    #[serde(with = "bounds::AtLeastOne::<Setting>")]
    pub(crate) settings: Vec<Setting>,
    /// The runtimes that are measured where the command line names none; an empty list is all of them.
    pub(crate) runtimes: Vec<String>,
    /// The experiments that are measured on all of them nevertheless, by the last part of their name.
    pub(crate) everywhere: Vec<String>,
    /// How many interactive images come a second.
    #[serde(with = "bounds::Positive")]
    pub(crate) interactive_per_s: f64,
    /// How they follow each other.
    pub(crate) interactive_arrivals: Spacing,
    /// For the pipeline to fill.
    #[serde(with = "bounds::Time")]
    pub(crate) warmup: Duration,
    /// The window.
    #[serde(with = "bounds::Time")]
    pub(crate) duration: Duration,
    /// How long what is in flight at the end may take.
    #[serde(with = "bounds::Time")]
    pub(crate) drain: Duration,
    /// How often it is measured where the command line does not say.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) repetitions: u32,
}

/// A policy with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) policy: Policy,
}

impl Pipeline {
    /// Whether an experiment, by the last part of its name, is measured on a runtime that nobody named.
    pub(crate) fn is_for(&self, experiment: &str, runtime: &str) -> bool {
        self.runtimes.is_empty()
            || self.everywhere.iter().any(|everywhere| everywhere == experiment)
            || self.runtimes.iter().any(|known| known == runtime)
    }
}

impl JsonSchema for Setting {
    fn schema_name() -> Cow<'static, str> {
        "Setting".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "Words of KEY=VALUE, and `alone`; none is the study's own pipeline." })
    }
}

impl Named {
    /// Of this name, where there is one.
    pub(crate) fn find(name: &str) -> Option<Named> {
        let found = Policy::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(name, policy)| Named { name, policy })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Experiment, Size, Values};
    use super::*;

    #[test]
    fn a_window_has_interactive_images_enough_for_a_median() {
        for size in Size::ALL {
            let Pipelines { policy, sizing, conditions } = Values::built_in(size).unwrap().pipeline;
            for one in [&policy, &conditions] {
                assert!(one.interactive_per_s * one.duration.as_secs_f64() >= 21.0, "{one:?}");
            }
            assert!(sizing.settings.len() > 1 && conditions.settings.len() > 1);
        }
    }

    #[test]
    fn the_experiments_that_are_everywhere_and_the_runtimes_that_are_named_are_told_apart() {
        let quick = Values::built_in(Size::Quick).unwrap().pipeline.policy;
        assert!(quick.is_for("lanes16", "may") && quick.is_for("hold8", "tokio"));
        assert!(!quick.is_for("hold8", "may"));
        let full = Values::built_in(Size::Full).unwrap().pipeline.policy;
        assert!(
            full.is_for("fifo16", "may") && full.is_for("hold8", "threads") && !full.is_for("hold8", "may")
        );
        // Each policy is an experiment of its own.
        let names: Vec<String> = Policy::ALL.iter().map(|(name, _)| format!("pipeline.{name}")).collect();
        assert_eq!(Experiment::select(&names).unwrap().len(), Policy::ALL.len());
    }
}
