//! Who is admitted: the limit, the reserved slice and the line.

use proptest::prelude::*;
use workload::pipeline::{Admission, Lane, LaneQueue, Order, Turn};

fn filled(mut admission: Admission, lane: Lane) -> (Admission, usize) {
    let admitted = std::iter::from_fn(|| admission.try_admit(lane).ok()).count();
    (admission, admitted)
}

#[test]
fn bulk_leaves_the_slice_and_interactive_takes_what_is_free() {
    let (bulk_full, bulk) = filled(Admission::new(Order::InteractiveFirst, 48, 8), Lane::Bulk);
    assert_eq!(bulk, 40);
    let (mut full, interactive) = filled(bulk_full, Lane::Interactive);
    assert_eq!((interactive, full.in_flight_peak()), (8, 48));
    let error = full.try_admit(Lane::Interactive).expect_err("it is full");
    assert_eq!(error.to_string(), "no interactive image is admitted now: 48 of 48 are in flight and 0 wait");
    full.release(Lane::Bulk);
    assert!(full.try_admit(Lane::Interactive).is_ok(), "a slot is free, whose ever it was");
    full.release(Lane::Interactive);
    assert!(full.try_admit(Lane::Bulk).is_ok(), "39 of 40");
    full.release(Lane::Interactive);
    assert!(full.try_admit(Lane::Bulk).is_err(), "what is left is the slice");
}

#[test]
fn the_line_is_by_arrival_or_by_lanes() {
    for (order, first) in [(Order::Arrival, Lane::Bulk), (Order::InteractiveFirst, Lane::Interactive)] {
        let (mut admission, _) = filled(Admission::new(order, 2, 0), Lane::Bulk);
        let bulk = admission.wait(Lane::Bulk);
        let interactive = admission.wait(Lane::Interactive);
        let bulk = admission.take_turn(bulk).expect_err("it is full");
        admission.release(Lane::Bulk);
        assert!(admission.try_admit(Lane::Bulk).is_err(), "somebody waits");
        let (bulk, interactive) = (admission.take_turn(bulk), admission.take_turn(interactive));
        assert_eq!(bulk.is_ok(), first == Lane::Bulk);
        assert_eq!(interactive.is_ok(), first == Lane::Interactive);
        for turn in [bulk, interactive].into_iter().filter_map(Result::err) {
            admission.withdraw(turn);
        }
        admission.release(Lane::Bulk);
        assert_eq!(admission.waiting(), 0);
        assert!(admission.try_admit(Lane::Bulk).is_ok(), "nobody waits any more");
    }
}

#[test]
fn lanes_have_room_of_their_own_and_arrival_shares_it() {
    for (order, expected) in [(Order::Arrival, false), (Order::InteractiveFirst, true)] {
        let mut queue = LaneQueue::new(order, 2);
        assert!(queue.push(Lane::Bulk, 0).is_ok() && queue.reserve(Lane::Bulk));
        assert_eq!(queue.push(Lane::Bulk, 1).expect_err("room is reserved").0, 1);
        assert_eq!(queue.push(Lane::Interactive, 2).is_ok(), expected);
        queue.push_reserved(Lane::Bulk, 3);
        let taken: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, image)| image).collect();
        assert_eq!(taken, if expected { vec![2, 0, 3] } else { vec![0, 3] });
        assert!(queue.is_empty() && queue.first().is_none());
    }
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Try(Lane),
    Wait(Lane),
    Take(usize),
    Leave(usize),
    Release(Lane),
}

fn act() -> impl Strategy<Value = Act> {
    let lane = || prop_oneof![Just(Lane::Interactive), Just(Lane::Bulk)];
    prop_oneof![
        3 => lane().prop_map(Act::Try),
        1 => lane().prop_map(Act::Wait),
        3 => (0..8_usize).prop_map(Act::Take),
        1 => (0..8_usize).prop_map(Act::Leave),
        2 => lane().prop_map(Act::Release),
    ]
}

proptest! {
    #[test]
    fn the_limit_and_the_slice_hold(
        acts in proptest::collection::vec(act(), 0..200),
        limit in 0..12_usize,
        reserved in 0..14_usize,
        by_lanes: bool,
    ) {
        let order = if by_lanes { Order::InteractiveFirst } else { Order::Arrival };
        let mut admission = Admission::new(order, limit, reserved);
        let mut turns: Vec<Turn> = Vec::new();
        let mut entered = [0_usize; 2];
        let mut left = [0_usize; 2];
        let index = |lane| usize::from(lane == Lane::Bulk);
        for act in acts {
            match act {
                Act::Try(lane) => entered[index(lane)] += usize::from(admission.try_admit(lane).is_ok()),
                Act::Wait(lane) => turns.push(admission.wait(lane)),
                Act::Take(which) if which < turns.len() => {
                    let before = admission.in_flight();
                    match admission.take_turn(turns.remove(which)) {
                        Ok(()) => {
                            let lane = if admission.in_flight().bulk > before.bulk { Lane::Bulk } else { Lane::Interactive };
                            entered[index(lane)] += 1;
                        }
                        Err(turn) => turns.insert(which, turn),
                    }
                }
                Act::Leave(which) if which < turns.len() => admission.withdraw(turns.remove(which)),
                Act::Release(lane) if admission.in_flight()[lane] > 0 => {
                    admission.release(lane);
                    left[index(lane)] += 1;
                }
                Act::Take(_) | Act::Leave(_) | Act::Release(_) => {}
            }
            let now = admission.in_flight();
            prop_assert!(now.interactive + now.bulk <= limit);
            prop_assert!(now.bulk <= limit.saturating_sub(reserved), "bulk is in the slice: {now:?}");
            prop_assert_eq!([now.interactive, now.bulk], [entered[0] - left[0], entered[1] - left[1]]);
            prop_assert_eq!(admission.waiting(), turns.len());
            prop_assert!(admission.in_flight_peak() <= limit);
        }
    }
}
