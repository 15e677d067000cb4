//! What came of each check.

use std::fmt;
use std::time::Duration;

/// One check on one variant.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// The check's name.
    pub check: &'static str,
    /// The variant as reports show it, `tokio:current-thread`.
    pub label: String,
    /// The variant's own name, `current-thread`.
    pub variant: String,
    /// What came of it.
    pub verdict: Verdict,
    /// How long it took.
    pub elapsed: Duration,
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The variant does what is required: what was seen.
    Passed(String),
    /// It does not: the reason.
    Failed(String),
    /// It says that it cannot do this at all: its reason.
    Refused(String),
}

impl CheckResult {
    /// Whether the check failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_))
    }
}

impl fmt::Display for CheckResult {
    /// One line: `FAILED tokio:current-thread pipelining: the third answer is of another request`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, text) = match &self.verdict {
            Verdict::Passed(seen) => ("passed", seen),
            Verdict::Failed(reason) => ("FAILED", reason),
            Verdict::Refused(reason) => ("refused", reason),
        };
        write!(f, "{word} {} {} ({:.1} s): {text}", self.label, self.check, self.elapsed.as_secs_f64())
    }
}
