//! A server, a client and a clock that exist as numbers alone, around the real [`OpenLoop`] and the real tally.

use std::collections::BTreeSet;
use std::time::Duration;

use workload::arrivals::{OpenArrivals, Spacing};

use super::super::{Assignment, Due, Freed, OpenLoop, Shard};
use crate::http::HttpLoadResult;
use crate::http::response::Verdict;
use crate::http::tally::{Tally, Times};
use crate::http::usage::Usage;

pub(super) const MS: u64 = 1_000_000;
pub(super) const S: u64 = 1_000 * MS;
/// The schedule's start on the virtual clock.
pub(super) const START_NS: u64 = 77 * S;

/// What a run is made of. All times are exact.
pub(super) struct World<'a> {
    pub(super) rate_per_s: f64,
    pub(super) spacing: Spacing,
    pub(super) connections: u32,
    pub(super) shard: Shard,
    pub(super) warmup_ns: u64,
    pub(super) duration_ns: u64,
    pub(super) timeout_ns: u64,
    pub(super) drain_ns: u64,
    /// Whether a connection whose request timed out can be opened again.
    pub(super) reopens: bool,
    /// How long the client is busy with each thing that it does.
    pub(super) client_ns: u64,
    /// When the server answers a request that is sent at an instant, both from the start of the schedule.
    pub(super) answers_ns: &'a dyn Fn(u64) -> u64,
}

/// 200 requests a second for five seconds, a constant 20 ms each, with connections to spare.
pub(super) fn world() -> World<'static> {
    World {
        rate_per_s: 200.0,
        spacing: Spacing::Constant,
        connections: 1_000,
        shard: Shard { first: 0, stride: 1 },
        warmup_ns: 0,
        duration_ns: 5 * S,
        timeout_ns: 10 * S,
        drain_ns: 10 * S,
        reopens: true,
        client_ns: 0,
        answers_ns: &|sent_ns| sent_ns + 20 * MS,
    }
}

struct Run<'a> {
    world: &'a World<'a>,
    open: OpenLoop,
    tally: Tally,
    times: Vec<Times>,
    /// When each request that has a connection ends, and on which.
    ends: BTreeSet<(u64, u32)>,
}

impl World<'_> {
    pub(super) fn run(&self) -> HttpLoadResult {
        let arrivals = OpenArrivals {
            rate_per_s: self.rate_per_s,
            spacing: self.spacing,
            seed: 1,
            duration: Duration::from_nanos(self.warmup_ns + self.duration_ns),
        };
        let begin_ns = START_NS + self.warmup_ns;
        let mut tally = Tally::default();
        tally.set_window(begin_ns, begin_ns + self.duration_ns);
        tally.set_timeline(START_NS, self.warmup_ns + self.duration_ns);
        tally.set_open(self.rate_per_s / self.shard.stride as f64);
        let slots = self.connections as usize;
        let mut open = OpenLoop::new(&arrivals, self.shard, START_NS, self.timeout_ns, slots);
        for slot in 0..self.connections {
            assert_eq!(open.freed(slot, Freed::Idle, START_NS, &mut tally), None);
        }
        let run =
            Run { world: self, open, tally, times: vec![Times::default(); slots], ends: BTreeSet::new() };
        let result = run.finish(begin_ns + self.duration_ns + self.drain_ns);
        result.check_accounting().expect("balanced");
        assert_eq!(result.residence_ns, result.in_flight_integral_ns + result.waiting_integral_ns);
        let window = result.timeline.between(begin_ns, begin_ns + self.duration_ns).expect("covered");
        let integral_ns = result.in_flight_integral_ns;
        assert!(
            (window.in_flight_ns - integral_ns).abs() <= 0.01 * integral_ns + 1.0,
            "{window:?} {integral_ns}"
        );
        let json = serde_json::to_string(&result).expect("serialised");
        assert!(!json.contains("null") && !json.contains("NaN"), "{json}");
        for figure in [
            result.offered_rate_per_s(),
            result.sent_rate_per_s(),
            result.throughput_per_s(),
            result.in_flight_mean(),
        ] {
            assert!(figure.is_some_and(f64::is_finite));
        }
        result
    }
}

impl Run<'_> {
    fn finish(mut self, stop_ns: u64) -> HttpLoadResult {
        let mut client_free_ns = START_NS;
        loop {
            let end_ns = self.ends.first().map(|&(at_ns, _)| at_ns);
            let next =
                [end_ns, self.open.next_start_ns(), self.open.next_timeout_ns()].into_iter().flatten().min();
            let Some(at_ns) = next else { break };
            let now_ns = at_ns.max(client_free_ns);
            if now_ns >= stop_ns {
                break;
            }
            client_free_ns = now_ns + self.world.client_ns;
            if end_ns == Some(at_ns) {
                self.end(now_ns);
                continue;
            }
            match self.open.start(now_ns, &mut self.tally) {
                Due::Takes(assignment) => self.send(assignment, now_ns),
                Due::Waits => {}
                Due::None => self.open.expire(now_ns, &mut self.tally),
            }
        }
        for &(_, slot) in &self.ends {
            self.tally.cut_in_flight(self.times[slot as usize], stop_ns);
        }
        self.open.cut(stop_ns, &mut self.tally);
        self.tally.into_result(Usage::default())
    }

    fn send(&mut self, Assignment { slot, mut times, deadline_ns }: Assignment, now_ns: u64) {
        assert!(times.intended_ns <= now_ns, "never early");
        times.sent_ns = now_ns;
        self.times[slot as usize] = times;
        let answer_ns = START_NS.saturating_add((self.world.answers_ns)(now_ns - START_NS));
        self.ends.insert((answer_ns.min(deadline_ns).max(now_ns), slot));
    }

    fn end(&mut self, now_ns: u64) {
        let (at_ns, slot) = self.ends.pop_first().expect("the caller has seen one");
        let times = self.times[slot as usize];
        let (verdict, freed) = if at_ns < self.open.deadline_ns(times) {
            (Verdict::Completed, Freed::Idle)
        } else {
            (Verdict::TimedOut, Freed::Vacant)
        };
        self.tally.end_open(times, verdict, now_ns, None);
        if freed == Freed::Vacant && !self.world.reopens {
            return;
        }
        if let Some(assignment) = self.open.freed(slot, freed, now_ns, &mut self.tally) {
            self.send(assignment, now_ns);
        }
    }
}
