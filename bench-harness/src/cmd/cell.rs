//! `cell`: one cell by itself, its rows on standard output.

use std::fmt::Write;

use crate::cli::{Cell as Arguments, Cli};
use crate::cmd::workers;
use crate::contestant::Field;
use crate::environment::Machine;
use crate::exit::{Ending, usage};
use crate::experiment::{Capacity, Experiment, Size};
use crate::format::metric;
use crate::interrupt::Interrupt;
use crate::matrix::Cell;
use crate::measure::{Bench, Override};
use crate::output::{self, Format};
use crate::row::{Row, Status};
use crate::suggest;

const KEYS: [&str; 5] = ["requests", "plan", "wait", "spread", "warm"];

pub(super) fn run(cli: &Cli, arguments: &Arguments) -> anyhow::Result<Ending> {
    let [experiment] = Experiment::select(std::slice::from_ref(&arguments.experiment))?[..] else {
        let of = |experiment: Experiment| experiment.name();
        let known = Experiment::ALL.map(of).join(", ");
        return Err(usage(format!(
            "{:?} is more than one experiment; there are {known}",
            arguments.experiment
        )));
    };
    let change = change(&arguments.values_given, experiment)?;
    let workers = workers(arguments.values.workers)?;
    let field = Field::find(cli.runners.as_deref(), workers)?;
    let contestant = field.one(&arguments.runtime)?;
    let bench = Bench {
        capacity: Capacity::load(arguments.values.experiments_file.as_deref())?,
        size: if arguments.quick { Size::Quick } else { Size::Full },
        workers,
        seed: arguments.seed,
        machine: Machine::read().limits(),
        interrupt: Interrupt::install()?,
    };
    let warm = change.warm.unwrap_or(false);
    let cell = Cell { experiment, contestant: &contestant, warm, repetition: 1 };
    let (mut order, mut has_failed) = (0, false);
    bench.measure(&cell, &change, &mut |mut row| {
        order += 1;
        row.order = order;
        has_failed |= matches!(row.status, Status::Failed | Status::Invalid);
        match cli.format {
            Format::Text => output::print(&text(&row, &contestant.label)),
            Format::Json | Format::Csv => output::print(&(serde_json::to_string(&row)? + "\n")),
        }
    })?;
    if bench.interrupt.is_raised() {
        return Ok(Ending::Interrupted);
    }
    // One cell by itself is a question whose answer may be no.
    Ok(if has_failed { Ending::Code(1) } else { Ending::Done })
}

fn text(row: &Row, label: &str) -> String {
    let params = row.params.iter().map(|(name, value)| {
        format!(" {name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    });
    let mut text = format!("{} {label}{}: {}", row.experiment, params.collect::<String>(), row.status.name());
    let _ = match &row.reason {
        Some(reason) => writeln!(text, ": {reason}"),
        None => writeln!(text),
    };
    for (name, figure) in &row.metrics {
        let _ = writeln!(text, "  {name:24} {}", metric(name, figure.get()));
    }
    if let Some(limit) = &row.limited_by {
        let _ = writeln!(text, "  {:24} {limit}", "limited by");
    }
    for (name, value) in &row.evidence {
        let _ = writeln!(text, "  {name:24} {value}");
    }
    for check in row.checks.iter().filter(|check| !check.ok) {
        let _ = writeln!(text, "  check {} failed: {} against {}", check.name, check.value, check.limit);
    }
    text
}

fn change(given: &[String], experiment: Experiment) -> anyhow::Result<Override> {
    let mut change = Override::default();
    for pair in given {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(usage(format!("{pair:?} is not KEY=VALUE, such as requests=2000")));
        };
        let bad = |what: &str| usage(format!("{key}={value}: {what}"));
        let duration =
            || humantime::parse_duration(value).map_err(|error| bad(&format!("{error}; write 100ms or 1s")));
        match key {
            "requests" => {
                let requests = value.replace('_', "").parse().ok().filter(|requests| *requests > 0);
                change.requests = Some(requests.ok_or_else(|| bad("write a whole number above 0"))?);
            }
            "plan" => change.plan = Some(value.parse().map_err(|error| bad(&format!("{error}")))?),
            "wait" if experiment == Experiment::Burst => {
                change.plan = Some(pair.parse().map_err(|error| bad(&format!("{error}")))?);
            }
            "wait" => change.wait = Some(duration()?),
            "spread" => change.spread = Some(duration()?),
            "warm" => change.warm = Some(value.parse().map_err(|_| bad("write true or false"))?),
            _ => return Err(usage(format!("unknown key {key:?}; {}", suggest::hint(key, KEYS)))),
        }
        let fits = match key {
            "plan" | "warm" => experiment == Experiment::Burst,
            _ => true,
        };
        if !fits {
            return Err(usage(format!("{key} is a value of capacity.burst, not of {}", experiment.name())));
        }
    }
    Ok(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change_of(pairs: &[&str], experiment: Experiment) -> anyhow::Result<Override> {
        change(&pairs.iter().map(|pair| (*pair).to_owned()).collect::<Vec<_>>(), experiment)
    }

    #[test]
    fn pairs_are_read_and_wrong_ones_are_named() {
        let read = change_of(&["requests=2_000", "wait=5ms", "warm=true"], Experiment::Burst).unwrap();
        assert_eq!((read.requests, read.warm), (Some(2_000), Some(true)));
        assert_eq!(read.plan.unwrap().to_string(), "wait=5ms");
        let error = |pairs: &[&str], experiment| change_of(pairs, experiment).unwrap_err().to_string();
        assert_eq!(
            error(&["request=5"], Experiment::Burst),
            "unknown key \"request\"; did you mean \"requests\"?"
        );
        assert!(error(&["requests=0"], Experiment::Burst).contains("whole number above 0"));
        assert!(error(&["plan=sleep=1s"], Experiment::Burst).contains("the steps are wait"));
        assert!(error(&["warm=true"], Experiment::Hold).contains("a value of capacity.burst"));
        assert!(error(&["fast"], Experiment::Hold).contains("is not KEY=VALUE"));
    }
}
