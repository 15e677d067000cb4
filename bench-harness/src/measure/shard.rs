//! One process of the load client: the harness executed again, so that client and server share no descriptor limit and
//! no memory. It is told what to do, and answers, in lines of JSON.

use std::env;
use std::io;
use std::time::{Duration, Instant};

use cell_control::{Child, Outcome, SignalName};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::interrupt::Interrupt;

/// How long one that has said its last may take to be gone.
const END_LIMIT: Duration = Duration::from_secs(1);

/// A process of the client. It is killed and reaped when this is dropped.
#[derive(Debug)]
pub(super) struct Shard {
    child: Child,
}

impl Shard {
    /// Starts this executable with one of its hidden commands.
    pub(super) fn start(command: &[&str]) -> io::Result<Shard> {
        Ok(Shard { child: Child::start(&env::current_exe()?, command)? })
    }

    /// The process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Tells it one thing. One that has ended says why when it is asked for an answer.
    pub(super) fn tell(&mut self, what: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(what).map_err(io::Error::other)?;
        line.push(b'\n');
        match self.child.send(&line) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            sent => sent,
        }
    }

    /// Waits for an answer until `deadline`, or until the run is interrupted: then there is none.
    ///
    /// # Errors
    ///
    /// There will be none. Why, in words.
    pub(super) fn answer<T: DeserializeOwned>(
        &mut self,
        deadline: Instant,
        interrupt: &Interrupt,
    ) -> Result<Option<T>, String> {
        let outcome = self.child.line(deadline, Some(&interrupt.flag()));
        match outcome.map_err(|error| format!("cannot read from the client: {error}"))? {
            Outcome::Line(line) => {
                serde_json::from_str(&line).map(Some).map_err(|error| nonsense(&error.to_string()))
            }
            Outcome::TimedOut | Outcome::Interrupted => Ok(None),
            Outcome::TooLong => Err(nonsense("a line without an end")),
            Outcome::Stopped(signal) => Err(self.failed(&format!("was stopped by {}", SignalName(signal)))),
            Outcome::Closed => {
                let ended = self.child.wait(Instant::now() + END_LIMIT);
                let ended = ended.map_err(|error| format!("cannot wait for the client: {error}"))?;
                let how = ended.map(|reaped| reaped.exit().to_string());
                Err(self.failed(how.as_deref().unwrap_or("closed its standard output")))
            }
        }
    }

    fn failed(&self, how: &str) -> String {
        let said = self.child.last_words().map(|words| format!("; it said: {words}"));
        format!("the client {how}{}", said.unwrap_or_default())
    }
}

fn nonsense(why: &str) -> String {
    format!("the client talks nonsense: {why}")
}
