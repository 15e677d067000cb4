//! The requests that wait, the one that is due next on top.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Instant;

use crate::handler::{End, Walk};

/// A heap of requests that wait.
#[derive(Debug)]
pub(crate) struct DeadlineHeap<E> {
    waiting: BinaryHeap<Reverse<Waiting<E>>>,
}

#[derive(Debug)]
struct Waiting<E> {
    until: Instant,
    walk: Walk<E>,
}

impl<E: End> DeadlineHeap<E> {
    pub(crate) fn new() -> DeadlineHeap<E> {
        DeadlineHeap { waiting: BinaryHeap::new() }
    }

    /// Walks a request, and keeps it if it waits.
    pub(crate) fn go_on(&mut self, walk: Walk<E>) {
        if let Some((until, walk)) = walk.walk() {
            self.waiting.push(Reverse(Waiting { until, walk }));
        }
    }

    /// Takes on every request whose wait is over at `now`.
    pub(crate) fn wake(&mut self, now: Instant) {
        while self.waiting.peek().is_some_and(|Reverse(first)| first.until <= now) {
            if let Some(Reverse(due)) = self.waiting.pop() {
                self.go_on(due.walk);
            }
        }
    }

    pub(crate) fn next_wake(&self) -> Option<Instant> {
        self.waiting.peek().map(|Reverse(first)| first.until)
    }
}

impl<E> Ord for Waiting<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.until.cmp(&other.until)
    }
}

impl<E> PartialOrd for Waiting<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Waiting<E> {
    fn eq(&self, other: &Self) -> bool {
        self.until == other.until
    }
}

impl<E> Eq for Waiting<E> {}
