//! How a runner ends: it finishes what it accepted, keeps its deadline, and leaves nothing behind.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use cell_protocol::{Ability, Command, Event, Ready, Stopped, Task};
use rustix::process::Signal;
use workload::BlockingStrategy;

use crate::client::Client;
use crate::failure::{Failure, Seen, ensure};
use crate::program::Program;
use crate::serving::{expect_answer, expect_status};
use crate::subject::{END_GRACE, Subject, burst, plan, server};

const DRAIN: Duration = Duration::from_secs(10);
const SHORT_DRAIN: Duration = Duration::from_millis(300);
const WAIT: &str = "wait=1500ms";

/// `stop` with requests in flight: they are answered, idle connections close, new ones are refused.
pub(crate) fn server_drains(subject: &Subject<'_>) -> Seen {
    let mut serving = subject.serve(server())?;
    let address = serving.address();
    let number = subject.at_most_in_flight(5);
    let mut idle = serving.clients(4)?;
    for client in idle.iter_mut().skip(1) {
        expect_status(&client.get("/healthz")?, 200, "/healthz")?;
    }
    let mut asking = serving.asking(number, &format!("/run/{WAIT}?seed=4"))?;
    serving.await_counts("the plans in flight", |counts| {
        counts.in_flight == number && counts.connections == number + 4
    })?;
    thread::scope(|scope| {
        let stopping = scope.spawn(move || serving.stop());
        for client in &mut idle {
            let after = client.closed()?;
            ensure!(
                after < Duration::from_secs(5),
                "an idle connection stayed open for {after:?} of a drain"
            );
        }
        expect_refused(address)?;
        for client in &mut asking {
            let response = client.response()?;
            expect_answer(&response, &plan(WAIT), 4)?;
            ensure!(response.closes(), "an answer during a drain does not say `Connection: close`");
            client.closed()?;
        }
        stopping.join().unwrap_or_else(|_| Err(Failure::Wrong("stopping panicked".into())))
    })?;
    Ok(format!("{number} in flight were answered, {} idle ones closed", idle.len()))
}

/// A connection that comes after the drain has begun must not be served.
fn expect_refused(address: std::net::SocketAddr) -> Result<(), Failure> {
    let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_secs(5)) else { return Ok(()) };
    drop(stream);
    let Ok(mut client) = Client::connect(address) else { return Ok(()) };
    match client.get("/healthz") {
        // The kernel may have taken it before the listener closed; the server may turn it away.
        Err(_) => Ok(()),
        Ok(response) => expect_status(&response, 503, "a new connection during a drain"),
    }
}

/// `stop` in mid-burst: the requests that were dispatched complete.
pub(crate) fn burst_drains(subject: &Subject<'_>) -> Seen {
    let number = subject.at_most_in_flight(20);
    let (mut cell, _ready) = start_program(subject, Task::Arrivals(burst(&plan(WAIT), number)))?;
    thread::sleep(Duration::from_millis(100));
    cell.say(&Command::Stop)?;
    let mut completed = None;
    loop {
        match cell.event(DRAIN + END_GRACE)? {
            Some(Event::Result(result)) => completed = Some(result.completed),
            Some(Event::Stopped(Stopped { unfinished: 0, .. })) => break,
            other => return Err(Failure::Wrong(format!("{other:?} came after `stop`"))),
        }
    }
    ensure!(completed == Some(number), "of {number} requests, {completed:?} completed");
    let more = cell.event(END_GRACE)?;
    ensure!(more.is_none(), "{more:?} came after `stopped`");
    cell.wait_for_clean_end(END_GRACE)?;
    Ok(format!("{number} of {number} completed after `stop`"))
}

/// A request that does not end in time does not keep a runner past its drain deadline.
pub(crate) fn deadline_is_kept(subject: &Subject<'_>) -> Seen {
    let mut longest = Duration::ZERO;
    for (text, strategy) in stuck(subject) {
        let what = format!("{text} {strategy}");
        if subject.refusal(Ability::Server).is_none() {
            let mut serving = subject.serve_with_drain(server(), SHORT_DRAIN)?;
            let _asking = serving.asking(1, &format!("/run/{text}?strategy={strategy}"))?;
            serving.await_counts("the stuck plan in flight", |counts| counts.in_flight == 1)?;
            let begin = Instant::now();
            let end = serving.end()?;
            longest = longest.max(expect_deadline(&what, begin, end.stopped.unfinished)?);
        }
        if subject.refusal(Ability::Handler).is_none() {
            let mut task = burst(&plan(text), 1);
            task.strategy = strategy;
            let mut cell = subject.start(Task::Arrivals(task), SHORT_DRAIN)?;
            cell.go()?;
            thread::sleep(Duration::from_millis(100));
            let begin = Instant::now();
            let end = cell.stop(SHORT_DRAIN + END_GRACE)?;
            longest = longest.max(expect_deadline(&what, begin, end.stopped.unfinished)?);
        }
    }
    Ok(format!("ended within {longest:.2?}, with a deadline of {SHORT_DRAIN:?}"))
}

/// The ways in which a request can be stuck.
fn stuck(subject: &Subject<'_>) -> Vec<(&'static str, BlockingStrategy)> {
    let mut ways = vec![("wait=60s", BlockingStrategy::Inline)];
    let strategies = BlockingStrategy::ALL.into_iter();
    let had = strategies.filter(|strategy| subject.refuses(*strategy).is_none());
    ways.extend(had.map(|strategy| ("block=60s", strategy)));
    ways
}

fn expect_deadline(what: &str, begin: Instant, unfinished: u64) -> Result<Duration, Failure> {
    let took = begin.elapsed();
    ensure!(unfinished >= 1, "{what} was cut, and `stopped` tells of {unfinished} unfinished");
    ensure!(took >= SHORT_DRAIN, "{what}: it gave up after {took:?} of a drain of {SHORT_DRAIN:?}");
    ensure!(took < Duration::from_secs(4), "{what}: it took {took:?} for a drain of {SHORT_DRAIN:?}");
    Ok(took)
}

/// When the harness is gone, so is the runner, whatever its requests are doing.
pub(crate) fn ends_with_its_input(subject: &Subject<'_>) -> Seen {
    let mut longest = Duration::ZERO;
    for (text, strategy) in stuck(subject) {
        for ability in [Ability::Handler, Ability::Server] {
            if subject.refusal(ability).is_some() {
                continue;
            }
            let mut task = burst(&plan(text), 3);
            task.strategy = strategy;
            let task = if ability == Ability::Server { Task::Serve(server()) } else { Task::Arrivals(task) };
            let path = format!("/run/{text}?strategy={strategy}");
            let took = end_input(subject, task, &path);
            longest = longest.max(took.map_err(|failure| {
                Failure::Wrong(format!("{ability:?}, {text} {strategy}, and the input closed: {failure}"))
            })?);
        }
    }
    Ok(format!("gone within {longest:.2?} of its input's end"))
}

fn end_input(subject: &Subject<'_>, task: Task, path: &str) -> Result<Duration, Failure> {
    let (mut cell, ready) = start_program(subject, task)?;
    ensure!(ready.pid == cell.pid(), "`ready` tells process {}, not {}", ready.pid, cell.pid());
    let mut client = ready.listen.map(Client::connect).transpose()?;
    if let Some(client) = &mut client {
        client.ask(path)?;
    }
    thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    cell.close_stdin();
    cell.wait_for_clean_end(Duration::from_secs(4))?;
    Ok(begin.elapsed())
}

/// A cell without the harness's hand around it, which has been told to go.
fn start_program(subject: &Subject<'_>, task: Task) -> Result<(Program, Ready), Failure> {
    let mut cell = Program::start(subject.runner, &["cell"])?;
    cell.say(&subject.spec(task, DRAIN))?;
    match cell.event(DRAIN)? {
        Some(Event::Ready(ready)) => {
            cell.say(&Command::Go)?;
            Ok((cell, ready))
        }
        other => Err(Failure::Wrong(format!("the first event is {other:?}"))),
    }
}

/// A cell that stops leaves no process of its group behind.
pub(crate) fn leaves_nothing_behind(subject: &Subject<'_>) -> Seen {
    let (mut cell, ready) = start_program(subject, Task::Serve(server()))?;
    let listen = ready.listen.ok_or_else(|| Failure::Wrong("`ready` tells no address".into()))?;
    expect_status(&Client::connect(listen)?.get("/run/wait=1ms")?, 200, "a plan")?;
    cell.say(&Command::Stop)?;
    let stopped = cell.event(DRAIN + END_GRACE)?;
    ensure!(
        matches!(stopped, Some(Event::Stopped(Stopped { unfinished: 0, .. }))),
        "{stopped:?} came after `stop`"
    );
    cell.wait_for_clean_end(END_GRACE)?;
    ensure!(TcpStream::connect(listen).is_err(), "something still listens on {listen}");
    Ok("no process and no listener left".into())
}

/// `serve`, by hand: the first interrupt drains and exits 0, the second does not wait.
pub(crate) fn interrupt_drains(subject: &Subject<'_>) -> Seen {
    for signal in [Signal::INT, Signal::TERM] {
        let (mut server, mut client) = serve_by_hand(subject, DRAIN)?;
        client.ask(&format!("/run/{WAIT}?seed=8"))?;
        thread::sleep(Duration::from_millis(200));
        server.signal(signal)?;
        let response = client.response()?;
        expect_answer(&response, &plan(WAIT), 8)?;
        ensure!(response.closes(), "an answer during a drain does not say `Connection: close`");
        server.wait_for_clean_end(DRAIN)?;
    }
    let (mut server, mut client) = serve_by_hand(subject, DRAIN)?;
    client.ask("/run/wait=60s")?;
    thread::sleep(Duration::from_millis(200));
    server.signal(Signal::INT)?;
    thread::sleep(Duration::from_millis(200));
    server.signal(Signal::INT)?;
    let status = server.wait(Duration::from_secs(4))?;
    ensure!(status.code() == Some(130), "a second interrupt ended it with {status}, not 130");

    let (mut server, mut client) = serve_by_hand(subject, SHORT_DRAIN)?;
    client.ask("/run/block=60s")?;
    thread::sleep(Duration::from_millis(200));
    server.signal(Signal::INT)?;
    let status = server.wait(Duration::from_secs(4)).map_err(|failure| {
        Failure::Wrong(format!("interrupted with a stuck request and {SHORT_DRAIN:?} to drain: {failure}"))
    })?;
    ensure!(
        status.code().is_some_and(|code| code != 0),
        "it left a request unfinished, and ended with {status}"
    );
    Ok("SIGINT and SIGTERM drain; a second SIGINT, or the drain time-out, ends it".into())
}

fn serve_by_hand(subject: &Subject<'_>, drain: Duration) -> Result<(Program, Client), Failure> {
    let workers = subject.workers.to_string();
    let drain = format!("{}ms", drain.as_millis());
    let variant = &subject.variant.name;
    let limits = ["--workers", &workers, "--drain-timeout", &drain];
    let arguments = [&["serve", "--listen", "127.0.0.1:0", "--variant", variant], &limits[..]].concat();
    let mut server = Program::start(subject.runner, &arguments)?;
    let line = server.stderr_line(DRAIN)?;
    let address = line.split_once("http://").and_then(|(_, rest)| rest.split_once('/')?.0.parse().ok());
    let address =
        address.ok_or_else(|| Failure::Wrong(format!("`serve` does not say where it listens: {line:?}")))?;
    Ok((server, Client::connect(address)?))
}
