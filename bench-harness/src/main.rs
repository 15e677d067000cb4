//! The harness: runs the same workloads on every execution model and reports what was measured.
//!
//! Data flows one way: an experiment's file and the runners that were found make cells, cells make rows, rows
//! make a summary, and the summary makes the report.

use std::process::ExitCode;

mod aa;
mod audit;
mod baseline;
mod benches;
mod better;
mod cgroup;
mod cli;
mod cmd;
mod compare;
mod contestant;
mod cpu_time;
mod doctor;
mod environment;
mod estimate;
mod exit;
mod experiment;
mod format;
mod interrupt;
mod limit;
mod matrix;
mod measure;
mod output;
mod percentile;
mod place;
mod predict;
mod progress;
mod quota;
mod ramp;
mod report;
mod row;
mod sample;
mod store;
mod style;
mod suggest;
mod summary;
mod table;
mod threads;
mod toml_file;

fn main() -> ExitCode {
    exit::code(cmd::run())
}
