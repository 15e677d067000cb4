//! The end of a report: what the run was made on and with.

use std::fmt::Write;

use super::Run;
use crate::format::{count, printable};
use crate::place::CpusBy;

/// The title of this part.
pub(super) const TITLE: &str = "The machine and the command";

/// Machine, build and command, as Markdown.
pub(super) fn markdown(run: &Run) -> String {
    let mut text = format!("## {TITLE}\n\n");
    for (name, value) in lines(run) {
        let _ = writeln!(text, "* {name}: {value}");
    }
    let _ = write!(text, "\n```\n{}\n```\n", command(run));
    text
}

/// As it was typed.
pub(super) fn command(run: &Run) -> String {
    printable(&run.command.join(" ")).into_owned()
}

/// What the run was made on and with: a name and a value each.
pub(super) fn lines(run: &Run) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut line = |name: &'static str, value: Option<String>| {
        let value = value.unwrap_or_else(|| "not available".to_owned());
        lines.push((name, printable(&value).into_owned()));
    };
    let machine = &run.machine;
    let cpus = machine.cpus.map(|cpus| format!(", {cpus} CPUs for this process")).unwrap_or_default();
    line("CPU", machine.cpu.as_ref().map(|cpu| format!("{cpu}{cpus}")));
    line("kernel", machine.kernel.clone());
    line("memory", machine.memory_bytes.map(|bytes| format!("{} MiB", count(bytes >> 20))));
    line("rounds of the kernel in 1 us of CPU", machine.rounds_per_us.map(|rounds| format!("{rounds:.1}")));
    line("governor", machine.governor.clone());
    let quota =
        |cpus: Option<f64>| Some(cpus.map_or_else(|| "none".to_owned(), |cpus| format!("{cpus} CPUs")));
    line("CPU quota, cgroup v1", quota(machine.cgroup.cpus_v1));
    line("CPU quota, cgroup v2", quota(machine.cgroup.cpus_v2));
    line("descriptors, soft and hard", both(machine.descriptors_soft, machine.descriptors_hard));
    line("vm.max_map_count", machine.max_map_count.map(count));
    line("kernel.pid_max and threads-max", both(machine.pid_max, machine.threads_max));
    line("ephemeral ports", machine.port_range.clone());
    line("load before, 1 min", run.noise_before.load_1min.map(|load| load.to_string()));
    let steal = run.steal_share();
    line("steal while it ran", steal.map(|share| format!("{:.2} %", share * 100.0)));
    let build = &run.build;
    let changes = match build.dirty {
        Some(true) => " with changes",
        Some(false) => "",
        None => ", changes not known",
    };
    line("revision", Some(format!("{}{changes}", build.revision)));
    line(
        "compiler and profile",
        build.rustc.clone().zip(build.profile.clone()).map(|(a, b)| format!("{a}, {b}")),
    );
    let library = |runtime: &cell_protocol::Description| {
        format!("{} ({} {})", runtime.runtime, runtime.library, runtime.library_version)
    };
    line("runtimes", Some(run.runtimes.iter().map(library).collect::<Vec<_>>().join(", ")));
    line("workers", Some(numbers(&run.workers)));
    let cpus = if run.cpus.is_empty() { "all".to_owned() } else { numbers(&run.cpus) };
    let ways = run.cpus_by.iter().map(|way| way.name()).collect::<Vec<_>>().join(" and by ");
    let by = if run.cpus_by.contains(&CpusBy::Quota) { format!(" by {ways}") } else { String::new() };
    line("CPUs of each cell", Some(cpus + &by));
    line("seed", Some(run.seed.to_string()));
    line("began", Some(run.started_at.clone()));
    for resumed in &run.resumed {
        let (kept, cells) = (resumed.cells_kept, resumed.cells);
        line("resumed", Some(format!("{}, with {kept} of {cells} cells kept", resumed.at)));
    }
    line("ended", run.ended_at.clone());
    lines
}

fn numbers(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

fn both(a: Option<u64>, b: Option<u64>) -> Option<String> {
    let number = |value: Option<u64>| value.map_or_else(|| "no limit".to_owned(), count);
    (a.is_some() || b.is_some()).then(|| format!("{} and {}", number(a), number(b)))
}
