//! The experiments: their names, what they ask, and what a runtime must be able to do for them. Their values are in
//! `experiments/*.toml`.

mod aa;
mod blocking;
mod bounds;
mod capacity;
mod memory;
mod pipeline;
mod schema;
mod throughput;
mod values;

use std::collections::BTreeSet;

use cell_protocol::Ability;

use crate::exit::usage;
use crate::suggest;

pub(crate) use blocking::{Beside, Blocker, Keeps, Pinning, Probe};
pub(crate) use capacity::{Hold, Step};
pub(crate) use memory::{Connections, LOOKS_MIN, Tasks};
pub(crate) use pipeline::{Named, Pipeline, Setting, configuration, stages};
pub(crate) use schema::schema_of_a_file;
pub(crate) use throughput::{Closed, Open};
pub(crate) use values::{Size, Values};

/// One experiment of the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Experiment {
    /// How fast do N waiting requests finish?
    Burst,
    /// How many requests can wait at once, in process?
    HoldTasks,
    /// How many requests can wait at once, over HTTP?
    Hold,
    /// What does the model itself cost, as fast as it goes?
    Closed,
    /// What does it cost at half of what the floor can do?
    Open,
    /// What does one more waiting request cost?
    Tasks,
    /// What does one more idle connection cost?
    Connections,
    /// What do the innocent feel when others block?
    Probe,
    /// What does a block keep?
    Pinning,
    /// Images one by one, by arrival.
    Fifo1,
    /// Images in batches, by arrival.
    Fifo16,
    /// Interactive images first, which flush the batch.
    Lanes16,
    /// Interactive images first, which join the next batch.
    Join,
    /// The device is held for an interactive image that is about to arrive; its batch is small.
    Hold8,
    /// The same with smaller batches.
    Hold4,
    /// What do batch sizes and limits do, beside their arithmetic?
    Sizing,
    /// What is left of a policy where costs vary, or where the loop computes?
    Conditions,
}

impl Experiment {
    pub(crate) const ALL: [Experiment; 17] = [
        Experiment::Burst,
        Experiment::HoldTasks,
        Experiment::Hold,
        Experiment::Tasks,
        Experiment::Connections,
        Experiment::Probe,
        Experiment::Pinning,
        Experiment::Closed,
        Experiment::Open,
        Experiment::Fifo1,
        Experiment::Fifo16,
        Experiment::Lanes16,
        Experiment::Join,
        Experiment::Hold8,
        Experiment::Hold4,
        Experiment::Sizing,
        Experiment::Conditions,
    ];

    /// The name in commands, rows and files of values: its family, a dot, and its own.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Experiment::Burst => "capacity.burst",
            Experiment::HoldTasks => "capacity.hold-tasks",
            Experiment::Hold => "capacity.hold",
            Experiment::Closed => "throughput.closed",
            Experiment::Open => "throughput.open",
            Experiment::Tasks => "memory.tasks",
            Experiment::Connections => "memory.connections",
            Experiment::Probe => "blocking.probe",
            Experiment::Pinning => "blocking.pinning",
            Experiment::Fifo1 => "pipeline.fifo1",
            Experiment::Fifo16 => "pipeline.fifo16",
            Experiment::Lanes16 => "pipeline.lanes16",
            Experiment::Join => "pipeline.join",
            Experiment::Hold8 => "pipeline.hold8",
            Experiment::Hold4 => "pipeline.hold4",
            Experiment::Sizing => "pipeline.sizing",
            Experiment::Conditions => "pipeline.conditions",
        }
    }

    /// What the experiment asks.
    pub(crate) const fn question(self) -> &'static str {
        match self {
            Experiment::Burst => "how fast do N waiting requests finish, in process?",
            Experiment::HoldTasks => "how many requests can wait at once, in process, and what ends it?",
            Experiment::Hold => "how many requests can wait at once, over HTTP, and what ends it?",
            Experiment::Closed => "what does the model itself cost, as fast as it goes?",
            Experiment::Open => "what does the model itself cost, at half of what the floor can do?",
            Experiment::Tasks => "what does one more waiting request cost, in process?",
            Experiment::Connections => "what does one more idle connection cost, that has served a request?",
            Experiment::Probe => "what do innocent requests feel when others keep their threads, over HTTP?",
            Experiment::Pinning => "how long do requests take that each keep a thread, in process?",
            Experiment::Fifo1 => "the pipeline, image by image: what does it do without batches?",
            Experiment::Fifo16 => {
                "the pipeline in batches by arrival: what do batches buy, and who waits for them?"
            }
            Experiment::Lanes16 => {
                "the same with interactive images first: how soon are they through, at what price?"
            }
            Experiment::Join => "the same, where they join the next batch, in slots of their own",
            Experiment::Hold8 => "the same, where the device is held for them and their batch is of up to 8",
            Experiment::Hold4 => "the same, with batches of up to 4",
            Experiment::Sizing => {
                "batch sizes, limits in flight and detectors: is the rate what arithmetic says?"
            }
            Experiment::Conditions => {
                "what is left of a policy where costs vary, where the loop computes, and alone?"
            }
        }
    }

    /// What a runtime must be able to do.
    pub(crate) const fn ability(self) -> Ability {
        match self {
            Experiment::Burst | Experiment::HoldTasks | Experiment::Tasks | Experiment::Pinning => {
                Ability::Handler
            }
            Experiment::Hold
            | Experiment::Closed
            | Experiment::Open
            | Experiment::Connections
            | Experiment::Probe => Ability::Server,
            Experiment::Fifo1
            | Experiment::Fifo16
            | Experiment::Lanes16
            | Experiment::Join
            | Experiment::Hold8
            | Experiment::Hold4
            | Experiment::Sizing
            | Experiment::Conditions => Ability::Pipeline,
        }
    }

    /// What a name such as `capacity` stands for.
    pub(crate) fn family(self) -> &'static str {
        self.name().split('.').next().unwrap_or_default()
    }

    /// The part of the name that is its own.
    pub(crate) fn own_name(self) -> &'static str {
        self.name().rsplit('.').next().unwrap_or_default()
    }

    /// The batching policy that it is of, where it is of one.
    pub(crate) fn policy(self) -> Option<Named> {
        (self.family() == "pipeline").then(|| Named::find(self.own_name())).flatten()
    }

    /// The table of its values, in the one of its family: the policies share theirs.
    pub(crate) fn table(self) -> &'static str {
        if self.policy().is_some() { "policy" } else { self.own_name() }
    }

    /// Every table that a file states in two sizes: the family, and the table in it.
    fn tables() -> BTreeSet<(&'static str, &'static str)> {
        Experiment::ALL.into_iter().map(|experiment| (experiment.family(), experiment.table())).collect()
    }

    /// The experiments that `names` stand for, in their usual order: `capacity` is all that begin so.
    pub(crate) fn select(names: &[String]) -> anyhow::Result<Vec<Experiment>> {
        for name in names {
            if !Experiment::ALL.iter().any(|experiment| experiment.is_meant_by(name)) {
                let known = Experiment::ALL.iter().flat_map(|one| [one.name(), one.family()]);
                return Err(usage(format!("unknown experiment {name:?}; {}", suggest::hint(name, known))));
            }
        }
        let wanted = |experiment: &Experiment| {
            names.is_empty() || names.iter().any(|name| experiment.is_meant_by(name))
        };
        Ok(Experiment::ALL.into_iter().filter(wanted).collect())
    }

    fn is_meant_by(self, name: &str) -> bool {
        self.name() == name || self.family() == name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_one_experiment_or_for_its_family() {
        let select = |names: &[&str]| {
            Experiment::select(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        let capacity = [Experiment::Burst, Experiment::HoldTasks, Experiment::Hold];
        assert_eq!(select(&["capacity"]).unwrap(), capacity);
        assert_eq!(select(&[]).unwrap(), Experiment::ALL);
        assert_eq!(
            select(&["capacity.hold", "capacity.burst"]).unwrap(),
            [Experiment::Burst, Experiment::Hold]
        );
        let error = select(&["capacity.bust"]).unwrap_err().to_string();
        assert_eq!(error, "unknown experiment \"capacity.bust\"; did you mean \"capacity.burst\"?");
    }
}
