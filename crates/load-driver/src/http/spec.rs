//! What load to offer, and whether a specification makes sense.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use workload::arrivals::{OpenArrivals, Spacing};

use super::HttpLoadError;

/// One load on one server, offered by one thread. Several processes ("shards") may offer parts of the same
/// load at the same time; see [`HttpLoad::OneEach`] and [`start_at_monotonic_ns`](Self::start_at_monotonic_ns).
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct HttpLoadSpec {
    /// Where the server listens.
    pub server: SocketAddr,
    /// The request target, for example `/run/wait=100ms?seed=7`.
    pub target: String,
    /// The exact body that a 200 must have; none accepts any body. A wrong one is an error of class `wrong-body`.
    pub expected_body: Option<String>,
    /// The connections of a closed or an open loop. Of one connection a request: the most that may be open at once; an
    /// arrival that finds all of them in use is not delayed but counted as an error of class `connection-limit`.
    pub connections: usize,
    /// How requests arrive.
    pub load: HttpLoad,
    /// A request that has no answer this long after it began (in an open loop: after its intended start, whether it was
    /// sent or not) has timed out, and its connection is closed.
    pub timeout_ns: u64,
    /// How long to wait, after the end of the load, for requests in flight.
    pub drain_ns: u64,
    /// The CPUs that the calling thread may use while it offers the load; empty leaves it as it is.
    pub cpus: Vec<usize>,
    /// Take the source addresses 127.0.0.1 to 127.0.0.254 in turn, so that the ephemeral ports of one address pair
    /// (28,232 by default) are not the limit. The server must then listen on 127.0.0.0/8.
    pub spread_sources: bool,
    /// The instant of `CLOCK_MONOTONIC` at which the load starts, so that several processes start together; none
    /// starts as soon as all is ready. A run that is not ready by then is an error, not a shorter run.
    pub start_at_monotonic_ns: Option<u64>,
}

/// How requests arrive.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HttpLoad {
    /// Closed loop: each connection sends its next request when the answer to the last one has come. All
    /// connections are opened before the start.
    ///
    /// The window begins when the warm-up ends. It counts the requests that finish inside it, also those that began
    /// in the warm-up, and not those that finish during the drain: in a steady state these are as many, so that
    /// `completed / elapsed_ns` is the throughput. Nothing of the warm-up enters any figure but
    /// [`warmup_finished`](super::HttpLoadResult::warmup_finished).
    Closed {
        /// Time before the window.
        warmup_ns: u64,
        /// Length of the window.
        duration_ns: u64,
    },
    /// Connections of one request each. Request `i` of `0..requests` is intended to start at
    /// `start + i * spread_ns / requests`; its connection is opened then, and its response time counts from then. The
    /// request asks the server to close the connection.
    ///
    /// This thread takes the requests `first`, `first + stride`, `first + 2 * stride` and so on, so that n shards with
    /// stride n and first 0 to n-1 interleave to the whole schedule.
    OneEach {
        /// Requests of the whole schedule, those of other shards among them.
        requests: usize,
        /// Time over which the intended starts are spread evenly; zero is a burst.
        spread_ns: u64,
        /// First request of this shard.
        first: usize,
        /// Step from one request of this shard to the next; 1 where there is one shard.
        stride: usize,
    },
    /// Open loop: requests begin by a schedule, however the server keeps up, over keep-alive connections that are all
    /// opened before the start. A request takes the connection that has been free for longest, so that all of them,
    /// and all of the server's workers, get their share; where none is free it waits its turn, first come, first
    /// served, and that wait is counted apart.
    ///
    /// A request belongs to the window if its intended start does, and then it has an outcome, also where that comes
    /// in the drain; requests that wait for a connection are still sent then. Those intended in the warm-up enter no
    /// figure but [`warmup_finished`](super::HttpLoadResult::warmup_finished), the numbers in flight and waiting,
    /// and [`completed_in_window`](super::HttpLoadResult::completed_in_window).
    ///
    /// This thread takes every `stride`-th request from `first` on, as with [`OneEach`](Self::OneEach).
    Open {
        /// Requests a second of the whole schedule, those of other shards among them.
        rate_per_s: f64,
        /// How they follow each other.
        arrivals: Spacing,
        /// What Poisson gaps are drawn from. Shards of one load must have the same.
        seed: u64,
        /// Time before the window, in which requests are sent too.
        warmup_ns: u64,
        /// Length of the window.
        duration_ns: u64,
        /// First request of this shard.
        first: usize,
        /// Step from one request of this shard to the next; 1 where there is one shard.
        stride: usize,
    },
}

impl HttpLoadSpec {
    /// Checks what can be checked without opening a socket.
    pub(super) fn validate(&self) -> Result<(), HttpLoadError> {
        let refuse = |what: String| Err(HttpLoadError::InvalidSpec { what });
        let bad_target = |c: char| c.is_ascii_control() || c == ' ' || !c.is_ascii();
        if !self.target.starts_with('/') || self.target.contains(bad_target) {
            return refuse(format!(
                "the target must begin with `/` and have no space or control character, and is {:?}",
                self.target
            ));
        }
        if self.connections == 0 || self.connections > MAX_CONNECTIONS {
            return refuse(format!(
                "connections must be from 1 to {MAX_CONNECTIONS}, and are {}",
                self.connections
            ));
        }
        if self.timeout_ns == 0 {
            return refuse("timeout_ns must be above zero".to_owned());
        }
        if self.spread_sources && !matches!(self.server, SocketAddr::V4(v4) if v4.ip().is_loopback()) {
            return refuse(format!(
                "spread_sources needs a server in 127.0.0.0/8, and this one is at {}",
                self.server
            ));
        }
        match self.load {
            HttpLoad::Closed { duration_ns: 0, .. } | HttpLoad::Open { duration_ns: 0, .. } => {
                refuse("duration_ns must be above zero".to_owned())
            }
            HttpLoad::OneEach { stride: 0, .. } | HttpLoad::Open { stride: 0, .. } => {
                refuse("stride must be at least 1".to_owned())
            }
            HttpLoad::Open { rate_per_s, warmup_ns, duration_ns, stride, .. } => {
                if !(rate_per_s.is_finite() && rate_per_s > 0.0) {
                    return refuse(format!("rate_per_s must be above zero and finite, and is {rate_per_s}"));
                }
                let longest_ns = self.timeout_ns.min(warmup_ns.saturating_add(duration_ns));
                let waiting = rate_per_s / stride as f64 * Duration::from_nanos(longest_ns).as_secs_f64();
                if waiting > WAITING_MAX {
                    return refuse(format!(
                        "up to {waiting:.0} requests could wait for a connection, and {WAITING_MAX} are the most: lower \
                         rate_per_s or timeout_ns, or use more shards"
                    ));
                }
                Ok(())
            }
            HttpLoad::Closed { .. } | HttpLoad::OneEach { .. } => Ok(()),
        }
    }

    /// The whole schedule of an open loop, from the start of its warm-up; none of another load.
    pub(super) fn open_arrivals(&self) -> Option<OpenArrivals> {
        let HttpLoad::Open { rate_per_s, arrivals, seed, warmup_ns, duration_ns, .. } = self.load else {
            return None;
        };
        let duration = Duration::from_nanos(warmup_ns.saturating_add(duration_ns));
        Some(OpenArrivals { rate_per_s, spacing: arrivals, seed, duration })
    }

    /// Sockets that this load may have open at once.
    pub(super) fn sockets_max(&self) -> usize {
        match self.load {
            HttpLoad::Closed { .. } | HttpLoad::Open { .. } => self.connections,
            HttpLoad::OneEach { requests, first, stride, .. } => {
                self.connections.min(requests.saturating_sub(first).div_ceil(stride))
            }
        }
    }

    /// The bytes of every request.
    pub(super) fn request(&self) -> Vec<u8> {
        // A server that closes first keeps the TIME_WAIT state on its side, where it costs no ephemeral port.
        let close = match self.load {
            HttpLoad::Closed { .. } | HttpLoad::Open { .. } => "",
            HttpLoad::OneEach { .. } => "Connection: close\r\n",
        };
        format!("GET {} HTTP/1.1\r\nHost: {}\r\n{close}\r\n", self.target, self.server).into_bytes()
    }
}

/// More than any descriptor limit in use, and few enough that a slot number fits 32 bits.
const MAX_CONNECTIONS: usize = 16_777_216;
/// The most requests of an open loop that may wait for a connection: their queue takes 24 bytes each, here 100 MB.
const WAITING_MAX: f64 = 4_194_304.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> HttpLoadSpec {
        HttpLoadSpec {
            server: "127.0.0.1:80".parse().expect("an address"),
            target: "/run/wait=1ms?seed=7".to_owned(),
            expected_body: None,
            connections: 10,
            load: HttpLoad::OneEach { requests: 7, spread_ns: 0, first: 1, stride: 3 },
            timeout_ns: 1,
            drain_ns: 1,
            cpus: Vec::new(),
            spread_sources: false,
            start_at_monotonic_ns: None,
        }
    }

    #[test]
    fn a_shard_needs_sockets_for_its_own_requests_only() {
        assert_eq!(spec().sockets_max(), 2); // requests 1 and 4
        assert_eq!(HttpLoadSpec { connections: 1, ..spec() }.sockets_max(), 1);
        let load = HttpLoad::OneEach { requests: 1, spread_ns: 0, first: 1, stride: 2 };
        assert_eq!(HttpLoadSpec { load, ..spec() }.sockets_max(), 0);
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        assert!(spec().validate().is_ok());
        let closed = HttpLoad::Closed { warmup_ns: 0, duration_ns: 0 };
        let no_stride = HttpLoad::OneEach { requests: 1, spread_ns: 0, first: 0, stride: 0 };
        let open = |rate_per_s, duration_ns, stride| HttpLoadSpec {
            load: HttpLoad::Open {
                rate_per_s,
                arrivals: Spacing::Poisson,
                seed: 1,
                warmup_ns: 0,
                duration_ns,
                first: 0,
                stride,
            },
            timeout_ns: 10_000_000_000,
            ..spec()
        };
        assert!(open(1_000.0, 1, 1).validate().is_ok());
        for (spec, reason) in [
            (HttpLoadSpec { target: "run".to_owned(), ..spec() }, "target"),
            (HttpLoadSpec { target: "/a\r\nX: y".to_owned(), ..spec() }, "target"),
            (HttpLoadSpec { connections: 0, ..spec() }, "connections"),
            (HttpLoadSpec { timeout_ns: 0, ..spec() }, "timeout_ns"),
            (
                HttpLoadSpec {
                    server: "10.0.0.1:80".parse().expect("an address"),
                    spread_sources: true,
                    ..spec()
                },
                "127.0.0.0/8",
            ),
            (HttpLoadSpec { load: closed, ..spec() }, "duration_ns"),
            (HttpLoadSpec { load: no_stride, ..spec() }, "stride"),
            (open(1_000.0, 1, 0), "stride"),
            (open(1_000.0, 0, 1), "duration_ns"),
            (open(0.0, 1, 1), "rate_per_s"),
            (open(f64::NAN, 1, 1), "rate_per_s"),
            (open(f64::INFINITY, 1, 1), "rate_per_s"),
            (open(1e6, u64::MAX, 1), "10000000 requests could wait"),
        ] {
            let error = spec.validate().expect_err("refused").to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_spec_goes_through_json() {
        let open = HttpLoad::Open {
            rate_per_s: 1_000.5,
            arrivals: Spacing::Constant,
            seed: 1,
            warmup_ns: 2,
            duration_ns: 3,
            first: 0,
            stride: 1,
        };
        for spec in [spec(), HttpLoadSpec { load: open, ..spec() }] {
            let json = serde_json::to_string(&spec).expect("serialised");
            assert_eq!(serde_json::from_str::<HttpLoadSpec>(&json).expect("deserialised"), spec);
        }
    }
}
