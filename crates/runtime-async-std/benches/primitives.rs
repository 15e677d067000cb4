//! What the primitives of the async-std event loop cost, each in async-std's own words.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_global_executor::GlobalExecutorConfig;
use async_std::{channel, task};
use primitive_benches::{Apart, CHANNEL_CAPACITY, Primitives, batches, measured};

fn main() {
    if primitive_benches::is_apart() {
        workers(1);
        return primitive_benches::serve(|operations| on_a_worker(switch(operations)));
    }
    workers(2);
    // The number of workers is a process's, once and for all.
    let mut one_worker = Apart::start();
    primitive_benches::run(
        env!("CARGO_PKG_NAME"),
        Primitives {
            spawn_join: measured(|operations| on_a_worker(spawn_join(operations))),
            switch: measured(|operations| one_worker.measure(operations)),
            wake: measured(|operations| task::block_on(wake(operations))),
            hop: measured(|operations| on_a_worker(hop(operations))),
            offload: measured(|operations| on_a_worker(offload(operations))),
            lateness: measured(|operations| on_a_worker(lateness(operations))),
        },
    );
}

fn workers(workers: usize) {
    let executor =
        GlobalExecutorConfig::default().with_env_var("").with_min_threads(workers).with_max_threads(workers);
    async_global_executor::init_with_config(executor);
}

fn on_a_worker(measured: impl Future<Output = Duration> + Send + 'static) -> Duration {
    task::block_on(task::spawn(measured))
}

async fn spawn_join(operations: u64) -> Duration {
    let began = Instant::now();
    for batch in batches(operations) {
        let tasks: Vec<_> = (0..batch).map(|_| task::spawn(async {})).collect();
        for task in tasks {
            task.await;
        }
    }
    began.elapsed()
}

async fn switch(operations: u64) -> Duration {
    let turn = Arc::new(AtomicU64::new(0));
    let other = task::spawn(take_turns(Arc::clone(&turn), 1, operations));
    let began = Instant::now();
    take_turns(turn, 0, operations).await;
    other.await;
    began.elapsed()
}

async fn take_turns(turn: Arc<AtomicU64>, first: u64, end: u64) {
    for mine in (first..end).step_by(2) {
        while turn.load(Ordering::Acquire) != mine {
            task::yield_now().await;
        }
        turn.store(mine + 1, Ordering::Release);
    }
}

/// Between a task on a worker and the thread that is in `block_on`: which worker a woken task goes to, async-std does not
/// let one say.
async fn wake(operations: u64) -> Duration {
    let (to_other, asked) = channel::bounded(1);
    let (to_here, answered) = channel::bounded(1);
    task::spawn(async move {
        while let Ok(round) = asked.recv().await {
            to_here.send(round).await.expect("it is awaited");
        }
    });
    let began = Instant::now();
    for round in 0..operations {
        to_other.send(round).await.expect("it is awaited");
        assert_eq!(answered.recv().await, Ok(round));
    }
    began.elapsed() / 2
}

async fn hop(operations: u64) -> Duration {
    let (sender, receiver) = channel::bounded(CHANNEL_CAPACITY);
    let began = Instant::now();
    task::spawn(async move {
        for message in 0..operations {
            sender.send(message).await.expect("it is received");
        }
    });
    for message in 0..operations {
        assert_eq!(receiver.recv().await, Ok(message));
    }
    began.elapsed()
}

async fn offload(operations: u64) -> Duration {
    let began = Instant::now();
    for _ in 0..operations {
        task::spawn_blocking(|| ()).await;
    }
    began.elapsed()
}

async fn lateness(operations: u64) -> Duration {
    let mut late = Duration::ZERO;
    for asked in (0..operations).map(primitive_benches::wait) {
        let began = Instant::now();
        task::sleep(asked).await;
        late += began.elapsed().checked_sub(asked).expect("a sleep is never shorter");
    }
    late
}
