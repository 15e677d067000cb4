//! What was seen of threads, for people and as CSV.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::{Seen, SeenProcess, SeenThread, State};
use crate::format::{bytes, count, ns, printable};
use crate::style::Style;
use crate::table::Table;

/// A line on each process, and a table of all threads.
pub(crate) fn text(seen: &Seen, style: Style) -> String {
    let mut text = String::new();
    for process in &seen.processes {
        let own: Vec<&SeenThread> = seen.threads.iter().filter(|thread| thread.pid == process.pid).collect();
        let _ = writeln!(text, "{}", of_process(process, &own));
    }
    let _ = writeln!(text, "\nOver {}:\n", ns(as_f64(seen.interval_ns)));
    text + &table(seen).text(style)
}

/// One line a thread, with figures as they are.
pub(crate) fn csv(seen: &Seen) -> String {
    let mut table = Table::new(&[
        "pid",
        "tid",
        "name",
        "state",
        "is_new",
        "cpu_share",
        "user_ns",
        "system_ns",
        "on_cpu_ns",
        "voluntary_switches",
        "involuntary_switches",
        "voluntary_switches_per_s",
        "involuntary_switches_per_s",
        "waits_in",
    ]);
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let figure = |figure: Option<f64>| figure.map(|figure| figure.to_string()).unwrap_or_default();
    for thread in &seen.threads {
        table.push(vec![
            thread.pid.to_string(),
            thread.tid.to_string(),
            thread.name.clone(),
            thread.state.name().to_owned(),
            thread.is_new.to_string(),
            figure(thread.cpu_share),
            thread.user_ns.to_string(),
            thread.system_ns.to_string(),
            number(thread.on_cpu_ns),
            number(thread.voluntary_switches),
            number(thread.involuntary_switches),
            figure(thread.voluntary_switches_per_s),
            figure(thread.involuntary_switches_per_s),
            thread.waits_in.clone().unwrap_or_default(),
        ]);
    }
    table.csv()
}

/// `process 7 "runtime-tokio" of 3: 3 threads (2 sleeping, 1 running), 4.2 % of a CPU, 9.1 MiB resident, ...`
fn of_process(process: &SeenProcess, threads: &[&SeenThread]) -> String {
    let mut states: BTreeMap<State, u64> = BTreeMap::new();
    for thread in threads {
        *states.entry(thread.state).or_default() += 1;
    }
    let states = states.iter().map(|(state, number)| format!("{} {}", count(*number), state.name()));
    let mut line = format!(
        "process {} {:?} of {}: {} thread{} ({})",
        process.pid,
        printable(&process.name),
        process.parent,
        process.threads,
        if process.threads == 1 { "" } else { "s" },
        states.collect::<Vec<_>>().join(", "),
    );
    for (number, what) in [(process.threads_started, "started"), (process.threads_ended, "ended")] {
        if number > 0 {
            let _ = write!(line, ", {number} {what} meanwhile");
        }
    }
    if let Some(share) = process.cpu_share {
        let _ = write!(line, ", {} of a CPU", percent(share));
    }
    for (size, what) in [(process.resident_bytes, "resident"), (process.main_stack_bytes, "of main stack")] {
        if let Some(size) = size {
            let _ = write!(line, ", {} {what}", bytes(as_f64(size)));
        }
    }
    line
}

fn table(seen: &Seen) -> Table {
    let mut header = vec![
        "tid",
        "name",
        "state",
        "CPU",
        "user",
        "system",
        "waited/s",
        "preempted/s",
        "waited",
        "preempted",
        "waits in",
    ];
    let are_several = seen.processes.len() > 1;
    if are_several {
        header.insert(0, "pid");
    }
    let mut table = Table::new(&header);
    let or_dash = |told: Option<String>| told.unwrap_or_else(|| "-".to_owned());
    for thread in &seen.threads {
        let name = if thread.is_new { format!("{} (new)", thread.name) } else { thread.name.clone() };
        let pid = are_several.then(|| thread.pid.to_string());
        let figures = [
            thread.tid.to_string(),
            name,
            thread.state.name().to_owned(),
            or_dash(thread.cpu_share.map(percent)),
            seconds(thread.user_ns),
            seconds(thread.system_ns),
            or_dash(thread.voluntary_switches_per_s.map(|rate| format!("{rate:.0}"))),
            or_dash(thread.involuntary_switches_per_s.map(|rate| format!("{rate:.0}"))),
            or_dash(thread.voluntary_switches.map(count)),
            or_dash(thread.involuntary_switches.map(count)),
            or_dash(thread.waits_in.clone()),
        ];
        table.push(pid.into_iter().chain(figures).collect());
    }
    table
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Ticks are hundredths of a second, so more digits would say nothing.
fn seconds(ns: u64) -> String {
    format!("{:.2} s", Duration::from_nanos(ns).as_secs_f64())
}

#[expect(clippy::cast_precision_loss, reason = "a size is shown to four digits")]
fn as_f64(number: u64) -> f64 {
    number as f64
}
