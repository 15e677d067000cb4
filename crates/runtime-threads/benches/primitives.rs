//! What the primitives of OS threads cost, each in the standard library's own words.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use primitive_benches::{CHANNEL_CAPACITY, Primitives, Support, batches, measured};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

fn main() {
    primitive_benches::run(
        env!("CARGO_PKG_NAME"),
        Primitives {
            spawn_join: measured(spawn_join),
            switch: measured(switch),
            wake: measured(wake),
            hop: measured(hop),
            offload: Support::Refused(
                "a request has its thread to itself, so there is nothing to offload from it",
            ),
            lateness: measured(lateness),
        },
    );
}

fn spawn_join(operations: u64) -> Duration {
    let began = Instant::now();
    for batch in batches(operations) {
        let threads: Vec<_> = (0..batch).map(|_| thread::spawn(|| ())).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("it does nothing"));
    }
    began.elapsed()
}

/// Two threads on one CPU.
fn switch(operations: u64) -> Duration {
    let (turn, ready) = (AtomicU64::new(0), Barrier::new(2));
    let take_turns = |first: u64| {
        stay_on_one_cpu();
        ready.wait();
        let began = Instant::now();
        for mine in (first..operations).step_by(2) {
            while turn.load(Ordering::Acquire) != mine {
                thread::yield_now();
            }
            turn.store(mine + 1, Ordering::Release);
        }
        began.elapsed()
    };
    thread::scope(|scope| {
        let threads = [0, 1].map(|first| scope.spawn(move || take_turns(first)));
        threads.map(|thread| thread.join().expect("it takes turns"))[0]
    })
}

fn stay_on_one_cpu() {
    let allowed = sched_getaffinity(None).expect("a thread may ask");
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).expect("it runs on one");
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).expect("a thread may stay where it may be");
}

fn wake(operations: u64) -> Duration {
    let turn = AtomicU64::new(0);
    let wait_for = |mine: u64| {
        while turn.load(Ordering::Acquire) != mine {
            thread::park();
        }
    };
    let pass_to = |other: &Thread, next: u64| {
        turn.store(next, Ordering::Release);
        other.unpark();
    };
    let here = thread::current();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            for round in 0..operations {
                wait_for(2 * round + 1);
                pass_to(&here, 2 * round + 2);
            }
        });
        let began = Instant::now();
        for round in 0..operations {
            pass_to(other.thread(), 2 * round + 1);
            wait_for(2 * round + 2);
        }
        began.elapsed() / 2
    })
}

fn hop(operations: u64) -> Duration {
    let (sender, receiver) = mpsc::sync_channel(CHANNEL_CAPACITY);
    thread::scope(|scope| {
        let began = Instant::now();
        scope
            .spawn(move || (0..operations).for_each(|message| sender.send(message).expect("it is received")));
        assert!(receiver.iter().eq(0..operations), "each message comes once, in turn");
        began.elapsed()
    })
}

fn lateness(operations: u64) -> Duration {
    let late = |asked: Duration| {
        let began = Instant::now();
        thread::sleep(asked);
        began.elapsed().checked_sub(asked).expect("a sleep is never shorter")
    };
    (0..operations).map(primitive_benches::wait).map(late).sum()
}
