//! The latency histogram, which lives in a crate of its own because rows and messages carry it too.

pub use latency_histogram::Histogram;
