//! `serve-pipeline`: the batching pipeline behind HTTP by hand, until SIGINT or SIGTERM. `/image/interactive` is answered
//! 429 where its slots are taken, and `/image/bulk` waits for a slot.
//!
//! A thread reads and answers for each connection, the same for all models: what is looked at is the pipeline, which
//! the model carries out, and not how requests are read.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use execution_model::pipeline::{Awaited, Lane, NotAdmitted, NotThrough, PipelineSetup, Stages};
use execution_model::server::{ListenSpec, ServerLimits};
use execution_model::{Runtime, RuntimeConfig, checked_drain, tell};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use workload::BlockingStrategy;
use workload::http::{self, ContentType, HEAD_BYTES_MAX, Parsed, Request, Response, Status, Target};
use workload::pipeline::PipelineSpec;

use crate::abilities::{Abilities, Support};
use crate::command_line::{PipelineOptions, default_workers};
use crate::ending::usage;
use crate::variant::variant;

pub(crate) fn run<R: Runtime>(abilities: &Abilities<R>, options: &PipelineOptions) -> anyhow::Result<()> {
    // Before any other thread exists, so that every thread leaves these signals to this one.
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot watch for signals")?;
    let ability = match &abilities.pipeline {
        Support::Yes(ability) => ability,
        Support::No(reason) => return Err(usage(format!("this runtime has no pipeline: {reason}"))),
    };
    let workers = options.workers.unwrap_or_else(default_workers);
    let drain = checked_drain(options.drain_timeout).map_err(usage)?;
    let (variant, info) = match &options.variant {
        Some(name) => variant::<R>(name, workers)?,
        None => {
            let default = R::variants().swap_remove(0);
            let info = R::describe(&default, workers);
            (default, info)
        }
    };
    let strategy = match info.refuses(BlockingStrategy::Offload) {
        None => BlockingStrategy::Offload,
        Some(_) => BlockingStrategy::Inline,
    };
    let spec = PipelineSpec { policy: options.policy, ..PipelineSpec::of_the_study(workers) };
    let queue_capacity = spec.in_flight_max.max(spec.workers_total());
    let setup =
        PipelineSetup { spec, strategy, rounds_per_us: options.rounds_per_us, seed: 1, faults: Vec::new() };
    let setup = setup.checked().map_err(usage)?;
    let config = RuntimeConfig { workers, queue_capacity, offload_threads: None };
    let limits = ServerLimits {
        in_flight: setup.spec.in_flight_max as u64,
        connections: options.connections_max,
        idle: options.idle_timeout,
        request: options.request_timeout,
    };
    let limits = limits.checked().map_err(usage)?;
    let listen = ListenSpec { address: options.listen, backlog: options.backlog, reuse_port: false };
    let listener = listen.checked().map_err(usage)?.bind()?;
    let address = listener.local_addr().context("the socket has no address")?;
    let runtime = R::start(variant, &config.checked().map_err(usage)?).context("the runtime cannot start")?;
    let stages = Stages::new(setup);
    (ability.start)(&runtime, &stages).context("the pipeline cannot start")?;
    // Of all that happens, so that the metrics tell of it.
    stages.measure(stages.epoch(), stages.epoch() + FOR_EVER);
    let front = Arc::new(Front { stages: Arc::clone(&stages), connections: AtomicU64::new(0), limits });
    thread::Builder::new().name("accept".into()).spawn(move || front.accept(&listener))?;
    let label = format!("{}:{}", R::INFO.id, info.name);
    tell(format_args!(
        "{label} on http://{address}/image/interactive, /image/bulk, /healthz, /metrics; interrupt to drain"
    ));

    signals.forever().next();
    thread::spawn(move || {
        // A second signal does not wait for the drain.
        if signals.forever().next().is_some() {
            std::process::exit(130);
        }
    });
    let deadline = Instant::now() + drain;
    let unfinished = stages.drain(deadline);
    let timed_out = runtime.shutdown(deadline).is_err();
    if unfinished > 0 || timed_out {
        bail!("{unfinished} images had not gone through after {drain:?}");
    }
    Ok(())
}

/// Longer than anybody serves.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

/// Everything that connections share.
struct Front {
    stages: Arc<Stages>,
    connections: AtomicU64,
    /// A request's time is what it may take to arrive, what its image may take, and what its answer may wait to be taken.
    limits: ServerLimits,
}

impl Front {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // Descriptors have run out: connections that end bring some.
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            if self.connections.fetch_add(1, SeqCst) >= self.limits.connections {
                let _gone = turn_away(&stream);
                self.connections.fetch_sub(1, SeqCst);
                continue;
            }
            let front = Arc::clone(self);
            let serve = move || {
                let _gone = front.serve(&stream);
                front.connections.fetch_sub(1, SeqCst);
            };
            if thread::Builder::new().name("connection".into()).spawn(serve).is_err() {
                self.connections.fetch_sub(1, SeqCst);
            }
        }
    }

    /// Serves a connection until its end.
    fn serve(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(self.limits.request))?;
        let mut input = Vec::new();
        let mut buffer = [0; HEAD_BYTES_MAX];
        let mut arrives_since = None;
        loop {
            match http::parse(&input) {
                Parsed::Request(request) => {
                    input.drain(..request.bytes);
                    let reply = Reply::to(&request);
                    self.route(stream, reply, &request.target)?;
                    if !reply.keep_alive {
                        return Ok(());
                    }
                    arrives_since = (!input.is_empty()).then(Instant::now);
                }
                Parsed::Refused(refusal) => {
                    return answer(stream, Reply::CLOSE, refusal.status, &format!("{}\n", refusal.reason));
                }
                Parsed::Partial => {
                    let arriving = |since: Instant| self.limits.request.saturating_sub(since.elapsed());
                    let left = arrives_since.map_or(self.limits.idle, arriving);
                    if left.is_zero() {
                        return answer(
                            stream,
                            Reply::CLOSE,
                            Status::RequestTimeout,
                            "the request did not arrive in time\n",
                        );
                    }
                    stream.set_read_timeout(Some(left))?;
                    match stream.read(&mut buffer) {
                        Ok(0) => return Ok(()),
                        Ok(read) => input.extend_from_slice(&buffer[..read]),
                        Err(late) if late.kind() == io::ErrorKind::WouldBlock && arrives_since.is_some() => {}
                        Err(gone) => return Err(gone),
                    }
                    arrives_since.get_or_insert_with(Instant::now);
                }
            }
        }
    }

    fn route(&self, stream: &TcpStream, reply: Reply, target: &Target) -> io::Result<()> {
        match target {
            Target::Image(lane) => {
                let (status, body) = self.send(*lane);
                answer(stream, reply, status, &body)
            }
            Target::Healthz => answer(stream, reply, Status::Ok, "ok\n"),
            Target::Metrics => {
                respond(stream, reply, Status::Ok, ContentType::Prometheus, &self.stages.metrics())
            }
            Target::Run(_) => {
                answer(stream, reply, Status::NotFound, "a pipeline is served here; there are no plans\n")
            }
            Target::Wrong(refusal) => answer(stream, reply, refusal.status, &format!("{}\n", refusal.reason)),
        }
    }

    /// Sends an image through.
    fn send(&self, lane: Lane) -> (Status, String) {
        let now = Instant::now();
        let deadline = now + self.limits.request;
        let brought = match lane {
            Lane::Interactive => self.stages.await_interactive(now),
            Lane::Bulk => self.stages.await_admitted(lane, now, deadline),
        };
        match brought {
            Ok(awaited) => through(&awaited, deadline),
            Err(refused @ (NotAdmitted::Full(_) | NotAdmitted::LineFull)) => {
                (Status::TooManyRequests, format!("{refused}\n"))
            }
            Err(refused @ (NotAdmitted::TimedOut | NotAdmitted::Closed)) => {
                (Status::Unavailable, format!("{refused}\n"))
            }
        }
    }
}

/// Reads what there is of the request first: who closes on unread bytes resets the connection, and the answer is lost.
fn turn_away(mut stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(20)))?;
    let _read = stream.read(&mut [0; HEAD_BYTES_MAX]);
    answer(stream, Reply::CLOSE, Status::Unavailable, "too many connections\n")
}

fn through(awaited: &Awaited, deadline: Instant) -> (Status, String) {
    match awaited.wait_until(deadline) {
        Ok(through) => {
            let (response, admitted) = (through.response.as_nanos(), through.response_admitted.as_nanos());
            (Status::Ok, format!("{{\"response_ns\":{response},\"response_admitted_ns\":{admitted}}}\n"))
        }
        Err(late @ NotThrough::TimedOut) => (Status::Unavailable, format!("{late}\n")),
        Err(dropped @ NotThrough::Dropped) => (Status::InternalError, format!("{dropped}\n")),
    }
}

/// How an answer is framed.
#[derive(Clone, Copy)]
struct Reply {
    keep_alive: bool,
    announce_keep_alive: bool,
    head_only: bool,
}

impl Reply {
    const CLOSE: Reply = Reply { keep_alive: false, announce_keep_alive: false, head_only: false };

    fn to(request: &Request) -> Reply {
        let Request { keep_alive, announce_keep_alive, head_only, .. } = *request;
        Reply { keep_alive, announce_keep_alive, head_only }
    }
}

fn answer(stream: &TcpStream, reply: Reply, status: Status, body: &str) -> io::Result<()> {
    let content_type =
        if status == Status::Ok && body.starts_with('{') { ContentType::Json } else { ContentType::Text };
    respond(stream, reply, status, content_type, body)
}

fn respond(
    mut stream: &TcpStream,
    reply: Reply,
    status: Status,
    content_type: ContentType,
    body: &str,
) -> io::Result<()> {
    let mut output = Vec::new();
    http::write_response(
        &mut output,
        &Response {
            status,
            content_type,
            body: body.as_bytes(),
            close: !reply.keep_alive,
            announce_keep_alive: reply.announce_keep_alive,
            head_only: reply.head_only,
        },
    );
    stream.write_all(&output)
}

#[cfg(test)]
mod tests;
