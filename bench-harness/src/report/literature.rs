//! What others have measured of the primitives, to hold our own figures against: other machines, other programs and
//! other years, so that an order of magnitude is all that can be compared.

use workload::Primitive;

/// A figure from a source.
pub(super) struct Known {
    pub(super) primitive: Primitive,
    /// What it is a figure of, in a few words.
    pub(super) of: &'static str,
    pub(super) ns: f64,
    /// How it was measured, and what of it was computed here.
    pub(super) how: &'static str,
    pub(super) source: &'static str,
}

const BLANDY: &str = "Jim Blandy, Comparison of Rust async and Linux thread context switch time and memory use, github.com/jimblandy/context-switch";
const TOKIO: &str = "Making the Tokio scheduler 10x faster, tokio.rs/blog/2019-10-scheduler; how many in a run: tokio's benches/rt_multi_threaded.rs";
const TLPI: &str = "Michael Kerrisk, The Linux Programming Interface, table 28-3, as embeddedpathashala.com/speed-of-process-creation quotes it";
const SWEEP: &str = "tokio's mpsc against crossbeam's channel, punkeel.com/posts/tokio-mpsc-sweep";

/// In the order of [`Primitive::ALL`].
pub(super) const KNOWN: &[Known] = &[
    Known {
        primitive: Primitive::SpawnJoin,
        of: "thread",
        ns: 17_000.0,
        how: "creation alone, a laptop with four cores",
        source: BLANDY,
    },
    Known {
        primitive: Primitive::SpawnJoin,
        of: "tokio task",
        ns: 300.0,
        how: "creation alone, a laptop with four cores",
        source: BLANDY,
    },
    Known {
        primitive: Primitive::SpawnJoin,
        of: "tokio task, chained",
        ns: 169.0,
        how: "chained_spawn: 168,854 ns for 1,000 tasks, each started by the one before",
        source: TOKIO,
    },
    Known {
        primitive: Primitive::SpawnJoin,
        of: "process",
        ns: 1_032_000.0,
        how: "vfork and exec, 969 a second, on Linux 2.6.27",
        source: TLPI,
    },
    Known {
        primitive: Primitive::Switch,
        of: "thread",
        ns: 1_700.0,
        how: "its summary of chains of 500 threads and tasks, between which a byte goes through pipes",
        source: BLANDY,
    },
    Known {
        primitive: Primitive::Switch,
        of: "tokio task",
        ns: 200.0,
        how: "its summary of the same, where no readiness of a pipe is waited for",
        source: BLANDY,
    },
    Known {
        primitive: Primitive::Switch,
        of: "tokio yield",
        ns: 73.2,
        how: "yield_many: 14,638,563 ns for 200 tasks that yield 1,000 times each, on four workers",
        source: TOKIO,
    },
    Known {
        primitive: Primitive::Switch,
        of: "stacks alone",
        ns: 2.9,
        how: "libfringe: 29 ns for 10 switches of stack, with no scheduler, on an i5-3470",
        source: "github.com/edef1c/libfringe/issues/58",
    },
    Known {
        primitive: Primitive::Wake,
        of: "thread, or tokio task woken by I/O",
        ns: 1_700.0,
        how: "its summary of the same, where readiness of a pipe is what wakes the next",
        source: BLANDY,
    },
    Known {
        primitive: Primitive::Hop,
        of: "crossbeam",
        ns: 29.5,
        how: "1,000 messages of 8 bytes sent and then received by one thread, on a Ryzen 9 9900X",
        source: SWEEP,
    },
    Known {
        primitive: Primitive::Hop,
        of: "tokio mpsc",
        ns: 56.7,
        how: "1,000 messages of 8 bytes sent and then received by one task, on a Ryzen 9 9900X",
        source: SWEEP,
    },
    Known {
        primitive: Primitive::Hop,
        of: "crossbeam, core to core",
        ns: 499.0,
        how: "median of one message from one core to another, on a Core Ultra 7 155H",
        source: "docs.rs/crate/nexus-channel/1.2.0",
    },
    Known {
        primitive: Primitive::Offload,
        of: "tokio spawn_blocking",
        ns: 3_720.0,
        how: "5.9561 ms for 100 batches of 16, on an M1 Max",
        source: "github.com/tokio-rs/tokio/pull/7748",
    },
    Known {
        primitive: Primitive::Lateness,
        of: "kernel's slack, at most",
        ns: 50_000.0,
        how: "by how much Linux may let a thread's timer be late, by default, to save wake-ups",
        source: "PR_SET_TIMERSLACK(2const), Linux manual pages",
    },
    Known {
        primitive: Primitive::Lateness,
        of: "tokio's tick",
        ns: 1_000_000.0,
        how: "sleep has a granularity of a millisecond: no measurement",
        source: "tokio's documentation of time::sleep, docs.rs/tokio",
    },
];
