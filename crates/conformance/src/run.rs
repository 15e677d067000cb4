//! Runs the checks on the variants, many at one time: a check mostly waits.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cell_control::{describe, kill_every_cell};
use cell_protocol::{Description, VariantDescription};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Check;
use crate::calibration::Calibration;
use crate::checks::CHECKS;
use crate::pin::check_pin;
use crate::report::{CheckResult, Verdict};
use crate::subject::Subject;

/// What to check, and with what.
#[derive(Clone, Debug)]
pub struct Options {
    /// With how many workers a variant is started.
    pub workers: usize,
    /// How many checks run at one time.
    pub parallel: usize,
    /// The variants to check, also such as the runner does not list; empty for those that it lists.
    pub variants: Vec<String>,
    /// The names of the checks to make; empty for all.
    pub checks: Vec<String>,
    /// Ends the suite when it is raised: no check begins any more, and those that are being made are cut short.
    pub stop: Option<Arc<AtomicBool>>,
}

/// How often it is looked whether the suite is to end.
const GLANCE: Duration = Duration::from_millis(20);

impl Default for Options {
    /// 2 workers, 16 checks at one time, every variant and every check.
    fn default() -> Options {
        Options { workers: 2, parallel: 16, variants: Vec::new(), checks: Vec::new(), stop: None }
    }
}

/// Runs the checks. `watch` is given each result as it comes; together they come back in the order of
/// the variants and of [`CHECKS`]; of a suite that was told to stop, those that were made.
///
/// The process's soft limit of descriptors is raised to its hard one: a thousand connections need it.
///
/// # Errors
///
/// The runner cannot be asked what it is, or a variant or check is asked for that there is not.
pub fn run(
    runner: &Path,
    options: &Options,
    watch: &(dyn Fn(&CheckResult) + Sync),
) -> Result<Vec<CheckResult>, String> {
    if let Some(name) = options.checks.iter().find(|name| CHECKS.iter().all(|check| check.name != **name)) {
        return Err(format!("there is no check {name:?}"));
    }
    raise_descriptor_limit();
    let variants = variants(runner, options)?;
    let calibration = &Calibration::measure();
    let wanted =
        |check: &&Check| options.checks.is_empty() || options.checks.iter().any(|name| name == check.name);
    let mut queue = VecDeque::new();
    for (description, variant) in &variants {
        let subject = Subject { runner, description, variant, workers: options.workers, calibration };
        queue.extend(CHECKS.iter().filter(wanted).map(|check| (subject, check)));
    }
    let queue: Mutex<VecDeque<_>> = Mutex::new(queue.into_iter().enumerate().collect());
    let next = || queue.lock().expect("taking from a queue does not panic").pop_front();
    let results = Mutex::new(Vec::new());
    let is_stopped = || options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::SeqCst));
    thread::scope(|scope| {
        let work = || {
            // A thread takes a check from beginning to end: a runner dies with the thread that started it.
            while let Some((index, (subject, check))) = next().filter(|_| !is_stopped()) {
                let result = make(&subject, check);
                // What fails when the suite is told to stop may have failed for that reason.
                if result.failed() && is_stopped() {
                    return;
                }
                watch(&result);
                results.lock().expect("adding to a list does not panic").push((index, result));
            }
        };
        let workers: Vec<_> = (0..options.parallel.max(1)).map(|_| scope.spawn(work)).collect();
        // A check may start one runner after another.
        while options.stop.is_some() && workers.iter().any(|worker| !worker.is_finished()) {
            if is_stopped() {
                kill_every_cell();
            }
            thread::sleep(GLANCE);
        }
    });
    let mut results = results.into_inner().expect("adding to a list does not panic");
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// The whole test of a runtime crate: every check on every variant, and the library's version as
/// `crate_directory`'s manifest pins it.
///
/// # Panics
///
/// Something failed. The message names each check, variant and reason, a line each.
#[expect(clippy::print_stdout, reason = "cargo shows it with the test, or keeps it where the test passes")]
pub fn assert_conforms(runner: &Path, crate_directory: &Path) {
    let results = run(runner, &Options::default(), &|_| {})
        .unwrap_or_else(|reason| panic!("{}: {reason}", runner.display()));
    let mut failures: Vec<String> =
        results.iter().filter(|result| result.failed()).map(ToString::to_string).collect();
    let manifest = fs::read_to_string(crate_directory.join("Cargo.toml")).expect("the crate has a manifest");
    let description = describe(runner, &cell_control::Subject::default());
    failures.extend(description.and_then(|description| check_pin(&manifest, &description)).err());
    for result in &results {
        println!("{result}");
    }
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), results.len(), failures.join("\n"));
}

fn make(subject: &Subject<'_>, check: &Check) -> CheckResult {
    let begin = Instant::now();
    let refusal = check.needs.and_then(|ability| subject.refusal(ability));
    let verdict = match refusal {
        Some(reason) => Verdict::Refused(reason.to_owned()),
        None => match (check.run)(subject) {
            Ok(seen) => Verdict::Passed(seen),
            Err(failure) => Verdict::Failed(failure.to_string()),
        },
    };
    CheckResult {
        check: check.name,
        label: subject.description.label(&subject.variant.name),
        variant: subject.variant.name.clone(),
        verdict,
        elapsed: begin.elapsed(),
    }
}

/// Each variant with the description that tells of it.
fn variants(runner: &Path, options: &Options) -> Result<Vec<(Description, VariantDescription)>, String> {
    let described = |variant: Option<&str>| {
        describe(runner, &cell_control::Subject { variant, workers: Some(options.workers) })
    };
    if options.variants.is_empty() {
        let description = described(None)?;
        let variants = description.variants.clone();
        return Ok(variants.into_iter().map(|variant| (description.clone(), variant)).collect());
    }
    let one = |name: &String| {
        let description = described(Some(name))?;
        let variant = description.variant(name).cloned();
        let variant = variant.ok_or_else(|| format!("the description does not tell of {name}"))?;
        Ok((description, variant))
    };
    options.variants.iter().map(one).collect()
}

fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Raising the soft limit to the hard one is always permitted; where it fails, a check will tell.
    let _raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
