//! The suite that every runtime passes, through its binary.
//!
//! A check starts the runner as the harness does, offers it requests over the cell protocol or HTTP,
//! and judges what comes back. It links no runtime and knows none by name: what it expects follows
//! from what the runner says of itself. [`CHECKS`] is the table of contents.
//!
//! A runtime crate takes the suite on with one line in `tests/conformance.rs`:
//!
//! ```ignore
//! conformance::suite!(env!("CARGO_BIN_EXE_runtime-tokio"));
//! ```
//!
//! Time bounds are strict below and loose above: an answer that comes before its plan is over is
//! wrong on any machine, and one that comes late may only mean a busy one.

mod calibration;
mod checks;
mod client;
mod exposition;
mod failure;
mod pin;
mod proc;
mod program;
mod report;
mod run;
mod serving;
mod subject;

pub use calibration::rounds_per_us;
pub use checks::CHECKS;
pub use client::{Client, HttpError, Response};
pub use exposition::{ExpositionError, Sample, parse_exposition};
pub use failure::{Failure, Seen};
pub use pin::check_pin;
pub use report::{CheckResult, Verdict};
pub use run::{Options, assert_conforms, run};
pub use subject::Subject;

use cell_protocol::Ability;

/// One thing that every runtime must do.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name, `pipelining`.
    pub name: &'static str,
    /// What is required, in one line.
    pub what: &'static str,
    /// The ability without which the check cannot be made. A variant that refuses it is not failed.
    pub needs: Option<Ability>,
    /// Makes the check, and says what was seen.
    pub run: fn(&Subject<'_>) -> Seen,
}

/// The one line of a runtime's `tests/conformance.rs`: a test that runs every check on every variant.
#[macro_export]
macro_rules! suite {
    ($runner:expr) => {
        #[test]
        fn conforms() {
            $crate::assert_conforms($runner.as_ref(), env!("CARGO_MANIFEST_DIR").as_ref());
        }
    };
}
