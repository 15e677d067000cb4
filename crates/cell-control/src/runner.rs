//! Finding runners, and asking each what it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use cell_protocol::{Description, PROTOCOL, REVISION};

use crate::cell::nonsense;
use crate::child::Child;
use crate::error::{CellError, Exit};
use crate::lines::{LINE_BYTES_MAX, Outcome};

/// How long a runner may take to describe itself.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(5);
const AWAITED: &str = "its description";

/// A runner that can be trusted: it speaks this protocol and was built at this revision.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The executable.
    pub path: PathBuf,
    /// What it says of itself.
    pub description: Description,
}

/// What a directory holds.
#[derive(Debug, Default)]
pub struct Discovery {
    /// The runners, by name.
    pub runners: Vec<Runner>,
    /// Executables that are named like runners and cannot be used, by name.
    pub problems: Vec<Problem>,
}

/// An executable that is named like a runner and cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The executable.
    pub path: PathBuf,
    /// Why, in one line.
    pub reason: String,
}

/// For what a description is asked, where it is for more than the variants that are always listed.
#[derive(Clone, Debug, Default)]
pub struct Subject<'a> {
    /// A variant to describe beside those that are always listed, such as `pool=50`.
    pub variant: Option<&'a str>,
    /// For how many workers.
    pub workers: Option<usize>,
}

/// Finds the executables named `runtime-*`, without an extension, in `directory` and asks each to
/// describe itself. The directory of the harness's own executable is the usual one.
#[must_use]
pub fn discover(directory: &Path) -> Discovery {
    let mut discovery = Discovery::default();
    let candidates = match candidates(directory) {
        Ok(candidates) => candidates,
        Err(error) => {
            discovery.problems.push(Problem { path: directory.to_owned(), reason: error.to_string() });
            return discovery;
        }
    };
    // Side by side: one runner that hangs costs the time-out once, not once for each such runner.
    // Scoped threads outlive the children they start, as the parent-death signal needs.
    let answers: Vec<_> = thread::scope(|scope| {
        let asked: Vec<_> =
            candidates.iter().map(|path| scope.spawn(|| describe(path, &Subject::default()))).collect();
        asked.into_iter().map(|answer| answer.join().expect("asking does not panic")).collect()
    });
    for (path, answer) in candidates.into_iter().zip(answers) {
        match answer {
            Ok(description) => discovery.runners.push(Runner { path, description }),
            Err(reason) => discovery.problems.push(Problem { path, reason }),
        }
    }
    discovery
}

/// Asks one runner to describe itself, and checks that it can be trusted.
///
/// # Errors
///
/// The reason in one line: it cannot be started, hangs, dies, talks nonsense, or is of another
/// protocol or revision.
pub fn describe(runner: &Path, subject: &Subject<'_>) -> Result<Description, String> {
    let workers = subject.workers.map(|workers| workers.to_string());
    let mut arguments = vec!["describe"];
    arguments.extend(subject.variant.into_iter().flat_map(|variant| ["--variant", variant]));
    arguments.extend(workers.iter().flat_map(|workers| ["--workers", workers]));
    let line = first_line(runner, &arguments).map_err(|error| error.to_string())?;
    // The two marks of trust come first: a description of another version may have other fields.
    let marks: serde_json::Value = serde_json::from_str(&line).map_err(|error| garbled(&line, &error))?;
    match marks["protocol"].as_u64() {
        Some(protocol) if protocol == u64::from(PROTOCOL) => {}
        Some(other) => return Err(format!("speaks protocol {other}, and this harness protocol {PROTOCOL}")),
        None => return Err(nonsense(AWAITED, &line, "no protocol version".to_owned()).to_string()),
    }
    match marks["revision"].as_str() {
        Some(REVISION) => {}
        Some(other) => return Err(format!("was built at revision {other}, and this harness at {REVISION}")),
        None => return Err(nonsense(AWAITED, &line, "no revision".to_owned()).to_string()),
    }
    serde_json::from_value(marks).map_err(|error| garbled(&line, &error))
}

fn garbled(line: &str, error: &serde_json::Error) -> String {
    nonsense(AWAITED, line, error.to_string()).to_string()
}

fn first_line(runner: &Path, arguments: &[&str]) -> Result<String, CellError> {
    let awaited = AWAITED;
    let pipe = |source| CellError::Pipe { awaited, source };
    let deadline = Instant::now() + DESCRIBE_LIMIT;
    let mut child = Child::start(runner, arguments)
        .map_err(|source| CellError::Start { program: runner.display().to_string(), source })?;
    child.close_input();
    let outcome = child.line(deadline, None).map_err(pipe)?;
    if let Outcome::Stopped(signal) = outcome {
        return Err(CellError::Stopped { awaited, signal, last_words: child.last_words() });
    }
    // A runner that has answered has no reason to stay, and one that has not is not waited for longer.
    let ended = child.wait(deadline).map_err(pipe)?;
    let last_words = child.last_words();
    match (outcome, ended) {
        (Outcome::Line(line), Some(reaped)) if reaped.exit() == Exit::Status(0) => Ok(line),
        (Outcome::TooLong, _) => Err(CellError::LineTooLong { awaited, bytes_max: LINE_BYTES_MAX }),
        (_, Some(reaped)) => Err(CellError::Died { awaited, exit: reaped.exit(), last_words }),
        (_, None) => Err(CellError::TimedOut { awaited, limit: DESCRIBE_LIMIT, last_words }),
    }
}

fn candidates(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut candidates = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let named = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"runtime-"));
        let executable =
            || fs::metadata(&path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
        if named && path.extension().is_none() && executable() {
            candidates.push(path);
        }
    }
    candidates.sort();
    Ok(candidates)
}
