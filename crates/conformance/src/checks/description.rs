//! What a runner says of itself, and what it says to those who ask for something that it has not.

use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::time::Duration;

use cell_protocol::{CellSpec, Description, PROTOCOL, ServeTask, Task};

use crate::failure::{Failure, Seen, ensure};
use crate::program::{Ended, Program};
use crate::subject::{Subject, burst, plan, server};

const LIMIT: Duration = Duration::from_secs(10);
const NO_SUCH: &str = "no-such-variant";

/// One line, complete and consistent.
pub(crate) fn describes_itself(subject: &Subject<'_>) -> Seen {
    let ended = Program::run(subject.runner, &["describe"], "", LIMIT)?;
    ensure!(ended.status.success(), "`describe` ended with {}: {:?}", ended.status, ended.stderr);
    let [line] = &ended.stdout[..] else {
        return Err(Failure::Wrong(format!("`describe` printed {} lines, not 1", ended.stdout.len())));
    };
    let description: Description =
        serde_json::from_str(line).map_err(|error| Failure::Wrong(format!("{line:?}: {error}")))?;
    ensure!(description.protocol == PROTOCOL, "it speaks protocol {}", description.protocol);
    let Description { runtime, library, library_version, .. } = &description;
    for (name, text) in [
        ("name", runtime),
        ("library", library),
        ("library version", library_version),
        ("revision", &description.revision),
        ("execution model", &description.execution_model),
        ("way to suspend", &description.suspends_by),
    ] {
        ensure!(!text.trim().is_empty(), "its {name} is empty");
    }
    variants_are_distinct(&description)?;
    refusals_have_reasons(&description)?;
    Ok(format!("{runtime} on {library} {library_version}, {} variants", description.variants.len()))
}

fn variants_are_distinct(description: &Description) -> Result<(), Failure> {
    ensure!(!description.variants.is_empty(), "it has no variant");
    let names: BTreeSet<&str> = description.variants.iter().map(|variant| variant.name.as_str()).collect();
    ensure!(names.len() == description.variants.len(), "two of its variants have one name");
    for variant in &description.variants {
        ensure!(
            !variant.name.is_empty() && !variant.summary.trim().is_empty(),
            "variant {:?} lacks a name or a summary",
            variant.name
        );
        ensure!(variant.in_flight_limit != Some(0), "variant {} lets nothing run", variant.name);
    }
    Ok(())
}

fn refusals_have_reasons(description: &Description) -> Result<(), Failure> {
    for refusal in &description.refusals {
        let ability = refusal.ability;
        ensure!(refusal.reason.trim().len() > 10, "{ability:?} is refused with no reason");
        if let Some(variant) = &refusal.variant {
            ensure!(
                description.variant(variant).is_some(),
                "{ability:?} is refused for {variant:?}, which is no variant"
            );
        }
    }
    Ok(())
}

/// A name that is none is an error, in each way to ask, and the error names those that there are.
pub(crate) fn names_its_variants(subject: &Subject<'_>) -> Seen {
    let mut unknown = spec(subject);
    unknown.variant = NO_SUCH.into();
    let cell = line(&unknown)?;
    for (arguments, input) in [
        (&["cell"][..], cell.as_str()),
        (&["describe", "--variant", NO_SUCH], ""),
        (&["serve", "--listen", "127.0.0.1:0", "--variant", NO_SUCH], ""),
    ] {
        let said = refused(subject, arguments, input)?;
        ensure!(said.contains(NO_SUCH), "it does not quote the unknown name: {said:?}");
        for variant in &subject.description.variants {
            // Of `pool=200`, `pool=` is the name and the number an example.
            let end = variant.name.find('=').map_or(variant.name.len(), |at| at + 1);
            let name = &variant.name[..end];
            ensure!(said.contains(name), "it does not name {name}: {said:?}");
        }
    }
    // A size is written in one way, or there would be two rows of one variant.
    let sized = subject.description.variants.iter().filter_map(|variant| variant.name.rsplit_once('='));
    let sized = sized.filter(|(_, size)| size.bytes().all(|byte| byte.is_ascii_digit()));
    for (name, size) in sized {
        for other in [format!("{name}=0{size}"), format!("{name}=+{size}")] {
            let said = refused(subject, &["describe", "--variant", &other], "")?;
            ensure!(
                said.contains(&format!("{name}={size}")),
                "it does not say how {other} is written: {said:?}"
            );
        }
    }
    Ok("cell, describe and serve each name what there is".into())
}

/// A spec that cannot be carried out is refused with one line.
pub(crate) fn refuses_bad_specs(subject: &Subject<'_>) -> Seen {
    let good = spec(subject);
    let other_protocol = line(&CellSpec { protocol: PROTOCOL + 1, ..good.clone() })?;
    let no_workers = line(&CellSpec { workers: 0, ..good.clone() })?;
    let cut = &line(&good)?[..40];
    for (what, input) in [
        ("an empty input", ""),
        ("nonsense", "nonsense\n"),
        ("half a spec", cut),
        ("another protocol", &other_protocol),
        ("no workers", &no_workers),
    ] {
        refused(subject, &["cell"], input)
            .map_err(|failure| Failure::Wrong(format!("{what} for a spec: {failure}")))?;
    }
    Ok("5 bad specs refused".into())
}

/// A limit that is out of its range is a usage error that tells the range, by hand and in a spec alike.
pub(crate) fn refuses_bad_limits(subject: &Subject<'_>) -> Seen {
    let variant = &subject.variant.name;
    let serve = ["serve", "--listen", "127.0.0.1:0", "--variant", variant];
    let bad = [
        ["--workers", "0"],
        ["--workers", "1000000"],
        ["--in-flight-limit", "0"],
        ["--connections-max", "0"],
        ["--queue-capacity", "0"],
        ["--queue-capacity", "18446744073709551615"],
        ["--backlog", "0"],
        ["--idle-timeout", "0s"],
        ["--idle-timeout", "500000000000y"],
        ["--request-timeout", "25h"],
        ["--drain-timeout", "500000000000y"],
    ];
    for limit in &bad {
        let said = refused_as_usage(subject, &[&serve[..], limit].concat(), "")?;
        ensure!(said.contains("give 1"), "{limit:?} is refused with {said:?}, which tells no range");
    }
    let good = server();
    let specs = [
        ServeTask { in_flight_limit: 0, ..good.clone() },
        ServeTask { connections_max: 0, ..good.clone() },
        ServeTask { queue_capacity: usize::MAX, ..good.clone() },
        ServeTask { idle_timeout_ns: u64::MAX, ..good.clone() },
        ServeTask { request_timeout_ns: 0, ..good },
    ];
    for task in &specs {
        let spec = line(&subject.spec(Task::Serve(task.clone()), Duration::from_secs(1)))?;
        let said = refused_as_usage(subject, &["cell"], &spec)?;
        ensure!(said.contains("give 1"), "{task:?} is refused with {said:?}, which tells no range");
    }
    Ok(format!("{} bad limits refused by hand, and {} in a spec", bad.len(), specs.len()))
}

/// Refused, and as the error of whoever asked.
fn refused_as_usage(subject: &Subject<'_>, arguments: &[&str], input: &str) -> Result<String, Failure> {
    let (status, said) = refused_with(subject, arguments, input)?;
    ensure!(status.code() == Some(2), "`{}` ended with {status}, not 2", arguments.join(" "));
    Ok(said)
}

fn spec(subject: &Subject<'_>) -> CellSpec {
    subject.spec(Task::Arrivals(burst(&plan("wait=1ms"), 1)), Duration::from_secs(1))
}

fn line(spec: &CellSpec) -> Result<String, Failure> {
    Ok(serde_json::to_string(spec).map_err(std::io::Error::from)? + "\n")
}

/// Runs what must be refused: no success, nothing on standard output, one line on standard error.
fn refused(subject: &Subject<'_>, arguments: &[&str], input: &str) -> Result<String, Failure> {
    Ok(refused_with(subject, arguments, input)?.1)
}

fn refused_with(
    subject: &Subject<'_>,
    arguments: &[&str],
    input: &str,
) -> Result<(ExitStatus, String), Failure> {
    let Ended { status, stdout, stderr } = Program::run(subject.runner, arguments, input, LIMIT)?;
    let what = arguments.join(" ");
    ensure!(!status.success(), "`{what}` ended with success");
    ensure!(status.code().is_some(), "`{what}` ended with {status}");
    ensure!(stdout.is_empty(), "`{what}` wrote {stdout:?} to standard output");
    match &stderr[..] {
        [line] => Ok((status, line.clone())),
        lines => Err(Failure::Wrong(format!("`{what}` said {} lines, not 1: {lines:?}", lines.len()))),
    }
}
