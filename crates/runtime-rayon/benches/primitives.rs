//! What the primitives of a work-stealing pool cost, each in rayon's own words.

use std::hint::black_box;
use std::time::{Duration, Instant};

use primitive_benches::{Primitives, Support, batches, measured};
use rayon::{ThreadPool, ThreadPoolBuilder};

fn main() {
    let (one, two) = (threads(1), threads(2));
    primitive_benches::run(
        env!("CARGO_PKG_NAME"),
        Primitives {
            spawn_join: measured(|operations| two.install(|| spawn_join(operations))),
            switch: Support::Refused(
                "a job that gives way runs another one on its own stack, to its end: two jobs cannot take turns",
            ),
            wake: measured(|operations| wake(&one, operations)),
            hop: Support::Refused("rayon has no channel, and a job that waits for one would hold its thread"),
            offload: Support::Refused("rayon has one pool, in which a job holds its thread to its end"),
            lateness: Support::Refused("rayon has no timer: a job that waits sleeps as an OS thread does"),
        },
    );
}

fn threads(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started")
}

fn spawn_join(operations: u64) -> Duration {
    let began = Instant::now();
    for batch in batches(operations) {
        rayon::scope(|scope| (0..batch).for_each(|_| scope.spawn(|_| black_box(()))));
    }
    began.elapsed()
}

/// From outside to the pool's thread, and back.
fn wake(pool: &ThreadPool, operations: u64) -> Duration {
    let began = Instant::now();
    for round in 0..operations {
        assert_eq!(pool.install(|| black_box(round)), round);
    }
    began.elapsed() / 2
}
