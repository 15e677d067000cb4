//! A handler that panics must not end its worker: both colours of catching it.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A handler panicked. What it said has gone to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the handler panicked")]
pub struct Panicked;

/// Runs a blocking handler and turns a panic into a value.
///
/// Nothing that a handler touches outlives it but counters, so unwinding leaves nothing half done.
///
/// # Errors
///
/// The handler panicked.
pub fn catch_unwind<T>(handler: impl FnOnce() -> T) -> Result<T, Panicked> {
    std::panic::catch_unwind(AssertUnwindSafe(handler)).map_err(|_| Panicked)
}

pin_project_lite::pin_project! {
    /// An asynchronous handler whose panic becomes a value.
    #[derive(Debug)]
    #[must_use = "a future does nothing until it is polled"]
    pub struct CatchUnwind<F> {
        #[pin]
        handler: F,
    }
}

impl<F: Future> CatchUnwind<F> {
    /// Wraps a handler.
    pub fn new(handler: F) -> CatchUnwind<F> {
        CatchUnwind { handler }
    }
}

impl<F: Future> Future for CatchUnwind<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let handler = self.project().handler;
        match catch_unwind(|| handler.poll(context)) {
            Ok(poll) => poll.map(Ok),
            Err(panicked) => Poll::Ready(Err(panicked)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future;
    use std::task::Waker;

    use super::*;

    fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
        std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn both_colours_catch_a_panic_and_let_a_value_through() {
        assert_eq!(catch_unwind(|| 7), Ok(7));
        assert_eq!(catch_unwind(|| -> u8 { panic!("planted") }), Err(Panicked));
        assert_eq!(poll_once(CatchUnwind::new(future::ready(7))), Poll::Ready(Ok(7)));
        assert_eq!(
            poll_once(CatchUnwind::new(async { panic!("planted") })),
            Poll::Ready(Err::<(), _>(Panicked))
        );
        assert_eq!(poll_once(CatchUnwind::new(future::pending::<()>())), Poll::Pending);
    }
}
