//! What the primitives of the tokio event loop cost, each in tokio's own words.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use primitive_benches::{CHANNEL_CAPACITY, Primitives, batches, measured};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::{task, time};

fn main() {
    let (one, two) = (workers(1), workers(2));
    primitive_benches::run(
        env!("CARGO_PKG_NAME"),
        Primitives {
            spawn_join: measured(|operations| on_a_worker(&two, spawn_join(operations))),
            switch: measured(|operations| on_a_worker(&one, switch(operations))),
            wake: measured(|operations| one.block_on(wake(operations))),
            hop: measured(|operations| on_a_worker(&two, hop(operations))),
            offload: measured(|operations| on_a_worker(&two, offload(operations))),
            lateness: measured(|operations| on_a_worker(&two, lateness(operations))),
        },
    );
}

fn workers(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().expect("threads can be started")
}

fn on_a_worker(runtime: &Runtime, measured: impl Future<Output = Duration> + Send + 'static) -> Duration {
    runtime.block_on(runtime.spawn(measured)).expect("nothing panics")
}

async fn spawn_join(operations: u64) -> Duration {
    let began = Instant::now();
    for batch in batches(operations) {
        let tasks: Vec<_> = (0..batch).map(|_| task::spawn(async {})).collect();
        for task in tasks {
            task.await.expect("it does nothing");
        }
    }
    began.elapsed()
}

async fn switch(operations: u64) -> Duration {
    let turn = Arc::new(AtomicU64::new(0));
    let other = task::spawn(take_turns(Arc::clone(&turn), 1, operations));
    let began = Instant::now();
    take_turns(turn, 0, operations).await;
    other.await.expect("it takes turns");
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

/// Between a task on the worker and the thread that is in `block_on`: of two tasks on workers, one that is woken takes
/// the place behind its waker on the same worker.
async fn wake(operations: u64) -> Duration {
    let (to_other, mut asked) = mpsc::channel(1);
    let (to_here, mut answered) = mpsc::channel(1);
    task::spawn(async move {
        while let Some(round) = asked.recv().await {
            to_here.send(round).await.expect("it is awaited");
        }
    });
    let began = Instant::now();
    for round in 0..operations {
        to_other.send(round).await.expect("it is awaited");
        assert_eq!(answered.recv().await, Some(round));
    }
    began.elapsed() / 2
}

async fn hop(operations: u64) -> Duration {
    let (sender, mut receiver) = mpsc::channel(CHANNEL_CAPACITY);
    let began = Instant::now();
    task::spawn(async move {
        for message in 0..operations {
            sender.send(message).await.expect("it is received");
        }
    });
    for message in 0..operations {
        assert_eq!(receiver.recv().await, Some(message));
    }
    began.elapsed()
}

async fn offload(operations: u64) -> Duration {
    let began = Instant::now();
    for _ in 0..operations {
        task::spawn_blocking(|| ()).await.expect("it does nothing");
    }
    began.elapsed()
}

async fn lateness(operations: u64) -> Duration {
    let mut late = Duration::ZERO;
    for asked in (0..operations).map(primitive_benches::wait) {
        let began = Instant::now();
        time::sleep(asked).await;
        late += began.elapsed().checked_sub(asked).expect("a sleep is never shorter");
    }
    late
}
