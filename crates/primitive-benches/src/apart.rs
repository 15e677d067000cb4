//! A measurement in a process of its own, for what a process can choose only once: a library's number of workers.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// What the bench's own program is told when it is started as the other process.
const APART: &str = "apart";

/// The other process: this program again, which ends with its standard input.
#[derive(Debug)]
pub struct Apart {
    child: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// Whether this is the other process, whose `main` must then [`serve`] and do nothing else.
#[must_use]
pub fn is_apart() -> bool {
    env::args().nth(1).is_some_and(|argument| argument == APART)
}

/// Carries out as many operations as it is asked for, again and again, until nobody asks any more.
pub fn serve(mut operations: impl FnMut(u64) -> Duration) {
    for line in io::stdin().lock().lines() {
        let asked = line.ok().and_then(|line| line.parse().ok()).expect("a number of operations");
        let took = operations(asked);
        writeln!(io::stdout().lock(), "{}", took.as_nanos()).expect("the parent reads");
    }
}

impl Apart {
    /// Starts it.
    ///
    /// # Panics
    ///
    /// Where the process cannot be started: there is nothing to measure then.
    #[must_use]
    pub fn start() -> Apart {
        let mut child = Command::new("/proc/self/exe")
            .arg(APART)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started again");
        let ask = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        Apart { child, ask, answers }
    }

    /// Has it carry out so many operations, and hands back the time that they took there.
    ///
    /// # Panics
    ///
    /// Where the other process has ended.
    pub fn measure(&mut self, operations: u64) -> Duration {
        let ask = self.ask.as_mut().expect("it is open until the end");
        writeln!(ask, "{operations}").expect("the other process reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the other process answers");
        Duration::from_nanos(answer.trim_end().parse().expect("a number of nanoseconds"))
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        // It reads to the end of its input.
        drop(self.ask.take());
        let _ended = self.child.wait();
    }
}
