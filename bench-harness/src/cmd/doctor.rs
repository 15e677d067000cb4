//! `doctor`: what this machine can and cannot measure, and how noisy it is now.

use std::fmt::Write;

use serde_json::Value;

use crate::cli::{Cli, Doctor as Arguments};
use crate::doctor::{self, Examination, NoiseNow};
use crate::environment::Machine;
use crate::exit::Ending;
use crate::format::{count, ns};
use crate::interrupt::Interrupt;
use crate::output::Forms;
use crate::table::Table;

pub(super) fn run(cli: &Cli, arguments: &Arguments, interrupt: &Interrupt) -> anyhow::Result<Ending> {
    let found = doctor::examine(&Machine::read(), arguments.duration, interrupt)?;
    Forms {
        text: &|_| text(&found),
        csv: &|| table(&found).csv(),
        json: &|| serde_json::to_string_pretty(&found),
    }
    .print(cli)?;
    // What was heard so far is told, and judged by nobody.
    if arguments.strict && !interrupt.is_raised() {
        doctor::refuse(&found.busy)?;
    }
    Ok(Ending::Done)
}

fn text(found: &Examination) -> String {
    let mut text = String::new();
    for limit in &found.limits {
        let values = limit.values.iter().map(|(name, value)| format!("{name} {}", shown(value)));
        let _ = writeln!(text, "{}: {}", limit.name, values.collect::<Vec<_>>().join(", "));
        let _ = writeln!(text, "    caps   {}", limit.caps);
        let _ = writeln!(text, "    raise  {}", limit.raise);
    }
    let heard = ns_of(Some(found.noise.duration_ns));
    let _ = writeln!(text, "\nnoise, heard for {heard}:");
    for (name, value) in noise(&found.noise) {
        let _ = writeln!(text, "    {name:36} {value}");
    }
    match &found.busy[..] {
        [] => text.push_str("\nquiet enough to measure on\n"),
        reasons => {
            let _ = writeln!(text, "\ntoo busy to measure on:");
            for reason in reasons {
                let _ = writeln!(text, "    {reason}");
            }
        }
    }
    text
}

/// One line a limit and a figure.
fn table(found: &Examination) -> Table {
    let mut table = Table::new(&["kind", "name", "value", "caps", "raise"]);
    for limit in &found.limits {
        for (name, value) in &limit.values {
            let name = format!("{}: {name}", limit.name);
            table.push(vec!["limit".into(), name, shown(value), limit.caps.clone(), limit.raise.clone()]);
        }
    }
    for (name, value) in noise(&found.noise) {
        table.push(vec!["noise".into(), name, value, String::new(), String::new()]);
    }
    for reason in &found.busy {
        table.push(vec!["busy".into(), String::new(), reason.clone(), String::new(), String::new()]);
    }
    table
}

fn noise(noise: &NoiseNow) -> Vec<(String, String)> {
    let three = |figures: [Option<u64>; 3]| figures.map(ns_of).join(", ");
    let percent = |share: Option<f64>| share.map_or_else(none, |share| format!("{:.1} %", share * 100.0));
    let mut lines = vec![
        (
            "the machine's own stall p50, p99, max".to_owned(),
            three([noise.stall_p50_ns, noise.stall_p99_ns, noise.stall_max_ns]),
        ),
        (
            "lateness of a sleeper p50, p99, max".to_owned(),
            three([noise.lateness_p50_ns, noise.lateness_p99_ns, noise.lateness_max_ns]),
        ),
        ("load, 1 min".to_owned(), noise.load_1min.map_or_else(none, |load| format!("{load:.2}"))),
        ("busy".to_owned(), percent(noise.busy_share)),
    ];
    for (cpu, share) in &noise.busy_share_by_cpu {
        lines.push((format!("busy, CPU {cpu}"), percent(Some(*share))));
    }
    lines.push(("steal".to_owned(), percent(noise.steal_share)));
    lines.push(("pressure on CPUs".to_owned(), percent(noise.pressure_share)));
    let throttled = noise.throttled_periods.map_or_else(none, count);
    lines.push(("periods held back by a quota".to_owned(), throttled));
    lines
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => none(),
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), count),
        Value::String(text) => text.clone(),
        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
        other => other.to_string(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures are shown with four digits")]
fn ns_of(figure: Option<u64>) -> String {
    figure.map_or_else(none, |figure| ns(figure as f64))
}

fn none() -> String {
    "not available".to_owned()
}
