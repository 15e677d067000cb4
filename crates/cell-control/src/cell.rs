//! One cell: a runner's process from its spec to its end.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cell_protocol::{
    ArrivalsResult, CellSpec, Command, Event, PipelineResult, Ready, Snapshot, Stopped, Usage,
};
use serde::Serialize;

use crate::child::Child;
use crate::error::{CellError, Exit};
use crate::lines::{LINE_BYTES_MAX, Outcome};
use crate::quota::{ControlGroup, Held, Look};

/// How long a runner whose standard output closed may take to be gone, before it counts as silent.
const EXIT_GRACE: Duration = Duration::from_secs(1);
/// The longest piece of a nonsense line that an error keeps, in characters.
const NONSENSE_CHARS_MAX: usize = 120;

/// How long the parts of a cell may take whose length does not depend on its task.
#[derive(Clone, Debug)]
pub struct Limits {
    /// From the start of the process to `ready`.
    pub ready: Duration,
    /// From `snapshot` to its answer.
    pub snapshot: Duration,
    /// A flag that ends every wait when it is raised, as by Ctrl-C.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for Limits {
    /// 10 s each, and no flag.
    fn default() -> Limits {
        Limits { ready: Duration::from_secs(10), snapshot: Duration::from_secs(10), interrupt: None }
    }
}

/// A cell that has ended as it should.
#[derive(Clone, Debug)]
pub struct End {
    /// What the runner said last.
    pub stopped: Stopped,
    /// What the process used from its start to its end, with those of its children that it waited
    /// for: the kernel's account, to hold against the runner's own.
    pub usage: Usage,
    /// The largest resident set of the process or of one of its children, in bytes.
    pub rss_max_bytes: u64,
    /// What came of its quota of CPU time, where it had one.
    pub held: Option<Held>,
}

/// A running cell. Dropping it kills its whole process group and reaps it.
#[derive(Debug)]
pub struct CellProcess {
    child: Child,
    limits: Limits,
    ready: Ready,
    /// A result that came while a snapshot was awaited.
    early: Option<Event>,
    began: Instant,
    /// Where the runner is, as it was when it was ready. After the child, so that the group is empty when it goes.
    group: Option<(ControlGroup, Look)>,
}

impl CellProcess {
    /// Starts `runner cell`, gives it the spec, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// Says what was awaited and what came instead. The process is gone then.
    pub fn start(runner: &Path, spec: &CellSpec, limits: Limits) -> Result<CellProcess, CellError> {
        CellProcess::start_in(runner, spec, limits, None)
    }

    /// As [`start`](Self::start), in a control group, which the spec names to the runner and which ends with the cell.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub fn start_in(
        runner: &Path,
        spec: &CellSpec,
        limits: Limits,
        group: Option<ControlGroup>,
    ) -> Result<CellProcess, CellError> {
        let began = Instant::now();
        let deadline = began + limits.ready;
        let control_group = group.as_ref().map(|group| group.directory().to_owned());
        let spec = CellSpec { control_group, ..spec.clone() };
        let group = group.map(|group| (group, Look::default()));
        let child = Child::start(runner, &["cell"])
            .map_err(|source| CellError::Start { program: runner.display().to_string(), source })?;
        let nobody = Ready { pid: 0, listen: None };
        let mut cell = CellProcess { child, limits, ready: nobody, early: None, began, group };
        cell.send("ready", &spec)?;
        let limit = cell.limits.ready;
        match cell.event("ready", deadline, limit)? {
            Event::Ready(ready) => cell.ready = ready,
            other => return Err(out_of_turn("ready", &other)),
        }
        let pid = cell.pid();
        if let Some((group, when_ready)) = &mut cell.group {
            *when_ready = group.look(pid);
        }
        Ok(cell)
    }

    /// What the runner said when it was ready.
    #[must_use]
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Where a server listens.
    ///
    /// # Errors
    ///
    /// The runner was ready and did not say so.
    pub fn listen(&self) -> Result<SocketAddr, CellError> {
        self.ready.listen.ok_or(CellError::NotListening)
    }

    /// The process id that the kernel gave, which is also the number of the process group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// The control group that the cell has of its own, where it has one.
    #[must_use]
    pub fn control_group(&self) -> Option<&ControlGroup> {
        self.group.as_ref().map(|(group, _)| group)
    }

    /// Whether the runner has neither ended nor been stopped. Where it has, there is no use in waiting for what it does,
    /// and whatever is asked of it next tells why.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.child.is_running()
    }

    /// Lets the runner begin.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub fn go(&mut self) -> Result<(), CellError> {
        self.send("go to be taken", &Command::Go)
    }

    /// Counts and usage at one instant.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub fn snapshot(&mut self) -> Result<Snapshot, CellError> {
        let limit = self.limits.snapshot;
        self.send("a snapshot", &Command::Snapshot)?;
        let deadline = Instant::now() + limit;
        loop {
            match self.event("a snapshot", deadline, limit)? {
                Event::Snapshot(snapshot) => return Ok(snapshot),
                result @ (Event::Result(_) | Event::Pipeline(_)) if self.early.is_none() => {
                    self.early = Some(result);
                }
                other => return Err(out_of_turn("a snapshot", &other)),
            }
        }
    }

    /// Waits for the result of an in-process task.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub fn result(&mut self, timeout: Duration) -> Result<ArrivalsResult, CellError> {
        match self.result_event(timeout)? {
            Event::Result(result) => Ok(*result),
            other => Err(out_of_turn("the result", &other)),
        }
    }

    /// Waits for the result of a pipeline.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub fn pipeline_result(&mut self, timeout: Duration) -> Result<PipelineResult, CellError> {
        match self.result_event(timeout)? {
            Event::Pipeline(result) => Ok(*result),
            other => Err(out_of_turn("the result", &other)),
        }
    }

    /// Lets the runner drain and end, and reaps it. After `timeout` the ladder of the crate's
    /// documentation begins.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start); also where the runner's exit status is not 0.
    pub fn stop(mut self, timeout: Duration) -> Result<End, CellError> {
        self.stop_and_reap(timeout)
    }

    /// As [`stop`](Self::stop), with the result of a pipeline that this has cut short, where there is one.
    ///
    /// # Errors
    ///
    /// As for [`stop`](Self::stop).
    pub fn cut_short(mut self, timeout: Duration) -> Result<(End, Option<PipelineResult>), CellError> {
        let end = self.stop_and_reap(timeout)?;
        let result = match self.early.take() {
            Some(Event::Pipeline(result)) => Some(*result),
            _ => None,
        };
        Ok((end, result))
    }

    fn stop_and_reap(&mut self, timeout: Duration) -> Result<End, CellError> {
        let deadline = Instant::now() + timeout;
        let outcome = self.stop_by(deadline, timeout);
        if outcome.is_err() {
            // The first failure is the reason; how the process ended after it is not.
            drop(self.child.terminate());
        }
        outcome
    }

    /// Kills the process group at once and reaps the runner.
    pub fn kill(mut self) {
        drop(self.child.kill());
    }

    fn stop_by(&mut self, deadline: Instant, timeout: Duration) -> Result<End, CellError> {
        let at_end = self.control_group().map(|group| group.look(self.pid()));
        self.send("stopped", &Command::Stop)?;
        let stopped = loop {
            match self.event("stopped", deadline, timeout)? {
                Event::Stopped(stopped) => break stopped,
                // A task that is cut short has a result all the same.
                result @ (Event::Result(_) | Event::Pipeline(_)) => self.early = Some(result),
                other => return Err(out_of_turn("stopped", &other)),
            }
        };
        self.child.close_input();
        let awaited = "its exit with status 0";
        let reaped = self.child.wait(deadline).map_err(|source| CellError::Pipe { awaited, source })?;
        let Some(reaped) = reaped else {
            return Err(CellError::TimedOut { awaited, limit: timeout, last_words: self.last_words() });
        };
        if reaped.exit() != Exit::Status(0) {
            return Err(CellError::Died { awaited, exit: reaped.exit(), last_words: self.last_words() });
        }
        let wall = self.began.elapsed();
        let of = |(group, when_ready): &(ControlGroup, Look)| Some(group.held([*when_ready, at_end?], wall));
        let held = self.group.as_ref().and_then(of);
        Ok(End { stopped, usage: reaped.usage, rss_max_bytes: reaped.rss_max_bytes, held })
    }

    fn result_event(&mut self, timeout: Duration) -> Result<Event, CellError> {
        match self.early.take() {
            Some(result) => Ok(result),
            None => self.event("the result", Instant::now() + timeout, timeout),
        }
    }

    /// Writes one line. The lines are short and each but `stop` is answered, so the pipe has room.
    fn send(&mut self, awaited: &'static str, message: &impl Serialize) -> Result<(), CellError> {
        let mut line = serde_json::to_vec(message)
            .map_err(|error| CellError::Pipe { awaited, source: io::Error::other(error) })?;
        line.push(b'\n');
        match self.child.send(&line) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                // It does not listen; what it last said, or how it ended, tells more than the pipe does.
                Err(self.gone(awaited))
            }
            Err(source) => Err(CellError::Pipe { awaited, source }),
        }
    }

    fn event(
        &mut self,
        awaited: &'static str,
        deadline: Instant,
        limit: Duration,
    ) -> Result<Event, CellError> {
        let outcome = self.child.line(deadline, self.limits.interrupt.as_ref());
        match outcome.map_err(|source| CellError::Pipe { awaited, source })? {
            Outcome::Line(line) => {
                serde_json::from_str(&line).map_err(|error| nonsense(awaited, &line, error.to_string()))
            }
            Outcome::Closed => Err(self.gone(awaited)),
            Outcome::Stopped(signal) => {
                Err(CellError::Stopped { awaited, signal, last_words: self.last_words() })
            }
            Outcome::TooLong => Err(CellError::LineTooLong { awaited, bytes_max: LINE_BYTES_MAX }),
            Outcome::TimedOut => Err(CellError::TimedOut { awaited, limit, last_words: self.last_words() }),
            Outcome::Interrupted => Err(CellError::Interrupted { awaited }),
        }
    }

    /// The runner has closed its end: how it ended, or that it has not.
    fn gone(&mut self, awaited: &'static str) -> CellError {
        match self.child.wait(Instant::now() + EXIT_GRACE) {
            Ok(Some(reaped)) => {
                CellError::Died { awaited, exit: reaped.exit(), last_words: self.last_words() }
            }
            Ok(None) => CellError::Silent { awaited, last_words: self.last_words() },
            Err(source) => CellError::Pipe { awaited, source },
        }
    }

    fn last_words(&self) -> Option<String> {
        self.child.last_words()
    }
}

fn out_of_turn(awaited: &'static str, event: &Event) -> CellError {
    let line = serde_json::to_string(event).unwrap_or_default();
    nonsense(awaited, &line, "out of turn".to_owned())
}

pub(crate) fn nonsense(awaited: &'static str, line: &str, why: String) -> CellError {
    CellError::Nonsense { awaited, line: line.chars().take(NONSENSE_CHARS_MAX).collect(), why }
}
