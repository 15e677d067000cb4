//! What the primitives of stackful coroutines cost, each in may's own words.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use execution_model::{BlockingStrategy, Progress};
use may::coroutine::{self, JoinHandle};
use may::sync::mpsc;
use primitive_benches::{Apart, Primitives, batches, measured};

#[expect(dead_code, reason = "how a handler offloads, with what else it does beside that")]
#[path = "../src/blocking.rs"]
mod blocking;
#[path = "../src/suspend.rs"]
mod suspend;

fn main() {
    if primitive_benches::is_apart() {
        workers(1);
        return primitive_benches::serve(|operations| in_a_coroutine(move || switch(operations)));
    }
    workers(2);
    // The number of workers is a process's, once and for all.
    let mut one_worker = Apart::start();
    primitive_benches::run(
        env!("CARGO_PKG_NAME"),
        Primitives {
            spawn_join: measured(|operations| in_a_coroutine(move || spawn_join(operations))),
            switch: measured(|operations| one_worker.measure(operations)),
            wake: measured(wake),
            hop: measured(|operations| in_a_coroutine(move || hop(operations))),
            offload: measured(|operations| in_a_coroutine(move || offload(operations))),
            lateness: measured(|operations| in_a_coroutine(move || lateness(operations))),
        },
    );
}

fn workers(workers: usize) {
    may::config().set_workers(workers).set_worker_pin(false);
    blocking::start(1);
}

fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // SAFETY: nothing here keeps a reference to a thread-local over a wait, or comes near the end of its stack.
    #[expect(unsafe_code, reason = "may's spawn is unsafe")]
    unsafe {
        coroutine::spawn(work)
    }
}

fn in_a_coroutine(measured: impl FnOnce() -> Duration + Send + 'static) -> Duration {
    spawn(measured).join().expect("nothing panics")
}

fn spawn_join(operations: u64) -> Duration {
    let began = Instant::now();
    for batch in batches(operations) {
        let coroutines: Vec<_> = (0..batch).map(|_| spawn(|| ())).collect();
        coroutines.into_iter().for_each(|coroutine| coroutine.join().expect("it does nothing"));
    }
    began.elapsed()
}

fn switch(operations: u64) -> Duration {
    let turn = Arc::new(AtomicU64::new(0));
    let (up, is_up) = mpsc::channel();
    let others = Arc::clone(&turn);
    let other = spawn(move || {
        up.send(()).expect("it is awaited");
        take_turns(&others, 1, operations);
    });
    // A worker that has a coroutine which gives way takes none that is new, so they begin one after the other.
    is_up.recv().expect("it begins");
    let began = Instant::now();
    take_turns(&turn, 0, operations);
    other.join().expect("it takes turns");
    began.elapsed()
}

fn take_turns(turn: &AtomicU64, first: u64, end: u64) {
    for mine in (first..end).step_by(2) {
        while turn.load(Ordering::Acquire) != mine {
            coroutine::yield_now();
        }
        turn.store(mine + 1, Ordering::Release);
    }
}

/// Between a coroutine and this thread, in which may's channels wait too: which worker a woken coroutine goes to, may
/// does not let one say.
fn wake(operations: u64) -> Duration {
    let (to_other, asked) = mpsc::channel();
    let (to_here, answered) = mpsc::channel();
    let other =
        spawn(move || asked.iter().for_each(|round: u64| to_here.send(round).expect("it is awaited")));
    let began = Instant::now();
    for round in 0..operations {
        to_other.send(round).expect("it is awaited");
        assert_eq!(answered.recv(), Ok(round));
    }
    let took = began.elapsed();
    drop(to_other);
    other.join().expect("it answers");
    took / 2
}

/// may has no channel with a bound: the sender may be as far ahead as it gets.
fn hop(operations: u64) -> Duration {
    let (sender, receiver) = mpsc::channel();
    let began = Instant::now();
    let sending = spawn(move || {
        (0..operations).for_each(|message| sender.send(message).expect("it is received"));
    });
    assert!(receiver.iter().eq(0..operations), "each message comes once, in turn");
    sending.join().expect("it sends");
    began.elapsed()
}

/// may has no pool for blocking calls: this is the runtime crate's own.
fn offload(operations: u64) -> Duration {
    let began = Instant::now();
    let mut progress = Progress::new(0);
    for _ in 0..operations {
        progress = blocking::compute(progress, 0, BlockingStrategy::Offload);
    }
    began.elapsed()
}

/// As a handler waits.
fn lateness(operations: u64) -> Duration {
    let late = |asked: Duration| {
        let began = Instant::now();
        suspend::sleep(asked);
        began.elapsed().checked_sub(asked).expect("a sleep is never shorter")
    };
    (0..operations).map(primitive_benches::wait).map(late).sum()
}
