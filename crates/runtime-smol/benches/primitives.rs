//! What the primitives of the smol event loop cost, each in smol's own words.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use primitive_benches::{CHANNEL_CAPACITY, Primitives, batches, measured};
use smol::channel;
use smol::future::yield_now;
use smol::{Executor, Timer};

fn main() {
    let (one, two) = (workers(1), workers(2));
    primitive_benches::run(
        env!("CARGO_PKG_NAME"),
        Primitives {
            spawn_join: measured(|operations| on_a_worker(two, spawn_join(two, operations))),
            switch: measured(|operations| on_a_worker(one, switch(one, operations))),
            wake: measured(|operations| smol::block_on(wake(one, operations))),
            hop: measured(|operations| on_a_worker(two, hop(two, operations))),
            offload: measured(|operations| on_a_worker(two, offload(operations))),
            lateness: measured(|operations| on_a_worker(two, lateness(operations))),
        },
    );
}

type Workers = &'static Executor<'static>;

/// An executor, and so many threads that run it until the process ends.
fn workers(workers: usize) -> Workers {
    let executor: Workers = Box::leak(Box::new(Executor::new()));
    for _ in 0..workers {
        thread::spawn(|| smol::block_on(executor.run(std::future::pending::<()>())));
    }
    executor
}

fn on_a_worker(executor: Workers, measured: impl Future<Output = Duration> + Send + 'static) -> Duration {
    smol::block_on(executor.spawn(measured))
}

async fn spawn_join(executor: Workers, operations: u64) -> Duration {
    let began = Instant::now();
    for batch in batches(operations) {
        let tasks: Vec<_> = (0..batch).map(|_| executor.spawn(async {})).collect();
        for task in tasks {
            task.await;
        }
    }
    began.elapsed()
}

async fn switch(executor: Workers, operations: u64) -> Duration {
    let turn = Arc::new(AtomicU64::new(0));
    let other = executor.spawn(take_turns(Arc::clone(&turn), 1, operations));
    let began = Instant::now();
    take_turns(turn, 0, operations).await;
    other.await;
    began.elapsed()
}

async fn take_turns(turn: Arc<AtomicU64>, first: u64, end: u64) {
    for mine in (first..end).step_by(2) {
        while turn.load(Ordering::Acquire) != mine {
            yield_now().await;
        }
        turn.store(mine + 1, Ordering::Release);
    }
}

/// Between a task on the worker and the thread that is in `block_on`: which worker a woken task goes to, smol does not let
/// one say.
async fn wake(executor: Workers, operations: u64) -> Duration {
    let (to_other, asked) = channel::bounded(1);
    let (to_here, answered) = channel::bounded(1);
    let other = executor.spawn(async move {
        while let Ok(round) = asked.recv().await {
            to_here.send(round).await.expect("it is awaited");
        }
    });
    let began = Instant::now();
    for round in 0..operations {
        to_other.send(round).await.expect("it is awaited");
        assert_eq!(answered.recv().await, Ok(round));
    }
    let took = began.elapsed();
    drop(to_other);
    other.await;
    took / 2
}

async fn hop(executor: Workers, operations: u64) -> Duration {
    let (sender, receiver) = channel::bounded(CHANNEL_CAPACITY);
    let began = Instant::now();
    let sending = executor.spawn(async move {
        for message in 0..operations {
            sender.send(message).await.expect("it is received");
        }
    });
    for message in 0..operations {
        assert_eq!(receiver.recv().await, Ok(message));
    }
    sending.await;
    began.elapsed()
}

async fn offload(operations: u64) -> Duration {
    let began = Instant::now();
    for _ in 0..operations {
        smol::unblock(|| ()).await;
    }
    began.elapsed()
}

async fn lateness(operations: u64) -> Duration {
    let mut late = Duration::ZERO;
    for asked in (0..operations).map(primitive_benches::wait) {
        let began = Instant::now();
        Timer::after(asked).await;
        late += began.elapsed().checked_sub(asked).expect("a sleep is never shorter");
    }
    late
}
