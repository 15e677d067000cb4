//! A runner to which nobody listens: it writes to a standard error that takes nothing.

use std::time::Duration;

use cell_protocol::{Ability, Command, Event, Stopped, Task};

use crate::client::Client;
use crate::failure::{Failure, Seen, ensure};
use crate::program::Program;
use crate::serving::expect_status;
use crate::subject::{END_GRACE, Subject, burst, plan, server};

const LIMIT: Duration = Duration::from_secs(10);

/// What a runner says is for whoever reads it. Where nobody does, it goes on, and ends with the same exit code.
pub(crate) fn survives_without_standard_error(subject: &Subject<'_>) -> Seen {
    let mut seen = Vec::new();
    if subject.refusal(Ability::Server).is_none() {
        serves_on(subject)?;
        seen.push("served on");
    }
    if subject.refusal(Ability::Handler).is_none() {
        panics_are_told(subject)?;
        seen.push("told its panics");
    }
    let mut refused = Program::start_unheard(subject.runner, &["describe", "--variant", "no-such-variant"])?;
    let status = refused.wait(LIMIT)?;
    ensure!(
        status.code().is_some_and(|code| code != 0 && code != 101),
        "an unknown variant ended it with {status}"
    );
    seen.push("refused in order");
    Ok(seen.join(", "))
}

/// A panic over HTTP says something on standard error.
fn serves_on(subject: &Subject<'_>) -> Result<(), Failure> {
    let mut cell = start(subject, Task::Serve(server()))?;
    let listen = match cell.event(LIMIT)? {
        Some(Event::Ready(ready)) => ready.listen,
        other => return Err(Failure::Wrong(format!("the first event is {other:?}"))),
    };
    let listen = listen.ok_or_else(|| Failure::Wrong("`ready` tells no address".into()))?;
    let mut client = Client::connect(listen)?;
    expect_status(&client.get("/run/panic")?, 500, "a panic")?;
    expect_status(&client.get("/run/wait=1ms")?, 200, "a plan after it")?;
    drop(client);
    stop(cell)
}

/// And so does one in process.
fn panics_are_told(subject: &Subject<'_>) -> Result<(), Failure> {
    const REQUESTS: u64 = 5;
    let mut cell = start(subject, Task::Arrivals(burst(&plan("panic"), REQUESTS)))?;
    let ready = cell.event(LIMIT)?;
    ensure!(matches!(ready, Some(Event::Ready(_))), "the first event is {ready:?}");
    cell.say(&Command::Go)?;
    match cell.event(LIMIT)? {
        Some(Event::Result(result)) => {
            let panicked = result.failed.get("panicked").copied();
            ensure!(panicked == Some(REQUESTS), "of {REQUESTS} panics, {panicked:?} are told");
        }
        other => return Err(Failure::Wrong(format!("{other:?} is no result"))),
    }
    stop(cell)
}

fn start(subject: &Subject<'_>, task: Task) -> Result<Program, Failure> {
    let mut cell = Program::start_unheard(subject.runner, &["cell"])?;
    cell.say(&subject.spec(task, LIMIT))?;
    Ok(cell)
}

fn stop(mut cell: Program) -> Result<(), Failure> {
    cell.say(&Command::Stop)?;
    let stopped = cell.event(LIMIT + END_GRACE)?;
    ensure!(
        matches!(stopped, Some(Event::Stopped(Stopped { unfinished: 0, .. }))),
        "{stopped:?} came after `stop`"
    );
    cell.wait_for_clean_end(END_GRACE)
}
