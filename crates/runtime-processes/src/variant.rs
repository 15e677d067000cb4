//! What the names of variants stand for: what a worker process is made of, and how workers come by
//! connections.

use std::fmt;

/// As many as keep a worker busy where each request waits a little; a pool of its own size is `threads=N`.
const THREADS: usize = 16;
const THREADS_MAX: usize = 10_000;
const REUSE_PORT: &str = "reuse-port";

/// One configuration of the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) carrier: Carrier,
    /// Whether each worker has a listener of its own (`SO_REUSEPORT`), instead of a share in one.
    pub(crate) reuse_port: bool,
}

/// What carries requests out in a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// One thread and a heap of deadlines.
    EventLoop,
    /// A pool.
    Threads(usize),
}

impl Variant {
    /// The variants that reports show.
    pub(crate) fn all() -> Vec<Variant> {
        let shared = |carrier| Variant { carrier, reuse_port: false };
        vec![
            shared(Carrier::EventLoop),
            shared(Carrier::Threads(THREADS)),
            Variant { carrier: Carrier::EventLoop, reuse_port: true },
        ]
    }

    /// Reads `event-loop`, `threads` or `threads=N`, each also with `,reuse-port`.
    pub(crate) fn parse(name: &str) -> Result<Variant, String> {
        let unknown = || {
            let shown: Vec<String> = Variant::all().iter().map(Variant::to_string).collect();
            format!(
                "unknown variant {name:?}; there are {}, and threads=N (from 1 to {THREADS_MAX}, {THREADS} \
                 where no number is given), each also with ,{REUSE_PORT}",
                shown.join(", ")
            )
        };
        let (carrier, reuse_port) = match name.split_once(',') {
            Some((carrier, REUSE_PORT)) => (carrier, true),
            Some(_) => return Err(unknown()),
            None => (name, false),
        };
        let carrier = match carrier {
            "event-loop" => Carrier::EventLoop,
            "threads" => Carrier::Threads(THREADS),
            _ => match carrier.strip_prefix("threads=").and_then(|threads| threads.parse().ok()) {
                Some(threads @ 1..=THREADS_MAX) => Carrier::Threads(threads),
                _ => return Err(unknown()),
            },
        };
        Ok(Variant { carrier, reuse_port })
    }

    /// What it is, in one line.
    pub(crate) fn summary(&self, workers: usize) -> String {
        let carrier = match self.carrier {
            Carrier::EventLoop => "an event loop".into(),
            Carrier::Threads(threads) => format!("{threads} threads"),
        };
        let listener = if self.reuse_port { "a listener each" } else { "one listener" };
        format!("{workers} worker processes with {carrier} each, on {listener}")
    }

    /// How many requests one worker can have in service.
    pub(crate) fn places(&self) -> Option<usize> {
        match self.carrier {
            Carrier::EventLoop => None,
            Carrier::Threads(threads) => Some(threads),
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.carrier {
            Carrier::EventLoop => f.write_str("event-loop")?,
            Carrier::Threads(THREADS) => f.write_str("threads")?,
            Carrier::Threads(threads) => write!(f, "threads={threads}")?,
        }
        if self.reuse_port { write!(f, ",{REUSE_PORT}") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in ["event-loop", "threads", "threads=4", "event-loop,reuse-port", "threads=4,reuse-port"] {
            assert_eq!(Variant::parse(name).unwrap().to_string(), name);
        }
        assert_eq!(Variant::parse("threads=16").unwrap().to_string(), "threads");
        for name in ["", "threads=0", "event-loop,pinned", "reuse-port"] {
            assert!(Variant::parse(name).unwrap_err().contains("threads=N"), "{name}");
        }
    }
}
