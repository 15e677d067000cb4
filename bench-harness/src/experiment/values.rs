//! The values of every experiment: what is compiled in, under what a file says, under what a command line says.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;
use toml::{Table, Value};

use super::aa::Aa;
use super::blocking::Blocking;
use super::capacity::Capacity;
use super::memory::Memory;
use super::pipeline::{Pipeline, Pipelines};
use super::throughput::Throughput;
use super::{Experiment, bounds};
use crate::exit::usage;
use crate::{suggest, toml_file};

/// The files that are compiled in: each holds the tables of one family.
const BUILT_IN: [(&str, &str); 7] = [
    ("aa.toml", include_str!("../../experiments/aa.toml")),
    ("blocking.toml", include_str!("../../experiments/blocking.toml")),
    ("capacity.toml", include_str!("../../experiments/capacity.toml")),
    ("memory.toml", include_str!("../../experiments/memory.toml")),
    ("pipeline.toml", include_str!("../../experiments/pipeline.toml")),
    ("throughput.toml", include_str!("../../experiments/throughput.toml")),
    ("common.toml", include_str!("../../experiments/common.toml")),
];

/// Which of an experiment's two sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Quick,
    Full,
}

/// The values of every experiment, in one size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    pub(crate) aa: Aa,
    pub(crate) blocking: Blocking,
    pub(crate) capacity: Capacity,
    pub(crate) memory: Memory,
    pub(crate) pipeline: Pipelines,
    pub(crate) throughput: Throughput,
    pub(crate) server: Server,
    pub(crate) estimate: Costs,
    /// What the files say, in this size: each experiment by its name, and the tables that all share by theirs.
    #[serde(skip)]
    stated: BTreeMap<String, serde_json::Value>,
}

/// The limits of the server in every HTTP cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    #[serde(deserialize_with = "bounds::small_count")]
    pub(crate) backlog: u32,
    #[serde(deserialize_with = "bounds::count")]
    pub(crate) in_flight_limit: u64,
    #[serde(deserialize_with = "bounds::count")]
    pub(crate) connections_max: u64,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) idle_timeout: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) request_timeout: Duration,
}

/// What a cell costs beside its bound, for the estimate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Costs {
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) process: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) request: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) client: Duration,
    #[serde(deserialize_with = "bounds::duration")]
    pub(crate) look: Duration,
}

impl Size {
    pub(crate) const ALL: [Size; 2] = [Size::Quick, Size::Full];

    /// The size that the flag `--quick` asks for.
    pub(crate) const fn of(quick: bool) -> Size {
        if quick { Size::Quick } else { Size::Full }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Size::Quick => "quick",
            Size::Full => "full",
        }
    }
}

impl Values {
    /// The values that are compiled in, with those of `file` in their place where it has any.
    ///
    /// # Errors
    ///
    /// A usage error where the file cannot be read, or a value of either size makes no sense.
    pub(crate) fn load(file: Option<&Path>, size: Size) -> anyhow::Result<Values> {
        let (tables, origin) = tables(file)?;
        for other in Size::ALL.into_iter().filter(|other| *other != size) {
            read(tables.clone(), other, &origin)?;
        }
        read(tables, size, &origin)
    }

    /// As [`load`](Values::load), with values of one experiment that were given as KEY=VALUE.
    ///
    /// # Errors
    ///
    /// Moreover, a usage error for a key that the experiment does not have and for a value that makes no sense.
    pub(crate) fn with_given(
        file: Option<&Path>,
        size: Size,
        experiment: Experiment,
        given: &[String],
    ) -> anyhow::Result<Values> {
        let (mut tables, origin) = tables(file)?;
        choose(&mut tables, size);
        let Some(own) = of_experiment(&mut tables, experiment) else {
            return Err(usage(format!("{origin}: there is no table [{}]", experiment.name())));
        };
        for pair in given {
            give(own, pair, experiment)?;
        }
        // Until here the file's own mistakes were not looked for; now both are, and the last word was the command line's.
        let origin = if given.is_empty() { origin } else { given.join(" ") };
        read(tables, size, &origin)
    }

    /// The values that are compiled in.
    #[cfg(test)]
    pub(crate) fn built_in(size: Size) -> anyhow::Result<Values> {
        Values::load(None, size)
    }

    /// The definition of experiments: what the files say of each, and of the server that all share. How often a cell is
    /// repeated is no part of what it is, nor is what it is estimated to cost.
    pub(crate) fn definition(&self, names: &[&str]) -> BTreeMap<String, serde_json::Value> {
        let mut stated = self.stated.clone();
        stated.retain(|name, _| name == "server" || names.contains(&name.as_str()));
        for table in stated.values_mut().filter_map(serde_json::Value::as_object_mut) {
            table.remove("repetitions");
        }
        stated
    }

    /// How often an experiment is repeated where the command line does not say.
    pub(crate) fn repetitions(&self, experiment: Experiment) -> u32 {
        match experiment {
            Experiment::Burst => self.capacity.burst.repetitions,
            Experiment::HoldTasks => self.capacity.hold_tasks.repetitions,
            Experiment::Hold => self.capacity.hold.repetitions,
            Experiment::Closed => self.throughput.closed.repetitions,
            Experiment::Open => self.throughput.open.repetitions,
            Experiment::Tasks => self.memory.tasks.repetitions,
            Experiment::Connections => self.memory.connections.repetitions,
            Experiment::Probe => self.blocking.probe.repetitions,
            Experiment::Pinning => self.blocking.pinning.repetitions,
            Experiment::Fifo1
            | Experiment::Fifo16
            | Experiment::Lanes16
            | Experiment::Join
            | Experiment::Hold8
            | Experiment::Hold4
            | Experiment::Sizing
            | Experiment::Conditions => self.pipeline(experiment).repetitions,
        }
    }

    /// The values of a pipeline experiment.
    pub(crate) fn pipeline(&self, experiment: Experiment) -> &Pipeline {
        match experiment {
            Experiment::Sizing => &self.pipeline.sizing,
            Experiment::Conditions => &self.pipeline.conditions,
            _ => &self.pipeline.policy,
        }
    }
}

/// All tables, with those of `file` over the ones that are compiled in, and where they come from.
fn tables(file: Option<&Path>) -> anyhow::Result<(Table, String)> {
    let mut tables = Table::new();
    for (name, text) in BUILT_IN {
        merge(&mut tables, text.parse().with_context(|| format!("{name} is compiled in"))?);
    }
    let Some(file) = file else { return Ok((tables, "the experiments that are compiled in".to_owned())) };
    let origin = file.display().to_string();
    let own = toml_file::read(file, "the experiments")?;
    merge(&mut tables, own);
    Ok((tables, origin))
}

/// Puts what `over` says in the place of what `under` says, table by table.
fn merge(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// Keeps one of an experiment's two sizes, in the place of both.
fn choose(tables: &mut Table, size: Size) {
    for experiment in Experiment::ALL {
        if let Some(own) = of_experiment(tables, experiment)
            && let Some(Value::Table(chosen)) = own.remove(size.name())
        {
            Size::ALL.iter().for_each(|size| drop(own.remove(size.name())));
            merge(own, chosen);
        }
    }
}

fn of_experiment(tables: &mut Table, experiment: Experiment) -> Option<&mut Table> {
    tables.get_mut(experiment.family())?.as_table_mut()?.get_mut(experiment.table())?.as_table_mut()
}

fn read(mut tables: Table, size: Size, origin: &str) -> anyhow::Result<Values> {
    choose(&mut tables, size);
    let stated = stated(&mut tables);
    let values: Values = serde_path_to_error::deserialize(Value::Table(tables)).map_err(|error| {
        let path = error.path().to_string();
        usage(format!("{origin}: {path}: {}", toml_file::one_line(error.inner().message())))
    })?;
    Ok(Values { stated, ..values })
}

fn stated(tables: &mut Table) -> BTreeMap<String, serde_json::Value> {
    let mut stated = BTreeMap::new();
    for shared in ["aa", "server"] {
        if let Some(table) = tables.get(shared) {
            stated.insert(shared.to_owned(), serde_json::json!(table));
        }
    }
    for experiment in Experiment::ALL {
        if let Some(own) = of_experiment(tables, experiment) {
            stated.insert(experiment.name().to_owned(), serde_json::json!(own));
        }
    }
    stated
}

/// Takes KEY=VALUE as the experiment's own value, read as what stands there already is.
fn give(own: &mut Table, pair: &str, experiment: Experiment) -> anyhow::Result<()> {
    let Some((key, text)) = pair.split_once('=') else {
        return Err(usage(format!("{pair:?} is not KEY=VALUE, such as repetitions=2")));
    };
    let Some(place) = own.get_mut(key) else {
        let hint = suggest::hint(key, own.keys().map(String::as_str));
        return Err(usage(format!("{} has no value {key:?}; {hint}", experiment.name())));
    };
    *place =
        like(place, text).ok_or_else(|| usage(format!("{pair}: write it as {key}={}", example(place))))?;
    Ok(())
}

/// `text` as a value of the kind of `model`; a list is written with commas.
fn like(model: &Value, text: &str) -> Option<Value> {
    match model {
        Value::String(_) => Some(Value::String(text.to_owned())),
        Value::Integer(_) => text.replace('_', "").parse().ok().map(Value::Integer),
        Value::Float(_) => text.parse().ok().map(Value::Float),
        Value::Boolean(_) => text.parse().ok().map(Value::Boolean),
        Value::Array(models) => {
            let model = models.first()?;
            text.split(',').map(|text| like(model, text)).collect::<Option<Vec<_>>>().map(Value::Array)
        }
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

fn example(model: &Value) -> String {
    match model {
        Value::String(text) => text.clone(),
        Value::Array(models) => models.iter().map(example).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> anyhow::Result<Values> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mine.toml");
        std::fs::write(&file, text).unwrap();
        Values::load(Some(&file), Size::Quick)
    }

    #[test]
    fn a_file_changes_what_it_says_and_no_more() {
        let values = load("[capacity.burst.quick]\nrequests = 7\n").unwrap();
        assert_eq!(values.capacity.burst.requests, 7);
        assert_eq!(values.capacity.burst.plan.to_string(), "wait=100ms");
        assert_eq!(values.capacity.hold.steps, [500, 1_000, 2_000]);
        // What it is defined by is what was read, in the size that was asked for.
        let definition = values.definition(&["capacity.burst"]);
        assert_eq!(definition.keys().collect::<Vec<_>>(), ["capacity.burst", "server"]);
        let burst = &definition["capacity.burst"];
        assert_eq!((&burst["requests"], &burst["plan"]), (&7.into(), &"wait=100ms".into()));
        assert_eq!((burst.get("repetitions"), burst.get("full")), (None, None));
    }

    #[test]
    fn the_long_file_differs_from_the_full_size_in_length() {
        let long = load(include_str!("../../experiments/long.toml")).unwrap();
        let quick = Values::built_in(Size::Quick).unwrap();
        assert_eq!(long.capacity.hold.steps, quick.capacity.hold.steps);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("long.toml");
        std::fs::write(&file, include_str!("../../experiments/long.toml")).unwrap();
        let long = Values::load(Some(&file), Size::Full).unwrap();
        // What p99.9 takes.
        let probe = &long.blocking.probe;
        assert!(probe.probes_per_s * probe.duration.as_secs_f64() > 10_000.0);
        assert!(long.capacity.hold_tasks.steps.contains(&2_000_000));
    }

    #[test]
    fn a_value_out_of_range_is_named_in_one_line() {
        let cases = [
            ("burst.quick]\nbound_max = \"soon\"", "capacity.burst.bound_max: \"soon\" is not a duration"),
            ("burst.full]\nrequests = 0", "capacity.burst.requests: 0 is not a whole number from 1"),
            ("burst.quick]\nrequests = -1", "-1 is not a whole number"),
            ("burst.quick]\nwarm = []", "capacity.burst.warm: an empty list"),
            ("burst.quick]\ntime_limit = \"0s\"", "is not a duration above 0"),
            ("hold.quick]\nspread_share = nan", "capacity.hold.spread_share: NaN is not a number above 0"),
            ("hold.quick]\narrivals_per_s_max = 1e300", "is not a number above 0 and up to"),
            ("hold-tasks.full]\nsteps = [100, 0]", "capacity.hold-tasks.steps"),
            ("burst.quick]\nplan = \"sleep=1s\"", "the steps are wait"),
            ("burst.quick]\nrequest = 5", "unknown field `request`"),
        ];
        for (text, expected) in cases {
            let error = load(&format!("[capacity.{text}\n")).unwrap_err().to_string();
            assert!(error.contains("mine.toml: ") && error.contains(expected), "{text}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let error = load("[capacity.burst.quick]\nrequests = = 5\n").unwrap_err().to_string();
        assert!(error.contains("mine.toml, line 2: "), "{error}");
        let error = Values::load(Some(Path::new("/nowhere.toml")), Size::Full).unwrap_err().to_string();
        assert!(error.contains("cannot read the experiments of /nowhere.toml"), "{error}");
    }

    fn given(pairs: &[&str]) -> anyhow::Result<Values> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        Values::with_given(None, Size::Quick, Experiment::Burst, &pairs)
    }

    #[test]
    fn pairs_are_read_as_the_file_would_be() {
        let values = given(&["requests=2_000", "plan=wait=5ms", "warm=true"]).unwrap();
        let burst = values.capacity.burst;
        assert_eq!(
            (burst.requests, burst.warm, burst.plan.to_string()),
            (2_000, vec![true], "wait=5ms".into())
        );
        let error = |pairs: &[&str]| given(pairs).unwrap_err().to_string();
        assert_eq!(
            error(&["request=5"]),
            "capacity.burst has no value \"request\"; did you mean \"requests\"?"
        );
        assert!(
            error(&["requests=0"]).contains("requests=0: capacity.burst.requests: 0 is not a whole number")
        );
        assert!(error(&["requests=many"]).contains("requests=many: write it as requests=10000"));
        assert!(error(&["plan=sleep=1s"]).contains("the steps are wait"));
        assert!(error(&["fast"]).contains("is not KEY=VALUE"));
    }
}
