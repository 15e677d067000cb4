//! The values of every experiment: what is compiled in, under what a file says, under what a command line says.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use schemars::JsonSchema;
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
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    /// The noise floor: a cell measured as if it were two.
    pub(crate) aa: Aa,
    /// What do the innocent feel when a handler keeps its thread?
    pub(crate) blocking: Blocking,
    /// How many requests can wait at once, how fast do they finish, and what ends it?
    pub(crate) capacity: Capacity,
    /// What does one more cost?
    pub(crate) memory: Memory,
    /// What do batches buy, and what do they cost those who wait?
    pub(crate) pipeline: Pipelines,
    /// What does the model itself cost?
    pub(crate) throughput: Throughput,
    /// The limits of the server in every HTTP cell.
    pub(crate) server: Server,
    /// What a cell costs beside its bound, for the estimate of `--dry-run` alone.
    pub(crate) estimate: Costs,
    /// What the files say, in this size: each experiment by its name, and the tables that all share by theirs.
    #[serde(skip)]
    stated: BTreeMap<String, serde_json::Value>,
}

/// The limits of the server in every HTTP cell.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    /// Connections that the kernel keeps before they are accepted.
    #[serde(with = "bounds::SmallCount")]
    pub(crate) backlog: u32,
    /// What is above it is refused.
    #[serde(with = "bounds::Count")]
    pub(crate) in_flight_limit: u64,
    /// Connections that are open at one time.
    #[serde(with = "bounds::Count")]
    pub(crate) connections_max: u64,
    /// A connection that sends nothing for so long is closed.
    #[serde(with = "bounds::Time")]
    pub(crate) idle_timeout: Duration,
    /// How long a request may take to arrive.
    #[serde(with = "bounds::Time")]
    pub(crate) request_timeout: Duration,
}

/// What a cell costs beside its bound, for the estimate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Costs {
    /// Starting and ending a process, and everything around it.
    #[serde(with = "bounds::Time")]
    pub(crate) process: Duration,
    /// Dispatching one request, on the slowest model.
    #[serde(with = "bounds::Time")]
    pub(crate) request: Duration,
    /// Starting the client's processes, over HTTP.
    #[serde(with = "bounds::Time")]
    pub(crate) client: Duration,
    /// Looking at the memory of a process and at that of the kernel.
    #[serde(with = "bounds::Time")]
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
        let of = |size| {
            let mut tables = tables.clone();
            choose(&mut tables, size, &origin)?;
            read(tables, &origin)
        };
        for other in Size::ALL.into_iter().filter(|other| *other != size) {
            of(other)?;
        }
        of(size)
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
        choose(&mut tables, size, &origin)?;
        let Some(own) = sized(&mut tables, experiment.family(), experiment.table()) else {
            return Err(usage(format!("{origin}: there is no table [{}]", experiment.name())));
        };
        for pair in given {
            give(own, pair, experiment)?;
        }
        // Until here the file's own mistakes were not looked for; now both are, and the last word was the command line's.
        let origin = if given.is_empty() { origin } else { given.join(" ") };
        read(tables, &origin)
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

/// The tables that are compiled in, of both sizes.
pub(super) fn built_in() -> anyhow::Result<Table> {
    let mut tables = Table::new();
    for (name, text) in BUILT_IN {
        merge(&mut tables, text.parse().with_context(|| format!("{name} is compiled in"))?);
    }
    Ok(tables)
}

/// All tables, with those of `file` over the ones that are compiled in, and where they come from.
fn tables(file: Option<&Path>) -> anyhow::Result<(Table, String)> {
    let mut tables = built_in()?;
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

/// Keeps one of each experiment's two sizes, in the place of both.
fn choose(tables: &mut Table, size: Size, origin: &str) -> anyhow::Result<()> {
    for (family, name) in Experiment::tables() {
        let Some(own) = sized(tables, family, name) else { continue };
        if let Some(key) = own.keys().find(|key| Size::ALL.iter().all(|size| size.name() != *key)) {
            let table = format!("[{family}.{name}");
            return Err(usage(format!(
                "{origin}: {family}.{name}: {key:?} is no size; what is said of one stands in {table}.quick] or {table}.full]"
            )));
        }
        if let Some(Value::Table(chosen)) = own.remove(size.name()) {
            *own = chosen;
        }
    }
    Ok(())
}

fn sized<'t>(tables: &'t mut Table, family: &str, name: &str) -> Option<&'t mut Table> {
    tables.get_mut(family)?.as_table_mut()?.get_mut(name)?.as_table_mut()
}

fn read(mut tables: Table, origin: &str) -> anyhow::Result<Values> {
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
        if let Some(own) = sized(tables, experiment.family(), experiment.table()) {
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
mod tests;
