//! The variant that a name stands for.

use execution_model::{Runtime, VariantInfo};

use crate::ending::usage;

/// The variant of exactly this name. A name that is written otherwise than in rows would make two of one.
pub(crate) fn variant<R: Runtime>(name: &str, workers: usize) -> anyhow::Result<(R::Variant, VariantInfo)> {
    let variant = R::parse_variant(name).map_err(usage)?;
    let info = R::describe(&variant, workers);
    if info.name == name {
        Ok((variant, info))
    } else {
        Err(usage(format!("unknown variant {name:?}; it is written {}", info.name)))
    }
}

/// The variant of this name, or the runtime's first where none is named.
pub(crate) fn variant_or_first<R: Runtime>(
    name: Option<&str>,
    workers: usize,
) -> anyhow::Result<(R::Variant, VariantInfo)> {
    if let Some(name) = name {
        return variant::<R>(name, workers);
    }
    let first = R::variants().swap_remove(0);
    let info = R::describe(&first, workers);
    Ok((first, info))
}
