//! What passes between harness and runner once a cell has begun.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use latency_histogram::Histogram;
use serde::{Deserialize, Serialize};
use workload::pipeline::PipelineLevels;
use workload::{LoopLag, RequestCounts, ServerCounts};

use crate::pipeline::PipelineResult;

/// What the harness tells a runner, after the cell's spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum Command {
    /// Start to measure, or take it that load will come.
    Go,
    /// Report counts and usage at one instant.
    Snapshot,
    /// Drain and end.
    Stop,
}

/// What a runner tells the harness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The runtime is up.
    Ready(Ready),
    /// Counts and usage at one instant.
    Snapshot(Snapshot),
    /// An in-process task has ended.
    Result(Box<ArrivalsResult>),
    /// The pipeline has been drained.
    Pipeline(Box<PipelineResult>),
    /// The runtime is down.
    Stopped(Stopped),
}

/// The runtime is up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The runner's process id.
    pub pid: u32,
    /// Where the server listens, for a server.
    pub listen: Option<SocketAddr>,
}

/// The runtime is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// Requests that were accepted and had not finished by the drain deadline.
    pub unfinished: u64,
    /// The server's counts after its drain, for a server.
    pub server: Option<ServerCounts>,
    /// What the process, and the children that it has reaped, used up to here.
    pub usage: Usage,
}

/// Counts and usage, read at one instant by a thread outside the runtime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// `CLOCK_MONOTONIC`, in nanoseconds: the same clock in every process of the machine.
    pub at_monotonic_ns: u64,
    /// The server's counts, for a server.
    pub server: Option<ServerCounts>,
    /// Where the requests are, for requests in stages.
    #[serde(default)]
    pub requests: Option<RequestCounts>,
    /// Where the images are, for a pipeline.
    #[serde(default)]
    pub pipeline: Option<Box<PipelineLevels>>,
    /// How late the runtime's ticks came so far, for a server.
    pub loop_lag: Option<LoopLag>,
    /// What the process, and the children that it has reaped, used so far.
    pub usage: Usage,
}

/// CPU time and context switches since a process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Context switches because a thread waited.
    pub voluntary_switches: u64,
    /// Context switches because a thread's time was up.
    pub involuntary_switches: u64,
}

impl Usage {
    /// What was used from `earlier` to here.
    #[must_use]
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
        }
    }

    /// CPU time in both modes, in nanoseconds.
    #[must_use]
    pub fn cpu_ns(self) -> u64 {
        self.user_ns + self.system_ns
    }
}

/// What came of the requests that were offered in process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsResult {
    /// Requests that were handed to the runtime, counted one by one.
    pub offered: u64,
    /// Requests that carried out their plan.
    pub completed: u64,
    /// Requests handed back at dispatch, by reason.
    pub rejected: BTreeMap<String, u64>,
    /// Requests that started and failed, by class.
    pub failed: BTreeMap<String, u64>,
    /// Requests still running at the time limit.
    pub unfinished: u64,
    /// Requests that were dropped without a word. More than 0 is a bug of the runtime.
    pub lost: u64,
    /// Completed requests whose checksum was wrong.
    pub checksums_wrong: u64,
    /// An example of what the library said when it refused a request.
    pub rejection_example: Option<String>,
    /// The time in which the schedule has all its starts, in nanoseconds; 0 for a burst.
    pub schedule_ns: u64,
    /// From the first intended start to the last finish, in nanoseconds.
    pub elapsed_ns: u64,
    /// From the first intended start until the last request had been dispatched, in nanoseconds.
    pub dispatch_elapsed_ns: u64,
    /// The most requests in service at one time, however they ended, from their start and finish stamps.
    pub in_flight_peak: u64,
    /// The integral of requests in service over time, those that have not finished among them, in nanoseconds.
    pub in_flight_integral_ns: u64,
    /// The shortest service time, in nanoseconds.
    pub service_min_ns: u64,
    /// Usage while the requests ran.
    pub usage: Usage,
    /// Intended start to finish, of completed requests. Those that were unfinished are in it as "at least this long".
    pub response: Histogram,
    /// Start to finish, of completed requests.
    pub service: Histogram,
    /// Dispatch to start. Those that had not started are in it as "at least this long".
    pub queue_wait: Histogram,
    /// Intended start to dispatch, of every request.
    pub send_lag: Histogram,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_tagged_lines() {
        assert_eq!(serde_json::to_string(&Command::Go).unwrap(), r#"{"command":"go"}"#);
        let ready = Event::Ready(Ready { pid: 7, listen: "127.0.0.1:80".parse().ok() });
        let line = serde_json::to_string(&ready).unwrap();
        assert_eq!(line, r#"{"event":"ready","pid":7,"listen":"127.0.0.1:80"}"#);
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), ready);
        assert!(serde_json::from_str::<Event>(r#"{"event":"nonsense"}"#).is_err());
        let lag = LoopLag::from(vec![(1_023, 7)]);
        let snapshot = Snapshot {
            at_monotonic_ns: 1,
            server: None,
            requests: None,
            pipeline: None,
            loop_lag: Some(lag),
            usage: Usage::default(),
        };
        let line = serde_json::to_string(&Event::Snapshot(snapshot.clone())).unwrap();
        assert!(line.contains(r#""loop_lag":[[1023,7]]"#), "{line}");
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), Event::Snapshot(snapshot));
    }
}
