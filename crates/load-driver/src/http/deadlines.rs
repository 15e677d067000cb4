//! What happens to connections and requests when nothing has come in time.

use rustix::event::epoll::EventFlags;

use super::arrivals::Arrivals;
use super::connection::State;
use super::driver::Driver;
use super::requests::{CLOSING_GRACE_NS, Ending};
use super::response::Verdict;
use super::timers::NO_TIMER;
use crate::pace::monotonic_ns;

impl Driver<'_> {
    /// Handles all deadlines up to `now_ns`.
    pub(super) fn handle_deadlines(&mut self, now_ns: u64) {
        while let Some((at_ns, slot)) = self.timers.pop_due(now_ns) {
            let connection = &mut self.connections[slot as usize];
            if connection.timer_ns != at_ns {
                continue;
            }
            connection.timer_ns = NO_TIMER;
            let times = connection.times;
            let request_ns = match &self.arrivals {
                Arrivals::Open(open) => open.deadline_ns(times),
                _ => times.begun_ns.saturating_add(self.spec.timeout_ns),
            };
            match connection.deadline_ns(request_ns, self.spec.timeout_ns, CLOSING_GRACE_NS) {
                None => {}
                Some(later_ns) if later_ns > now_ns => {
                    self.timers.schedule(slot, later_ns, &mut connection.timer_ns);
                }
                Some(_) => self.on_deadline(slot as usize),
            }
        }
    }

    fn on_deadline(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        match connection.state {
            State::BackOff => {
                connection.state = State::Vacant;
                self.release(slot, monotonic_ns());
            }
            State::Closing => self.release(slot, monotonic_ns()),
            State::Connecting if !connection.has_request => {
                connection.close();
                self.setting_up -= 1;
            }
            _ => {
                // This thread may have been kept from reading an answer that is there.
                let times = connection.times;
                if connection.state == State::Waiting {
                    self.receive(slot, EventFlags::IN);
                }
                let connection = &self.connections[slot];
                if connection.has_request && connection.times == times {
                    let ending = Ending { verdict: Verdict::TimedOut, keep_alive: false, peer_closed: false };
                    self.end(slot, ending, monotonic_ns());
                }
            }
        }
    }
}
