//! Where figures are kept: Criterion's own directory, with a reason beside them for what is refused.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde_json::json;
use workload::Primitive;

/// The directory of figures: what `CRITERION_HOME` says, or `criterion` in the build directory.
pub(crate) fn home() -> PathBuf {
    if let Some(home) = env::var_os("CRITERION_HOME") {
        return home.into();
    }
    if let Some(target) = env::var_os("CARGO_TARGET_DIR") {
        return Path::new(&target).join("criterion");
    }
    // A bench is in <build directory>/<profile>/deps.
    let executable = env::current_exe().unwrap_or_default();
    executable.ancestors().nth(3).map_or_else(|| "target".into(), Path::to_owned).join("criterion")
}

/// Records that a runtime has no such primitive, in the place of figures that it may have had before.
pub(crate) fn refusal(home: &Path, runtime: &str, primitive: Primitive, reason: &str) -> io::Result<()> {
    let directory = home.join(runtime).join(primitive.id());
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&directory)?,
    }
    let text = json!({ "runtime": runtime, "primitive": primitive.id(), "reason": reason });
    fs::write(directory.join("refused.json"), format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_takes_the_place_of_figures() {
        let home = tempfile::tempdir().expect("a directory");
        let figures = home.path().join("x/offload/new/estimates.json");
        fs::create_dir_all(figures.parent().expect("it has one")).expect("it can be made");
        fs::write(&figures, "{}").expect("it can be written");
        refusal(home.path(), "x", Primitive::Offload, "there is no pool").expect("it can be recorded");
        assert!(!figures.exists());
        let text = fs::read_to_string(home.path().join("x/offload/refused.json")).expect("it is there");
        assert!(text.contains("there is no pool"), "{text}");
    }
}
