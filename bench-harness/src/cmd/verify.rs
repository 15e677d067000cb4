//! `verify`: does each variant do what is required of it? Nothing is measured.

use std::path::PathBuf;

use conformance::{CHECKS, CheckResult, Options, Verdict};

use crate::cli::{Cli, Verify as Arguments};
use crate::contestant::{Contestant, Field};
use crate::exit::{Ending, Unverified, usage};
use crate::format::printable;
use crate::interrupt::Interrupt;
use crate::output::{self, Forms};
use crate::place::Place;
use crate::suggest;
use crate::table::Table;

pub(super) fn run(cli: &Cli, arguments: &Arguments, interrupt: &Interrupt) -> anyhow::Result<Ending> {
    let known = || CHECKS.iter().map(|check| check.name);
    if let Some(wrong) = arguments.checks.iter().find(|name| !known().any(|check| check == name.as_str())) {
        return Err(usage(format!("unknown check {wrong:?}; {}", suggest::hint(wrong, known()))));
    }
    let place = Place::new(arguments.workers)?;
    let workers = place.workers;
    let field = Field::find(cli.runners.as_deref(), place)?;
    let mut results = Vec::new();
    for (runner, variants) in by_runner(field.select(&arguments.runtimes)?) {
        let options = Options {
            workers,
            parallel: usize::from(arguments.parallel),
            variants,
            checks: arguments.checks.clone(),
            stop: Some(interrupt.flag()),
        };
        let watch = |result: &CheckResult| {
            if !arguments.no_progress {
                output::tell(format_args!("{result}"));
            }
        };
        let made = conformance::run(&runner, &options, &watch);
        if interrupt.is_raised() {
            results.extend(made.unwrap_or_default());
            break;
        }
        results.extend(made.map_err(anyhow::Error::msg)?);
    }
    Forms {
        text: &|_| text(&results),
        csv: &|| table(&results).csv(),
        json: &|| serde_json::to_string_pretty(&json(&results)),
    }
    .print(cli)?;
    if interrupt.is_raised() {
        return Ok(Ending::Interrupted);
    }
    match results.iter().filter(|result| result.failed()).count() {
        0 => Ok(Ending::Done),
        failed => Err(Unverified(format!("{failed} of {} checks failed", results.len())).into()),
    }
}

/// The variants to check of each runner.
fn by_runner(contestants: Vec<Contestant>) -> Vec<(PathBuf, Vec<String>)> {
    let mut runners: Vec<(PathBuf, Vec<String>)> = Vec::new();
    for contestant in contestants {
        match runners.iter_mut().find(|(runner, _)| *runner == contestant.runner) {
            Some((_, variants)) => variants.push(contestant.variant),
            None => runners.push((contestant.runner, vec![contestant.variant])),
        }
    }
    runners
}

/// The failures, and the counts.
fn text(results: &[CheckResult]) -> String {
    let failures: String = results
        .iter()
        .filter(|result| result.failed())
        .map(|result| printable(&result.to_string()).into_owned() + "\n")
        .collect();
    let count = |is: fn(&Verdict) -> bool| results.iter().filter(|result| is(&result.verdict)).count();
    format!(
        "{failures}{} passed, {} refused with a reason, {} failed\n",
        count(|verdict| matches!(verdict, Verdict::Passed(_))),
        count(|verdict| matches!(verdict, Verdict::Refused(_))),
        count(|verdict| matches!(verdict, Verdict::Failed(_)))
    )
}

fn table(results: &[CheckResult]) -> Table {
    let mut table = Table::new(&["variant", "check", "verdict", "reason", "seconds"]);
    for result in results {
        let (verdict, reason) = told(&result.verdict);
        let seconds = format!("{:.3}", result.elapsed.as_secs_f64());
        table.push(vec![
            result.label.clone(),
            result.check.to_owned(),
            verdict.to_owned(),
            reason.to_owned(),
            seconds,
        ]);
    }
    table
}

fn json(results: &[CheckResult]) -> serde_json::Value {
    let one = |result: &CheckResult| {
        let (verdict, reason) = told(&result.verdict);
        serde_json::json!({
            "variant": result.label,
            "check": result.check,
            "verdict": verdict,
            "reason": reason,
            "seconds": result.elapsed.as_secs_f64(),
        })
    };
    results.iter().map(one).collect()
}

fn told(verdict: &Verdict) -> (&'static str, &str) {
    match verdict {
        Verdict::Passed(seen) => ("passed", seen),
        Verdict::Failed(reason) => ("failed", reason),
        Verdict::Refused(reason) => ("refused", reason),
    }
}
