//! Whether a runner names the version of its library that its manifest pins.

use cell_protocol::Description;

/// Holds what a runner says of its library against its crate's manifest. A library that is not among
/// the dependencies, such as the standard one, has no pin.
///
/// # Errors
///
/// Says what the manifest has and what the runner says.
pub fn check_pin(manifest: &str, description: &Description) -> Result<(), String> {
    let manifest: toml::Table =
        manifest.parse().map_err(|error| format!("the manifest cannot be read: {error}"))?;
    let library = &description.library;
    let Some(dependency) = manifest.get("dependencies").and_then(|table| table.get(library)) else {
        return Ok(());
    };
    let version = dependency.as_str().or_else(|| dependency.get("version")?.as_str()).unwrap_or_default();
    let Some(pin) = version.strip_prefix('=') else {
        return Err(format!("the manifest does not pin {library} with =, but has {version:?}"));
    };
    if pin.trim() != description.library_version {
        return Err(format!(
            "the manifest pins {library} {}, and the runner says {}",
            pin.trim(),
            description.library_version
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use cell_protocol::{PROTOCOL, REVISION};

    use super::*;

    #[test]
    fn a_version_is_held_against_its_pin() {
        let description = Description {
            protocol: PROTOCOL,
            revision: REVISION.into(),
            runtime: "made".into(),
            library: "made-up".into(),
            library_version: "1.2.3".into(),
            execution_model: String::new(),
            suspends_by: String::new(),
            variants: vec![],
            refusals: vec![],
        };
        let check = |dependency: &str| check_pin(&format!("[dependencies]\n{dependency}"), &description);
        assert_eq!(check("made-up = \"=1.2.3\""), Ok(()));
        assert_eq!(check("made-up = { version = \"=1.2.3\", features = [\"x\"] }"), Ok(()));
        assert_eq!(check("other = \"1\""), Ok(()));
        assert!(check("made-up = \"=1.2.4\"").unwrap_err().contains("pins made-up 1.2.4"));
        assert!(check("made-up = \"1.2.3\"").unwrap_err().contains("does not pin"));
        assert!(check("made-up.workspace = true").unwrap_err().contains("does not pin"));
    }
}
