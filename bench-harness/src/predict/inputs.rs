//! The inputs of a law: what a flag says, over what a file says, over what the study took.

use std::fmt::Display;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::exit::usage;
use crate::toml_file;

/// Reads the inputs of a file; where there is none, nothing is given.
///
/// # Errors
///
/// A usage error of one line where the file cannot be read, is no TOML, has a key that is none of the law's, or a value
/// that makes no sense.
pub(crate) fn given<T: DeserializeOwned + Default>(file: Option<&Path>) -> anyhow::Result<T> {
    let Some(file) = file else { return Ok(T::default()) };
    let table = toml_file::read(file, "the values")?;
    serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|error| {
        let path = match error.path().to_string() {
            path if path == "." => String::new(),
            path => format!("{path}: "),
        };
        usage(format!("{}: {path}{}", file.display(), toml_file::one_line(error.inner().message())))
    })
}

/// What an input is, and what the law takes where none is given.
pub(super) fn help(what: &[&str], default: &dyn Display) -> String {
    format!("{} [default: {default}]", what.concat().trim())
}

/// Makes a law's inputs from one list: `$flags`, in which each may be missing, and `$values`, in which none is.
macro_rules! inputs {
    (
        $flags:ident, $values:ident {
            $($(#[doc = $doc:literal])+ $input:ident: $kind:ty = $default:expr,)+
        }
    ) => {
        /// What a command line or a file may say.
        #[derive(Clone, Debug, Default, clap::Args, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $flags {
            $(
                $(#[doc = $doc])+
                #[arg(long, allow_hyphen_values = true, help = $crate::predict::inputs::help(&[$($doc),+], &$default))]
                $input: Option<$kind>,
            )+
        }

        /// What the law takes.
        #[derive(Clone, Debug, serde::Serialize)]
        struct $values {
            $($input: $kind,)+
        }

        impl $flags {
            fn over(self, file: $flags) -> $values {
                $values { $($input: self.$input.or(file.$input).unwrap_or_else(|| $default),)+ }
            }
        }
    };
}

pub(super) use inputs;
