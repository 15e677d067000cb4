//! What holds of every policy, whatever comes: a device asks as a driver would, and images come at random.

use std::time::Duration;

use proptest::prelude::*;
use workload::pipeline::{Batcher, Expected, Lane, Next, OnInteractive, Order, Policy};

const CAPACITY: usize = 16;

#[derive(Clone, Copy, Debug)]
enum Event {
    Admit(Lane, u64),
    Arrive(usize),
    Fail(usize),
    Pass(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let lane = prop_oneof![1 => Just(Lane::Interactive), 4 => Just(Lane::Bulk)];
    prop_oneof![
        8 => (lane, 0..60_u64).prop_map(|(lane, due)| Event::Admit(lane, due)),
        8 => (0..32_usize).prop_map(Event::Arrive),
        1 => (0..32_usize).prop_map(Event::Fail),
        6 => (0..40_u64).prop_map(Event::Pass),
    ]
}

/// The policies that are compared, and any other.
fn policy() -> impl Strategy<Value = Policy> {
    let order = prop_oneof![Just(Order::Arrival), Just(Order::InteractiveFirst)];
    let on_interactive = prop_oneof![
        Just(OnInteractive::Join),
        Just(OnInteractive::Flush),
        Just(OnInteractive::FlushGathered)
    ];
    let sizes = [1..20_usize, 1..20, 1..20, 1..20];
    let other = (order, on_interactive, sizes, 0..40_u64, 0..40_u64);
    let other = other.prop_map(|(order, on_interactive, [batch, bulk, before, with], window, hold)| Policy {
        order,
        batch_max: batch,
        bulk_max: bulk,
        bulk_before_interactive_max: before,
        batch_with_interactive_max: with,
        window: Duration::from_millis(window),
        on_interactive,
        hold: Duration::from_millis(hold),
        interactive_reserved: 0,
    });
    prop_oneof![prop::sample::select(Policy::ALL.map(|(_, policy)| policy).to_vec()), other]
}

/// A batcher, one device, and what must be true of them.
struct World {
    policy: Policy,
    batcher: Batcher<u64>,
    now: Duration,
    on_the_way: Vec<Expected>,
    arrived: Vec<(Lane, u64)>,
    detected: Vec<(Lane, u64)>,
    free_at: Duration,
    /// Since when the device could have worked.
    open_since: Option<Duration>,
    wake: Option<Duration>,
}

impl World {
    fn new(policy: Policy) -> World {
        World {
            policy,
            batcher: Batcher::new(policy, CAPACITY),
            now: Duration::ZERO,
            on_the_way: Vec::new(),
            arrived: Vec::new(),
            detected: Vec::new(),
            free_at: Duration::ZERO,
            open_since: None,
            wake: None,
        }
    }

    fn happens(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Admit(lane, due) => {
                let expected = self.batcher.expect(lane, self.now + Duration::from_millis(due));
                self.on_the_way.push(expected);
            }
            Event::Arrive(which) if which < self.on_the_way.len() => {
                let expected = self.on_the_way.remove(which);
                let (lane, image) = (expected.lane(), self.arrived.len() as u64);
                match self.batcher.offer(image, expected) {
                    Ok(()) => self.arrived.push((lane, image)),
                    Err(back) => self.on_the_way.push(back.expected),
                }
            }
            Event::Fail(which) if which < self.on_the_way.len() => {
                self.batcher.forget(self.on_the_way.remove(which));
            }
            Event::Pass(millis) => return self.pass(Duration::from_millis(millis)),
            Event::Arrive(_) | Event::Fail(_) => {}
        }
        self.ask()
    }

    /// Time passes, and the device asks whenever it becomes free or was told to.
    fn pass(&mut self, time: Duration) -> Result<(), TestCaseError> {
        let end = self.now + time;
        loop {
            self.ask()?;
            let due =
                [Some(self.free_at), self.wake].into_iter().flatten().filter(|due| *due > self.now).min();
            match due.filter(|due| *due < end) {
                Some(due) => self.now = due,
                None => {
                    self.now = end;
                    return self.ask();
                }
            }
        }
    }

    fn ask(&mut self) -> Result<(), TestCaseError> {
        while self.free_at <= self.now {
            self.wake = None;
            let waiting = self.batcher.waiting();
            let next = self.batcher.next(self.now);
            if !matches!(next, Next::Idle) {
                self.open_since.get_or_insert(self.now);
            }
            match next {
                Next::Idle => {
                    prop_assert_eq!(waiting.interactive + waiting.bulk, 0);
                    self.open_since = None;
                    return Ok(());
                }
                Next::WaitUntil(instant) => {
                    prop_assert!(instant > self.now);
                    self.wake = Some(instant);
                    return Ok(());
                }
                Next::Batch(batch) => self.detect(batch.images)?,
            }
        }
        Ok(())
    }

    fn detect(&mut self, images: Vec<(Lane, u64)>) -> Result<(), TestCaseError> {
        let count = |lane| images.iter().filter(|(of, _)| *of == lane).count();
        let (interactive, bulk) = (count(Lane::Interactive), count(Lane::Bulk));
        prop_assert!(!images.is_empty() && images.len() <= self.policy.batch_max);
        if self.policy.order == Order::InteractiveFirst {
            prop_assert!(bulk <= self.policy.bulk_max);
            prop_assert!(interactive == 0 || images.len() <= self.policy.batch_with_interactive_max);
            prop_assert!(images.is_sorted_by_key(|(lane, _)| *lane), "bulk is before interactive");
            let is_left = self.batcher.waiting().interactive > 0;
            prop_assert!(bulk == 0 || !is_left, "bulk goes, and interactive waits");
        }
        let open_since = self.open_since.take().expect("it was asked");
        let longest = self.policy.window.max(self.policy.hold);
        prop_assert!(self.now - open_since <= longest, "{:?} for a batch", self.now - open_since);
        self.free_at = self.now + Duration::from_millis(30 + 6 * images.len() as u64);
        self.detected.extend(images);
        Ok(())
    }

    fn of(images: &[(Lane, u64)], lane: Lane) -> Vec<u64> {
        images.iter().filter(|(of, _)| *of == lane).map(|(_, image)| *image).collect()
    }
}

proptest! {
    #[test]
    fn batches_keep_every_promise(policy in policy(), events in prop::collection::vec(event(), 0..300)) {
        let mut world = World::new(policy);
        for event in events {
            world.happens(event)?;
        }
        // Nothing comes any more: what is here is detected without anybody waiting for what is not.
        while let Some(expected) = world.on_the_way.pop() {
            world.batcher.forget(expected);
        }
        world.pass(Duration::from_secs(20))?;
        prop_assert_eq!(world.batcher.next(world.now), Next::Idle);
        for lane in Lane::ALL {
            // Images are numbered as they arrive, so this is the order, and that each was there once.
            prop_assert_eq!(World::of(&world.detected, lane), World::of(&world.arrived, lane));
            prop_assert_eq!(world.batcher.on_the_way(lane), 0);
        }
        if policy.order == Order::Arrival {
            prop_assert_eq!(world.detected, world.arrived);
        }
    }
}
