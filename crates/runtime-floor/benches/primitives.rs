//! What there is of the primitives where there is no model: a wait of the thread itself.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use primitive_benches::{Primitives, measured};

fn main() {
    // The heap of deadlines waits for the first of them or for a new request, whichever comes first.
    let (_requests, queue) = crossbeam_channel::bounded::<()>(1);
    primitive_benches::run(
        env!("CARGO_PKG_NAME"),
        Primitives {
            lateness: measured(|operations| lateness(&queue, operations)),
            ..Primitives::refused("there is no model around the work: one thread does all of it")
        },
    );
}

fn lateness(queue: &Receiver<()>, operations: u64) -> Duration {
    let late = |asked: Duration| {
        let began = Instant::now();
        assert_eq!(queue.recv_timeout(asked), Err(RecvTimeoutError::Timeout));
        began.elapsed().checked_sub(asked).expect("a wait is never shorter")
    };
    (0..operations).map(primitive_benches::wait).map(late).sum()
}
