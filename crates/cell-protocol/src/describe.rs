//! What a runner says of itself: its library, its variants, and what it can and cannot do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The one line that `runtime-x describe` prints. `--variant NAME` adds a variant that is not listed,
/// such as `pool=50`, and `--workers N` says for how many workers the limits are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Description {
    /// The version of the protocol, [`PROTOCOL`](crate::PROTOCOL).
    pub protocol: u32,
    /// The git revision of the build, [`REVISION`](crate::REVISION).
    pub revision: String,
    /// The name of the runtime, `tokio`.
    pub runtime: String,
    /// The library that carries the model out, `tokio`.
    pub library: String,
    /// The version of that library.
    pub library_version: String,
    /// The execution model in words, `event loop`.
    pub execution_model: String,
    /// How a request that waits gives up its core, `the task yields to the event loop`.
    pub suspends_by: String,
    /// The variants that are worth a row each, the default one first.
    pub variants: Vec<VariantDescription>,
    /// What this runtime cannot do, for all of its variants or for one.
    pub refusals: Vec<Refusal>,
}

/// One configuration of a runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariantDescription {
    /// The name, `current-thread`.
    pub name: String,
    /// What it is, in one line.
    pub summary: String,
    /// The most requests that the model itself lets run at one time, such as the size of a pool.
    /// `None` where nothing in the model limits them.
    pub in_flight_limit: Option<u64>,
    /// Whether each request in service has an OS thread to itself, so that threads grow with requests.
    pub thread_per_request: bool,
    /// The most threads that carry handlers out at one time. `None` where each request has a thread of its own.
    #[serde(default)]
    pub handler_threads: Option<u64>,
    /// The most threads that blocking steps are offloaded to where a cell does not say. `None` where they cannot be
    /// offloaded.
    #[serde(default)]
    pub offload_threads: Option<usize>,
}

/// Something that a runtime may or may not be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// Carry out requests dispatched in process.
    Handler,
    /// Serve requests over HTTP.
    Server,
    /// Send images through the batching pipeline.
    Pipeline,
    /// Run blocking steps on another pool.
    Offload,
    /// Block in place after handing the worker's other tasks away.
    InPlace,
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ability::Handler => "handler",
            Ability::Server => "server",
            Ability::Pipeline => "pipeline",
            Ability::Offload => "offload",
            Ability::InPlace => "in-place",
        })
    }
}

/// An ability that a runtime or a variant does not have, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// What is refused.
    pub ability: Ability,
    /// The variant that refuses it, or all of them.
    pub variant: Option<String>,
    /// The library's limitation, in words.
    pub reason: String,
}

impl Description {
    /// The variant that the runtime's bare name stands for.
    #[must_use]
    pub fn default_variant(&self) -> Option<&VariantDescription> {
        self.variants.first()
    }

    /// The name under which reports show a variant: `tokio` for the default one, `tokio:current-thread` for another.
    #[must_use]
    pub fn label(&self, variant: &str) -> String {
        match self.default_variant() {
            Some(default) if default.name == variant => self.runtime.clone(),
            _ => format!("{}:{variant}", self.runtime),
        }
    }

    /// What is said of `variant`, where it is described.
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<&VariantDescription> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Why `variant` cannot do `ability`, or nothing where it can.
    #[must_use]
    pub fn refusal(&self, ability: Ability, variant: &str) -> Option<&str> {
        self.refusals
            .iter()
            .find(|refusal| {
                refusal.ability == ability
                    && refusal.variant.as_deref().is_none_or(|refusing| refusing == variant)
            })
            .map(|refusal| refusal.reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_refusals_follow_the_variant() {
        let variant = |name: &str| VariantDescription {
            name: name.into(),
            summary: String::new(),
            in_flight_limit: None,
            thread_per_request: false,
            handler_threads: None,
            offload_threads: None,
        };
        let description = Description {
            protocol: 1,
            revision: "r".into(),
            runtime: "tokio".into(),
            library: "tokio".into(),
            library_version: "1".into(),
            execution_model: "event loop".into(),
            suspends_by: "yielding".into(),
            variants: vec![variant("multi-thread"), variant("current-thread")],
            refusals: vec![Refusal {
                ability: Ability::InPlace,
                variant: Some("current-thread".into()),
                reason: "panics".into(),
            }],
        };
        assert_eq!(description.label("multi-thread"), "tokio");
        assert_eq!(description.label("current-thread"), "tokio:current-thread");
        assert_eq!(description.refusal(Ability::InPlace, "current-thread"), Some("panics"));
        assert_eq!(description.refusal(Ability::InPlace, "multi-thread"), None);
        assert_eq!(description.refusal(Ability::Server, "current-thread"), None);
    }
}
