//! Each policy in cases whose answer is known.

use std::time::Duration;

use workload::pipeline::{Batcher, Expected, Lane, Next, Policy};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The batcher of a policy with so many images of each lane before it, and others on the way.
struct Case {
    batcher: Batcher<u32>,
    interactive: Vec<Expected>,
    bulk: Vec<Expected>,
}

fn case(policy: Policy) -> Case {
    Case { batcher: Batcher::new(policy, 16), interactive: Vec::new(), bulk: Vec::new() }
}

impl Case {
    fn here(mut self, lane: Lane, images: u32) -> Case {
        for image in 0..images {
            let expected = self.batcher.expect(lane, Duration::ZERO);
            self.batcher.offer(image, expected).expect("there is room");
        }
        self
    }

    fn coming(mut self, lane: Lane, due: Duration) -> Case {
        let expected = self.batcher.expect(lane, due);
        match lane {
            Lane::Interactive => self.interactive.push(expected),
            Lane::Bulk => self.bulk.push(expected),
        }
        self
    }

    /// The images of each lane in the batch that goes at this instant, or until when the device waits.
    fn next(&mut self, now: Duration) -> Result<(usize, usize), Option<Duration>> {
        match self.batcher.next(now) {
            Next::Idle => Err(None),
            Next::WaitUntil(instant) => Err(Some(instant)),
            Next::Batch(batch) => {
                let interactive = batch.images.iter().filter(|(lane, _)| *lane == Lane::Interactive).count();
                Ok((interactive, batch.images.len() - interactive))
            }
        }
    }

    fn arrives(&mut self, lane: Lane) {
        let expected = match lane {
            Lane::Interactive => self.interactive.pop(),
            Lane::Bulk => self.bulk.pop(),
        };
        self.batcher.offer(99, expected.expect("one is coming")).expect("there is room");
    }
}

#[test]
fn nothing_makes_no_batch() {
    for (name, policy) in Policy::ALL {
        assert_eq!(case(policy).next(ms(5)), Err(None), "{name}");
        assert_eq!(case(policy).coming(Lane::Bulk, ms(6)).next(ms(5)), Err(None), "{name}");
    }
}

#[test]
fn fifo1_takes_one_at_a_time() {
    let mut case = case(Policy::FIFO1).here(Lane::Bulk, 2).here(Lane::Interactive, 1);
    let batches = [case.next(ms(0)), case.next(ms(36)), case.next(ms(72)), case.next(ms(108))];
    assert_eq!(batches, [Ok((0, 1)), Ok((0, 1)), Ok((1, 0)), Err(None)]);
}

#[test]
fn a_batch_goes_when_it_is_full_or_its_window_is_over_or_nothing_can_come_in_time() {
    for policy in [Policy::FIFO16, Policy::LANES16, Policy::JOIN, Policy::HOLD8, Policy::HOLD4] {
        assert_eq!(case(policy).here(Lane::Bulk, 16).coming(Lane::Bulk, ms(0)).next(ms(7)), Ok((0, 16)));
        assert_eq!(case(policy).here(Lane::Bulk, 3).next(ms(7)), Ok((0, 3)));
        assert_eq!(case(policy).here(Lane::Bulk, 3).coming(Lane::Bulk, ms(28)).next(ms(7)), Ok((0, 3)));
        let mut filling = case(policy).here(Lane::Bulk, 3).coming(Lane::Bulk, ms(27));
        assert_eq!(filling.next(ms(7)), Err(Some(ms(27))));
        assert_eq!(
            filling.next(ms(26)),
            Err(Some(ms(27))),
            "the window began when the device could have worked"
        );
        assert_eq!(filling.next(ms(27)), Ok((0, 3)));
        let mut failed = case(policy).here(Lane::Bulk, 3).coming(Lane::Bulk, ms(9));
        assert_eq!(failed.next(ms(7)), Err(Some(ms(27))));
        failed.batcher.forget(failed.bulk.pop().expect("one is coming"));
        assert_eq!(failed.next(ms(8)), Ok((0, 3)), "nothing comes any more");
    }
}

#[test]
fn fifo16_takes_both_lanes_by_arrival() {
    let mut case = case(Policy::FIFO16).here(Lane::Bulk, 15).coming(Lane::Interactive, ms(10));
    assert_eq!(case.next(ms(0)), Err(Some(ms(20))));
    case.arrives(Lane::Interactive);
    assert_eq!(case.next(ms(10)), Ok((1, 15)), "it is full");
}

#[test]
fn lanes16_sends_an_interactive_image_alone_or_with_what_was_gathered() {
    let mut busy = case(Policy::LANES16).here(Lane::Bulk, 16).here(Lane::Interactive, 2);
    let batches = [busy.next(ms(0)), busy.next(ms(36)), busy.next(ms(72))];
    assert_eq!(batches, [Ok((1, 0)), Ok((1, 0)), Ok((0, 16))]);
    let mut filling = case(Policy::LANES16).here(Lane::Bulk, 3).coming(Lane::Interactive, ms(5));
    assert_eq!(filling.next(ms(0)), Err(Some(ms(20))));
    filling.arrives(Lane::Interactive);
    assert_eq!(filling.next(ms(5)), Ok((1, 3)));
}

#[test]
fn join_takes_the_next_batch_however_full() {
    let mut full = case(Policy::JOIN).here(Lane::Bulk, 16).here(Lane::Interactive, 2);
    assert_eq!([full.next(ms(0)), full.next(ms(126))], [Ok((2, 14)), Ok((0, 2))]);
    let mut filling = case(Policy::JOIN).here(Lane::Interactive, 1).coming(Lane::Bulk, ms(5));
    assert_eq!(filling.next(ms(0)), Err(Some(ms(20))), "it goes when it would have gone");
    let mut coming = case(Policy::JOIN).here(Lane::Bulk, 16).coming(Lane::Interactive, ms(1));
    assert_eq!(coming.next(ms(0)), Ok((0, 16)), "nobody waits for it");
}

#[test]
fn hold_waits_for_an_interactive_image_that_is_about_to_arrive() {
    for (policy, with, before) in [(Policy::HOLD8, 8, 4), (Policy::HOLD4, 4, 2)] {
        let mut held = case(policy).here(Lane::Bulk, 16).coming(Lane::Interactive, ms(20));
        assert_eq!(held.next(ms(0)), Err(Some(ms(20))));
        held.arrives(Lane::Interactive);
        assert_eq!(held.next(ms(12)), Ok((1, with - 1)), "it goes at once, and is small");
        assert_eq!(held.next(ms(90)), Ok((0, 16 - (with - 1))), "nobody else is on the way");

        let mut late = case(policy).here(Lane::Bulk, 16).coming(Lane::Interactive, ms(1));
        assert_eq!(late.next(ms(4)), Err(Some(ms(24))));
        assert_eq!(late.next(ms(24)), Ok((0, before)), "it did not come in time");

        let mut far = case(policy).here(Lane::Bulk, 16).coming(Lane::Interactive, ms(21));
        assert_eq!(far.next(ms(0)), Ok((0, before)), "it cannot come in time, but soon");
    }
}

#[test]
fn what_finds_no_room_comes_back_and_stays_expected() {
    let mut case = case(Policy::FIFO16).here(Lane::Bulk, 16);
    let expected = case.batcher.expect(Lane::Bulk, ms(0));
    let back = case.batcher.offer(7, expected).expect_err("it is full");
    assert_eq!((back.image, case.batcher.on_the_way(Lane::Bulk)), (7, 1));
    assert!(!case.batcher.reserve(Lane::Bulk));
    assert_eq!(case.next(ms(0)), Ok((0, 16)));
    assert!(case.batcher.reserve(Lane::Bulk));
    case.batcher.offer_reserved(7, back.expected);
    assert_eq!(case.next(ms(0)), Ok((0, 1)));
    let expected = case.batcher.expect(Lane::Bulk, ms(0));
    assert!(case.batcher.reserve(Lane::Bulk));
    case.batcher.forget_reserved(expected);
    assert_eq!((case.batcher.on_the_way(Lane::Bulk), case.next(ms(0))), (0, Err(None)));
}
