//! Who takes part: the runners that were found, and the variants of them that were asked for.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cell_control::{Discovery, Problem, Runner, Subject, describe, discover};
use cell_protocol::{Ability, Description, VariantDescription};
use rustix::process::{Resource, getrlimit};
use workload::BlockingStrategy;

use crate::exit::{Refused, usage};
use crate::place::Place;
use crate::suggest;

/// The runtime that does the work with no model around it. Reports show it first.
pub(crate) const FLOOR: &str = "floor";

/// Descriptors that the harness needs for itself: three pipes to each runner that is asked at one time, and some more.
const DESCRIPTORS_MIN: u64 = 64;

/// One variant of one runtime.
#[derive(Clone, Debug)]
pub(crate) struct Contestant {
    pub(crate) runner: PathBuf,
    pub(crate) runtime: String,
    pub(crate) variant: String,
    /// `tokio`, `tokio:current-thread`
    pub(crate) label: String,
    /// The most requests that the model itself lets run at one time.
    pub(crate) in_flight_limit: Option<u64>,
    pub(crate) thread_per_request: bool,
    /// The most threads that carry handlers out at one time; none where each request has its own.
    pub(crate) handler_threads: Option<u64>,
    /// The most threads to offload to where a cell does not say; none where it cannot offload.
    pub(crate) offload_threads: Option<usize>,
    pub(crate) place: Place,
    /// Whether it is the default variant of its runtime.
    pub(crate) is_default: bool,
    /// By what the command line chose it.
    pub(crate) chosen: Chosen,
    description: Description,
}

/// What the command line said of a contestant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// It named nobody, and so it is everybody.
    Nobody,
    /// It named the runtime.
    Runtime,
    /// It named this variant.
    Variant,
}

impl Contestant {
    fn new(
        runner: &Path,
        description: &Description,
        variant: &VariantDescription,
        place: &Place,
    ) -> Contestant {
        Contestant {
            runner: runner.to_owned(),
            runtime: description.runtime.clone(),
            variant: variant.name.clone(),
            label: description.label(&variant.name),
            in_flight_limit: variant.in_flight_limit,
            thread_per_request: variant.thread_per_request,
            handler_threads: variant.handler_threads,
            offload_threads: variant.offload_threads,
            place: place.clone(),
            is_default: description.default_variant().is_some_and(|default| default.name == variant.name),
            chosen: Chosen::Variant,
            description: description.clone(),
        }
    }

    /// Adds its variant to a description that does not have it: one that was named on the command line.
    pub(crate) fn add_to(&self, description: &mut Description) {
        if description.variant(&self.variant).is_none() {
            description.variants.extend(self.description.variant(&self.variant).cloned());
        }
    }

    /// Why it cannot carry blocking steps out so, where it cannot.
    pub(crate) fn refuses(&self, strategy: BlockingStrategy) -> Option<&str> {
        match strategy {
            BlockingStrategy::Inline => None,
            BlockingStrategy::Offload => self.refusal(Ability::Offload),
            BlockingStrategy::InPlace => self.refusal(Ability::InPlace),
        }
    }

    /// Why it cannot do this, where it cannot.
    pub(crate) fn refusal(&self, ability: Ability) -> Option<&str> {
        self.description.refusal(ability, &self.variant)
    }
}

/// The runners that were found.
#[derive(Debug)]
pub(crate) struct Field {
    directory: PathBuf,
    runners: Vec<Runner>,
    pub(crate) problems: Vec<Problem>,
    place: Place,
}

impl Field {
    /// Looks in `directory`, or beside this executable. Limits are asked for the workers of `place`.
    pub(crate) fn find(directory: Option<&Path>, place: Place) -> anyhow::Result<Field> {
        let directory = match directory {
            Some(directory) => directory.to_owned(),
            None => {
                let own = env::current_exe().context("cannot tell where this executable is")?;
                own.parent().context("this executable is in no directory")?.to_owned()
            }
        };
        enough_descriptors()?;
        if let Err(error) = std::fs::read_dir(&directory) {
            return Err(usage(format!("cannot look for runners in {}: {error}", directory.display())));
        }
        let Discovery { mut runners, problems } = discover(&directory);
        runners
            .sort_by_key(|runner| (runner.description.runtime != FLOOR, runner.description.runtime.clone()));
        Ok(Field { directory, runners, problems, place })
    }

    /// What each runner says of itself.
    pub(crate) fn descriptions(&self) -> impl Iterator<Item = &Description> {
        self.runners.iter().map(|runner| &runner.description)
    }

    /// The contestants that `names` stand for; all of them where there are no names.
    pub(crate) fn select(&self, names: &[String]) -> anyhow::Result<Vec<Contestant>> {
        if self.runners.is_empty() {
            return Err(self.nobody());
        }
        let all = self.runners.iter().map(|runner| runner.description.runtime.clone()).collect::<Vec<_>>();
        let of_runtime = if names.is_empty() { Chosen::Nobody } else { Chosen::Runtime };
        let names = if names.is_empty() { &all } else { names };
        let mut chosen: Vec<Contestant> = Vec::new();
        for name in names {
            let found = match name.split_once(':') {
                Some(_) => vec![self.one(name)?],
                None => self.every_variant(name, of_runtime)?,
            };
            for contestant in found {
                match chosen.iter_mut().find(|known| known.label == contestant.label) {
                    Some(known) if contestant.chosen == Chosen::Variant => known.chosen = Chosen::Variant,
                    Some(_) => {}
                    None => chosen.push(contestant),
                }
            }
        }
        Ok(chosen)
    }

    /// The floor, where its runner is there.
    pub(crate) fn floor(&self) -> Option<Contestant> {
        self.one(FLOOR).ok()
    }

    /// The one contestant of this label; a bare runtime is its default variant.
    pub(crate) fn one(&self, label: &str) -> anyhow::Result<Contestant> {
        let (runtime, variant) = match label.split_once(':') {
            Some((runtime, variant)) => (runtime, Some(variant)),
            None => (label, None),
        };
        let runner = self.runner(runtime)?;
        let listed = &runner.description;
        let variant = match (variant, listed.default_variant()) {
            (Some(variant), _) => variant.to_owned(),
            (None, Some(default)) => default.name.clone(),
            (None, None) => return Err(usage(format!("runtime {runtime:?} has no variant"))),
        };
        // Asked again: the limit of a variant may depend on the workers, and `pool=50` is in no list.
        let description = self.ask(runner, Some(&variant)).map_err(|reason| {
            let known = listed.variants.iter().map(|variant| variant.name.as_str());
            let hint = suggest::hint(&variant, known);
            usage(format!("runtime {runtime:?} has no variant {variant:?}; {hint} ({reason})"))
        })?;
        match description.variant(&variant) {
            Some(found) => Ok(Contestant::new(&runner.path, &description, found, &self.place)),
            None => Err(usage(format!("runtime {runtime:?} does not describe its variant {variant:?}"))),
        }
    }

    fn every_variant(&self, runtime: &str, chosen: Chosen) -> anyhow::Result<Vec<Contestant>> {
        let runner = self.runner(runtime)?;
        let description = self
            .ask(runner, None)
            .map_err(|reason| anyhow::anyhow!("runtime {runtime:?} no longer describes itself: {reason}"))?;
        let contestant = |variant| Contestant {
            chosen,
            ..Contestant::new(&runner.path, &description, variant, &self.place)
        };
        Ok(description.variants.iter().map(contestant).collect())
    }

    fn ask(&self, runner: &Runner, variant: Option<&str>) -> Result<Description, String> {
        describe(&runner.path, &Subject { variant, workers: Some(self.place.workers) })
    }

    fn runner(&self, runtime: &str) -> anyhow::Result<&Runner> {
        if let Some(runner) = self.runners.iter().find(|runner| runner.description.runtime == runtime) {
            return Ok(runner);
        }
        let file = format!("runtime-{runtime}");
        if let Some(problem) = self.problems.iter().find(|problem| problem.path.ends_with(&file)) {
            return Err(usage(format!("runtime {runtime:?} cannot be used: {}", problem.reason)));
        }
        if self.runners.is_empty() {
            return Err(self.nobody());
        }
        let known = self.runners.iter().map(|runner| runner.description.runtime.as_str());
        Err(usage(format!("unknown runtime {runtime:?}; {}", suggest::hint(runtime, known))))
    }

    fn nobody(&self) -> anyhow::Error {
        let at = self.directory.display();
        match self.problems.first() {
            Some(problem) => usage(format!(
                "no usable runner in {at}: {}: {}; build them with `cargo build --release`",
                problem.path.file_name().unwrap_or(problem.path.as_os_str()).display(),
                problem.reason
            )),
            None => {
                usage(format!("no runner in {at}; build them with `cargo build --release -p 'runtime-*'`"))
            }
        }
    }
}

/// A limit that is too low even for talking to runners is said once, and not as the failure of whatever meets it first.
fn enough_descriptors() -> anyhow::Result<()> {
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < DESCRIPTORS_MIN => Err(Refused(format!(
            "RLIMIT_NOFILE is {limit}, and the harness needs {DESCRIPTORS_MIN} to talk to runners; raise it with `ulimit -n`"
        ))
        .into()),
        _ => Ok(()),
    }
}

/// The contestants of a description, for tests that need no runner.
#[cfg(test)]
pub(crate) fn all_of(description: &Description) -> Vec<Contestant> {
    let place = Place { workers: 2, ..Place::default() };
    let contestant = |variant| Contestant {
        chosen: Chosen::Nobody,
        ..Contestant::new(Path::new("/nowhere"), description, variant, &place)
    };
    description.variants.iter().map(contestant).collect()
}
