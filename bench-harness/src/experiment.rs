//! The experiments and their values, from the file that states them.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use cell_protocol::Ability;
use serde::{Deserialize, Deserializer};
use workload::Plan;

use crate::exit::usage;
use crate::suggest;

const CAPACITY: &str = include_str!("../experiments/capacity.toml");

/// One experiment of the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Experiment {
    /// How fast do N waiting requests finish?
    Burst,
    /// How many requests can wait at once, in process?
    HoldTasks,
    /// How many requests can wait at once, over HTTP?
    Hold,
}

/// Which of an experiment's two sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Quick,
    Full,
}

/// The file `capacity.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Capacity {
    burst: Sizes<Burst>,
    hold_tasks: Sizes<Hold>,
    hold: Sizes<Hold>,
    pub(crate) server: Server,
    pub(crate) estimate: Costs,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sizes<T> {
    quick: T,
    full: T,
}

/// The values of `capacity.burst`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Burst {
    pub(crate) plan: Plan,
    pub(crate) requests: u64,
    /// Where the model limits, requests shrink until the bound is at most this.
    #[serde(deserialize_with = "duration")]
    pub(crate) bound_max: Duration,
    pub(crate) warm: Vec<bool>,
    pub(crate) repetitions: u32,
    #[serde(deserialize_with = "duration")]
    pub(crate) time_limit: Duration,
}

/// The values of `capacity.hold` and `capacity.hold-tasks`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hold {
    #[serde(deserialize_with = "duration")]
    pub(crate) wait: Duration,
    pub(crate) spread_share: f64,
    pub(crate) arrivals_per_s_max: f64,
    pub(crate) steps: Vec<u64>,
    pub(crate) common_step: u64,
    pub(crate) objective_waits: f64,
    /// None does not bisect.
    pub(crate) tolerance: Option<f64>,
    pub(crate) repetitions: u32,
}

/// The limits of the server in every HTTP cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    pub(crate) backlog: u32,
    pub(crate) in_flight_limit: u64,
    pub(crate) connections_max: u64,
    #[serde(deserialize_with = "duration")]
    pub(crate) idle_timeout: Duration,
    #[serde(deserialize_with = "duration")]
    pub(crate) request_timeout: Duration,
}

/// What a cell costs beside its bound, for the estimate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Costs {
    #[serde(deserialize_with = "duration")]
    pub(crate) process: Duration,
    #[serde(deserialize_with = "duration")]
    pub(crate) request: Duration,
    #[serde(deserialize_with = "duration")]
    pub(crate) client: Duration,
}

/// One step of a ramp: how many requests, and how they arrive and wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) requests: u64,
    pub(crate) wait: Duration,
    pub(crate) spread: Duration,
}

impl Experiment {
    pub(crate) const ALL: [Experiment; 3] = [Experiment::Burst, Experiment::HoldTasks, Experiment::Hold];

    /// The name in commands and rows.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Experiment::Burst => "capacity.burst",
            Experiment::HoldTasks => "capacity.hold-tasks",
            Experiment::Hold => "capacity.hold",
        }
    }

    /// What the experiment asks.
    pub(crate) const fn question(self) -> &'static str {
        match self {
            Experiment::Burst => "how fast do N waiting requests finish, in process?",
            Experiment::HoldTasks => "how many requests can wait at once, in process, and what ends it?",
            Experiment::Hold => "how many requests can wait at once, over HTTP, and what ends it?",
        }
    }

    /// What a runtime must be able to do.
    pub(crate) const fn ability(self) -> Ability {
        match self {
            Experiment::Burst | Experiment::HoldTasks => Ability::Handler,
            Experiment::Hold => Ability::Server,
        }
    }

    /// The experiments that `names` stand for, in their usual order: `capacity` is all that begin so.
    pub(crate) fn select(names: &[String]) -> anyhow::Result<Vec<Experiment>> {
        for name in names {
            if !Experiment::ALL.iter().any(|experiment| experiment.is_meant_by(name)) {
                let known = Experiment::ALL.iter().map(|experiment| experiment.name()).chain(["capacity"]);
                return Err(usage(format!("unknown experiment {name:?}; {}", suggest::hint(name, known))));
            }
        }
        let wanted = |experiment: &Experiment| {
            names.is_empty() || names.iter().any(|name| experiment.is_meant_by(name))
        };
        Ok(Experiment::ALL.into_iter().filter(wanted).collect())
    }

    fn is_meant_by(self, name: &str) -> bool {
        self.name() == name || self.name().split('.').next() == Some(name)
    }
}

impl Size {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Size::Quick => "quick",
            Size::Full => "full",
        }
    }
}

impl Capacity {
    /// The values that are compiled in, or those of `file`.
    pub(crate) fn load(file: Option<&Path>) -> anyhow::Result<Capacity> {
        let Some(file) = file else {
            return toml::from_str(CAPACITY).context("the experiments that are compiled in");
        };
        let text = std::fs::read_to_string(file)
            .map_err(|error| usage(format!("cannot read the experiments of {}: {error}", file.display())))?;
        toml::from_str(&text).map_err(|error| usage(format!("{}: {error}", file.display())))
    }

    pub(crate) fn burst(&self, size: Size) -> &Burst {
        self.burst.of(size)
    }

    /// The values of one of the two ramps.
    pub(crate) fn hold(&self, experiment: Experiment, size: Size) -> &Hold {
        match experiment {
            Experiment::Hold => self.hold.of(size),
            Experiment::HoldTasks | Experiment::Burst => self.hold_tasks.of(size),
        }
    }

    /// How often an experiment is repeated where the command line does not say.
    pub(crate) fn repetitions(&self, experiment: Experiment, size: Size) -> u32 {
        match experiment {
            Experiment::Burst => self.burst(size).repetitions,
            Experiment::HoldTasks | Experiment::Hold => self.hold(experiment, size).repetitions,
        }
    }
}

impl<T> Sizes<T> {
    fn of(&self, size: Size) -> &T {
        match size {
            Size::Quick => &self.quick,
            Size::Full => &self.full,
        }
    }
}

impl Burst {
    /// How many requests a model with this limit is offered: as many whole rounds as fit the bound.
    pub(crate) fn requests(&self, limit: Option<u64>) -> u64 {
        let wait_ns = self.plan.least_duration().as_nanos().max(1);
        let Some(limit) = limit else { return self.requests };
        let rounds = u64::try_from(self.bound_max.as_nanos() / wait_ns).unwrap_or(u64::MAX).max(1);
        self.requests.min(rounds.saturating_mul(limit.max(1)))
    }
}

impl Hold {
    /// The step of `requests`. Its wait and spread stretch where they would need too high an arrival rate.
    pub(crate) fn step(&self, requests: u64) -> Step {
        #[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
        let least_spread = Duration::from_secs_f64(requests as f64 / self.arrivals_per_s_max);
        let spread = self.wait.mul_f64(self.spread_share);
        if least_spread <= spread {
            return Step { requests, wait: self.wait, spread };
        }
        Step { requests, wait: least_spread.div_f64(self.spread_share), spread: least_spread }
    }

    /// The longest p99 response time with which a step is met.
    pub(crate) fn objective(&self, step: Step) -> Duration {
        step.wait.mul_f64(self.objective_waits)
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text).map_err(|error| {
        serde::de::Error::custom(format!("{text:?} is not a duration such as 100ms or 1m 30s: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_one_experiment_or_for_its_family() {
        let select = |names: &[&str]| {
            Experiment::select(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(select(&["capacity"]).unwrap(), Experiment::ALL);
        assert_eq!(select(&[]).unwrap(), Experiment::ALL);
        assert_eq!(
            select(&["capacity.hold", "capacity.burst"]).unwrap(),
            [Experiment::Burst, Experiment::Hold]
        );
        let error = select(&["capacity.bust"]).unwrap_err().to_string();
        assert_eq!(error, "unknown experiment \"capacity.bust\"; did you mean \"capacity.burst\"?");
    }

    #[test]
    fn a_burst_shrinks_until_its_bound_fits() {
        let capacity = Capacity::load(None).unwrap();
        let (quick, full) = (capacity.burst(Size::Quick), capacity.burst(Size::Full));
        assert_eq!(quick.requests(None), 10_000);
        assert_eq!(quick.requests(Some(200)), 2_000);
        assert_eq!(quick.requests(Some(2)), 20);
        assert_eq!(full.requests(Some(200)), 10_000);
        assert_eq!(full.requests(Some(100)), 6_000);
        assert_eq!(full.requests(Some(100_000)), 10_000);
    }

    #[test]
    fn a_large_step_stretches_its_wait_and_spread() {
        let capacity = Capacity::load(None).unwrap();
        let hold = capacity.hold(Experiment::HoldTasks, Size::Full);
        let wait = Duration::from_secs(1);
        let spread = Duration::from_millis(800);
        assert_eq!(hold.step(200_000), Step { requests: 200_000, wait, spread });
        let million = hold.step(1_000_000);
        assert_eq!((million.wait, million.spread), (Duration::from_secs(5), Duration::from_secs(4)));
        assert_eq!(hold.objective(million), Duration::from_millis(7_500));
    }

    #[test]
    fn a_wrong_file_is_named_with_what_is_wrong() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mine.toml");
        std::fs::write(&file, CAPACITY.replacen("bound_max = \"1s\"", "bound_max = \"soon\"", 1)).unwrap();
        let error = Capacity::load(Some(&file)).unwrap_err().to_string();
        assert!(error.contains("mine.toml") && error.contains("\"soon\" is not a duration"), "{error}");
        let error = Capacity::load(Some(&directory.path().join("none.toml"))).unwrap_err().to_string();
        assert!(error.contains("cannot read the experiments of"), "{error}");
    }
}
