//! The open loop's stage of a run: paces the schedule between the events of the connections, then drains.

use super::{Assignment, Due, Freed, OpenLoop, Shard};
use crate::http::arrivals::Arrivals;
use crate::http::connection::State;
use crate::http::driver::Driver;
use crate::http::requests::slot_number;
use crate::http::usage::Usage;
use crate::http::{HttpLoad, HttpLoadError};
use crate::pace::{self, monotonic_ns};

/// Requests begun at a time before events are looked at again, while this thread is behind its schedule.
const STARTS_MAX: usize = 16;

impl Driver<'_> {
    /// Runs the load if it is an open loop.
    pub(in crate::http) fn run_open(&mut self) -> Result<Usage, HttpLoadError> {
        let HttpLoad::Open { rate_per_s, warmup_ns, duration_ns, first, stride, .. } = self.spec.load else {
            return Ok(Usage::default());
        };
        let Some(arrivals) = self.spec.open_arrivals() else { return Ok(Usage::default()) };
        self.set_up()?;
        let start_ns = self.wait_for_start()?;
        let begin_ns = start_ns.saturating_add(warmup_ns);
        let end_ns = begin_ns.saturating_add(duration_ns);
        self.tally.set_window(begin_ns, end_ns);
        self.tally.set_timeline(start_ns, warmup_ns.saturating_add(duration_ns));
        self.tally.set_open(rate_per_s / stride as f64);
        let shard = Shard { first, stride };
        let slots = self.connections.len();
        let open = OpenLoop::new(&arrivals, shard, start_ns, self.spec.timeout_ns, slots);
        self.arrivals = Arrivals::Open(Box::new(open));
        for slot in 0..slots {
            let idle = self.connections[slot].state == State::Idle;
            self.freed(slot, if idle { Freed::Idle } else { Freed::Vacant }, start_ns);
        }
        let used_before = self.turn_open_until(begin_ns, begin_ns)?;
        self.tally.spin_ns = 0;
        let used_after = self.turn_open_until(end_ns, end_ns)?;
        self.turn_open_until(end_ns, end_ns.saturating_add(self.spec.drain_ns))?;
        self.cut_open();
        Ok(used_after.since(used_before))
    }

    /// Works until `until_ns`, or from `over_from_ns` on until no request is left. Returns what this thread had used by then.
    fn turn_open_until(&mut self, over_from_ns: u64, until_ns: u64) -> Result<Usage, HttpLoadError> {
        loop {
            let now_ns = self.start_due(STARTS_MAX);
            let Arrivals::Open(open) = &mut self.arrivals else { break };
            open.expire(now_ns, &mut self.tally);
            let over = now_ns >= over_from_ns && open.is_over() && self.tally.in_flight() == 0;
            if over || now_ns >= until_ns {
                break;
            }
            let wake_ns = open.next_timeout_ns().map_or(until_ns, |at_ns| at_ns.min(until_ns));
            // Between two events there is time for a start: a batch of events must not make one late.
            let between = |driver: &mut Self| _ = driver.start_due(1);
            match open.next_start_ns().map(|next_ns| pace::step(now_ns, next_ns)) {
                Some(pace::Step::Due) => _ = self.turn_with(now_ns, now_ns, between)?,
                Some(pace::Step::Spin) => {
                    if self.turn_with(now_ns, now_ns, between)? == 0 {
                        // What is longer than a spin was not spent spinning: another thread had the CPU.
                        self.tally.spin_ns += (monotonic_ns() - now_ns).min(pace::SPIN_NS_MAX);
                    }
                }
                Some(pace::Step::Sleep { until_ns }) => {
                    self.turn_with(now_ns, until_ns.min(wake_ns), between)?;
                }
                None => _ = self.turn_with(now_ns, wake_ns, between)?,
            }
        }
        self.usage.read()
    }

    /// Begins the requests that are due, `most` of them at most. Returns the time.
    fn start_due(&mut self, most: usize) -> u64 {
        let mut now_ns = monotonic_ns();
        for _ in 0..most {
            let Arrivals::Open(open) = &mut self.arrivals else { break };
            match open.start(now_ns, &mut self.tally) {
                Due::None => break,
                Due::Waits => {}
                Due::Takes(assignment) => self.begin_assigned(assignment, now_ns),
            }
            now_ns = monotonic_ns();
        }
        now_ns
    }

    /// A connection has no request any more. Where one waits in an open loop, it begins.
    pub(in crate::http) fn freed(&mut self, slot: usize, freed: Freed, now_ns: u64) {
        if let Arrivals::Open(open) = &mut self.arrivals
            && let Some(assignment) = open.freed(slot_number(slot), freed, now_ns, &mut self.tally)
        {
            self.begin_assigned(assignment, now_ns);
        }
    }

    fn begin_assigned(&mut self, Assignment { slot, times, deadline_ns }: Assignment, now_ns: u64) {
        let connection = &mut self.connections[slot as usize];
        connection.times = times;
        connection.has_request = true;
        self.timers.schedule(slot, deadline_ns, &mut connection.timer_ns);
        if connection.state == State::Idle {
            self.send(slot as usize, now_ns);
        } else {
            self.open(slot as usize, now_ns);
        }
    }

    fn cut_open(&mut self) {
        let now_ns = monotonic_ns();
        for connection in self.connections.iter_mut().filter(|connection| connection.has_request) {
            connection.has_request = false;
            self.tally.cut_in_flight(connection.times, now_ns);
        }
        if let Arrivals::Open(open) = &mut self.arrivals {
            open.cut(now_ns, &mut self.tally);
        }
        self.arrivals.end();
    }
}
