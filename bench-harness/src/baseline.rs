//! Named baselines: runs that later ones are held against. A baseline is a directory with the run's record and its rows,
//! and can be compared with as any run can.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;

use crate::exit::usage;
use crate::{store, suggest};

/// The name of a baseline: one that is a directory's on any system, and no path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(String);

const LENGTH_MOST: usize = 64;

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Name, String> {
        let is_allowed =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "._-".contains(letter);
        let begins = text.starts_with(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit());
        if begins && text.len() <= LENGTH_MOST && text.chars().all(is_allowed) {
            Ok(Name(text.to_owned()))
        } else {
            Err(format!(
                "a name has up to {LENGTH_MOST} of the characters a-z, 0-9, '.', '_' and '-', and begins with a letter or a \
                 digit"
            ))
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where baselines are kept.
#[derive(Clone, Debug)]
pub(crate) struct Baselines {
    directory: PathBuf,
}

/// The directory of baselines beside the directory of a run.
const DIRECTORY: &str = "baselines";

impl Baselines {
    /// The directory that was given, or the one beside the directory of a run.
    pub(crate) fn of(given: Option<&Path>, run: &Path) -> anyhow::Result<Baselines> {
        if let Some(given) = given {
            return Ok(Baselines { directory: given.to_owned() });
        }
        let whole = std::path::absolute(run).with_context(|| format!("cannot find {}", run.display()))?;
        let is_near = run.parent().is_some_and(|parent| parent != Path::new(""));
        // As the user wrote it, where that says enough.
        let parent = if is_near { run.parent() } else { whole.parent() };
        Ok(Baselines { directory: parent.unwrap_or(Path::new("/")).join(DIRECTORY) })
    }

    /// The directory of a baseline that is there.
    ///
    /// # Errors
    ///
    /// A usage error where there is none of this name.
    pub(crate) fn find(&self, name: &Name) -> anyhow::Result<PathBuf> {
        let path = self.directory.join(&name.0);
        if path.is_dir() {
            return Ok(path);
        }
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name.parse::<Name>().is_ok());
        names.sort_unstable();
        let hint = suggest::hint(&name.0, names.iter().map(String::as_str));
        Err(usage(format!(
            "there is no baseline {:?} in {}; {hint}; run --save-baseline makes one, and --baselines names another directory",
            name.0,
            self.directory.display()
        )))
    }

    /// Keeps a run under a name. Returns where, and when the run was started that it takes the place of.
    pub(crate) fn save(&self, name: &Name, run: &Path) -> anyhow::Result<(PathBuf, Option<String>)> {
        let path = self.directory.join(&name.0);
        let [new, old] = ["new", "old"].map(|what| self.directory.join(format!(".{name}.{what}")));
        let cannot = || format!("cannot save the baseline {}", path.display());
        let remove = |path: &Path| if path.exists() { fs::remove_dir_all(path) } else { Ok(()) };
        // Of a harness that was killed.
        remove(&new).and_then(|()| remove(&old)).with_context(cannot)?;
        fs::create_dir_all(&new).with_context(cannot)?;
        store::copy(run, &new).with_context(cannot)?;
        let replaced = path.exists().then(|| match store::read(&path) {
            Ok((run, _)) => run.started_at,
            Err(_) => "no run".to_owned(),
        });
        // Whenever it ends, one of the two is there whole.
        if replaced.is_some() {
            fs::rename(&path, &old).with_context(cannot)?;
        }
        fs::rename(&new, &path).with_context(cannot)?;
        remove(&old).with_context(cannot)?;
        Ok((path, replaced))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Run;
    use crate::store::Store;

    fn run(directory: &Path, started_at: &str) -> PathBuf {
        let record = Run { format: crate::row::FORMAT, started_at: started_at.to_owned(), ..Run::default() };
        let out = directory.join(started_at);
        Store::create(Some(&out), "", "", &record).unwrap();
        out
    }

    #[test]
    fn a_name_is_no_path() {
        for right in ["main", "v1.2_rc-3", "0"] {
            assert_eq!(right.parse::<Name>().unwrap().to_string(), right);
        }
        let long = "a".repeat(65);
        for wrong in ["", ".", "..", ".hidden", "-x", "a/b", "a b", "Main", "ä", "a\n", &long] {
            let error = wrong.parse::<Name>().unwrap_err();
            assert!(error.contains("a-z, 0-9, '.', '_' and '-'"), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn a_baseline_is_found_and_replaced_and_another_is_suggested() {
        let directory = tempfile::tempdir().unwrap();
        let name: Name = "main".parse().unwrap();
        let first = run(directory.path(), "first");
        let baselines = Baselines::of(None, &first).unwrap();
        let error = baselines.find(&name).unwrap_err().to_string();
        assert!(
            error.contains("there is no baseline \"main\" in ") && error.contains("there are none"),
            "{error}"
        );
        assert_eq!(baselines.save(&name, &first).unwrap(), (directory.path().join("baselines/main"), None));
        let second = run(directory.path(), "second");
        let (path, replaced) = baselines.save(&name, &second).unwrap();
        assert_eq!(replaced.as_deref(), Some("first"));
        assert_eq!(baselines.find(&name).unwrap(), path);
        assert_eq!(store::read(&path).unwrap().0.started_at, "second");
        let left: Vec<_> = fs::read_dir(directory.path().join("baselines")).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        let error = baselines.find(&"mian".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("did you mean \"main\"?"), "{error}");
        // A baseline that cannot be saved leaves the one that is there.
        assert!(baselines.save(&name, Path::new("/nowhere")).is_err());
        assert_eq!(store::read(&path).unwrap().0.started_at, "second");
    }

    #[test]
    fn they_are_beside_the_run_or_where_they_are_told_to_be() {
        let of = |given: Option<&str>, run: &str| {
            Baselines::of(given.map(Path::new), Path::new(run)).unwrap().directory
        };
        assert_eq!(of(None, "reports/2025-12-02-all"), Path::new("reports/baselines"));
        assert_eq!(of(None, "reports/2025-12-02-all/"), Path::new("reports/baselines"));
        assert_eq!(of(None, "mine"), std::env::current_dir().unwrap().join("baselines"));
        assert_eq!(of(Some("kept"), "reports/2025-12-02-all"), Path::new("kept"));
    }
}
