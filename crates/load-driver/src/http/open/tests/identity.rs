//! Whatever happens, in whatever order: each request has one outcome, and nobody waits beside a free connection.

use std::time::Duration;

use proptest::prelude::*;
use workload::arrivals::{OpenArrivals, Spacing};

use super::super::{Assignment, Due, Freed, OpenLoop, Shard};
use super::world::{MS, START_NS};
use crate::http::failure::Failure;
use crate::http::response::Verdict;
use crate::http::tally::{Tally, Times};
use crate::http::usage::Usage;

const TIMEOUT_NS: u64 = 30 * MS;

#[derive(Clone, Copy, Debug)]
enum Event {
    Pass {
        ns: u64,
    },
    Start,
    /// The request that has a connection for the longest, or for the shortest, time ends so.
    End {
        oldest: bool,
        verdict: Verdict,
        keeps: bool,
    },
    /// The oldest request on a connection that is being opened is sent.
    Opened,
    /// A connection that failed may be opened again.
    Rested,
    /// The server closes an idle connection.
    IdleClosed,
    Expire,
}

fn event() -> impl Strategy<Value = Event> {
    let verdict = prop_oneof![
        4 => Just(Verdict::Completed),
        1 => Just(Verdict::Rejected),
        1 => Just(Verdict::TimedOut),
        1 => Just(Verdict::Failed(Failure::Malformed)),
    ];
    prop_oneof![
        4 => (0..8 * MS).prop_map(|ns| Event::Pass { ns }),
        4 => Just(Event::Start),
        4 => (any::<bool>(), verdict, any::<bool>())
            .prop_map(|(oldest, verdict, keeps)| Event::End { oldest, verdict, keeps }),
        2 => Just(Event::Opened),
        1 => Just(Event::Rested),
        1 => Just(Event::IdleClosed),
        1 => Just(Event::Expire),
    ]
}

/// What whoever has the connections knows.
#[derive(Default)]
struct Model {
    busy: Vec<(u32, Times)>,
    idle: Vec<u32>,
    vacant: Vec<u32>,
    resting: Vec<u32>,
    last_intended_ns: u64,
    completed: u64,
}

impl Model {
    fn take(&mut self, assignment: Option<Assignment>, now_ns: u64) {
        let Some(Assignment { slot, mut times, deadline_ns }) = assignment else { return };
        assert!(
            deadline_ns == times.intended_ns + TIMEOUT_NS && now_ns < deadline_ns,
            "nothing is sent in vain"
        );
        assert!(times.intended_ns <= times.begun_ns && times.begun_ns <= now_ns, "never early");
        assert!(times.intended_ns >= self.last_intended_ns, "first come, first served");
        self.last_intended_ns = times.intended_ns;
        let free = self.idle.len() + self.vacant.len();
        let idle = self.idle.contains(&slot);
        assert!(idle || self.idle.is_empty(), "an open connection comes first");
        self.idle.retain(|&other| other != slot);
        self.vacant.retain(|&other| other != slot);
        assert_eq!(self.idle.len() + self.vacant.len() + 1, free, "the connection was free");
        if idle {
            times.sent_ns = now_ns;
        }
        self.busy.push((slot, times));
    }
}

proptest! {
    #[test]
    fn each_request_has_one_outcome(
        events in proptest::collection::vec(event(), 0..400),
        slots in 1..4_u32,
        poisson: bool,
        warmup_ms in 0..100_u64,
    ) {
        let spacing = if poisson { Spacing::Poisson } else { Spacing::Constant };
        let duration = Duration::from_millis(warmup_ms + 200);
        let arrivals = OpenArrivals { rate_per_s: 500.0, spacing, seed: 3, duration };
        let begin_ns = START_NS + warmup_ms * MS;
        let mut tally = Tally::default();
        tally.set_window(begin_ns, begin_ns + 200 * MS);
        tally.set_timeline(START_NS, (warmup_ms + 200) * MS);
        tally.set_open(500.0);
        let mut open =
            OpenLoop::new(&arrivals, Shard { first: 0, stride: 1 }, START_NS, TIMEOUT_NS, slots as usize);
        let mut model = Model::default();
        for slot in 0..slots {
            model.idle.push(slot);
            prop_assert_eq!(open.freed(slot, Freed::Idle, START_NS, &mut tally), None);
        }
        let mut now_ns = START_NS;
        for event in events {
            let assignment = match event {
                Event::Pass { ns } => {
                    now_ns += ns;
                    None
                }
                Event::Start => match open.start(now_ns, &mut tally) {
                    Due::Takes(assignment) => Some(assignment),
                    Due::None | Due::Waits => None,
                },
                Event::End { oldest, verdict, keeps } if !model.busy.is_empty() => {
                    let index = if oldest { 0 } else { model.busy.len() - 1 };
                    let (slot, times) = model.busy[index];
                    let sent = times.sent_ns <= now_ns;
                    // A request that was not sent has no answer.
                    if sent || matches!(verdict, Verdict::TimedOut | Verdict::Failed(_)) {
                        model.busy.remove(index);
                        model.completed += u64::from(matches!(verdict, Verdict::Completed));
                        tally.end_open(times, verdict, now_ns, None);
                        if sent && keeps {
                            model.idle.push(slot);
                            open.freed(slot, Freed::Idle, now_ns, &mut tally)
                        } else {
                            model.resting.push(slot);
                            None
                        }
                    } else {
                        None
                    }
                }
                Event::Opened => {
                    if let Some((_, times)) = model.busy.iter_mut().find(|(_, times)| times.sent_ns > now_ns) {
                        times.sent_ns = now_ns;
                    }
                    None
                }
                Event::Rested if !model.resting.is_empty() => {
                    let slot = model.resting.remove(0);
                    model.vacant.push(slot);
                    open.freed(slot, Freed::Vacant, now_ns, &mut tally)
                }
                Event::IdleClosed if !model.idle.is_empty() => {
                    let slot = model.idle.remove(0);
                    model.vacant.push(slot);
                    open.freed(slot, Freed::Vacant, now_ns, &mut tally)
                }
                Event::Expire => {
                    open.expire(now_ns, &mut tally);
                    None
                }
                Event::End { .. } | Event::Rested | Event::IdleClosed => None,
            };
            model.take(assignment, now_ns);
            let free = model.idle.len() + model.vacant.len();
            prop_assert!(open.next_timeout_ns().is_none() || free == 0, "one waits beside a free connection");
            prop_assert_eq!(tally.in_flight(), model.busy.len() as u64);
        }
        now_ns = now_ns.max(begin_ns + 200 * MS);
        for (_, times) in model.busy {
            tally.cut_in_flight(times, now_ns);
        }
        open.cut(now_ns, &mut tally);
        prop_assert!(open.is_over());
        prop_assert_eq!(tally.in_flight(), 0);
        let result = tally.into_result(Usage::default());
        result.check_accounting().expect("balanced");
        let scheduled = arrivals.starts().count() as u64;
        prop_assert_eq!(result.offered + result.warmup_finished, scheduled);
        prop_assert!(result.sent + result.timed_out_unsent + result.unsent_at_end <= result.offered);
        prop_assert_eq!(result.residence_ns, result.in_flight_integral_ns + result.waiting_integral_ns);
        let whole = result.timeline.between(START_NS, now_ns).expect("covered");
        prop_assert_eq!(whole.completed, model.completed as f64);
    }
}
