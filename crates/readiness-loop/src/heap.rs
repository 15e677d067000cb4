//! Requests that wait, the one that is due next on top: for those who carry requests out on one thread.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Instant;

/// A request that goes on from wait to wait.
pub trait Walk: Sized {
    /// Goes on until a wait, and hands itself back with the instant at which the wait is over; or to the
    /// end.
    fn walk(self) -> Option<(Instant, Self)>;
}

/// A heap of requests that wait.
#[derive(Debug)]
pub struct DeadlineHeap<W> {
    waiting: BinaryHeap<Reverse<Waiting<W>>>,
}

#[derive(Debug)]
struct Waiting<W> {
    until: Instant,
    walk: W,
}

impl<W: Walk> DeadlineHeap<W> {
    /// Nothing waits.
    #[must_use]
    pub fn new() -> DeadlineHeap<W> {
        DeadlineHeap { waiting: BinaryHeap::new() }
    }

    /// Walks a request, and keeps it if it waits.
    pub fn go_on(&mut self, walk: W) {
        if let Some((until, walk)) = walk.walk() {
            self.keep(until, walk);
        }
    }

    /// Keeps a request that waits until an instant.
    pub fn keep(&mut self, until: Instant, walk: W) {
        self.waiting.push(Reverse(Waiting { until, walk }));
    }

    /// Takes on every request whose wait is over at `now`.
    pub fn wake(&mut self, now: Instant) {
        while self.waiting.peek().is_some_and(|Reverse(first)| first.until <= now) {
            if let Some(Reverse(due)) = self.waiting.pop() {
                self.go_on(due.walk);
            }
        }
    }

    /// When the first wait is over.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        self.waiting.peek().map(|Reverse(first)| first.until)
    }
}

impl<W: Walk> Default for DeadlineHeap<W> {
    fn default() -> Self {
        DeadlineHeap::new()
    }
}

impl<W> Ord for Waiting<W> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.until.cmp(&other.until)
    }
}

impl<W> PartialOrd for Waiting<W> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<W> PartialEq for Waiting<W> {
    fn eq(&self, other: &Self) -> bool {
        self.until == other.until
    }
}

impl<W> Eq for Waiting<W> {}
