//! The epoll loop and the stages of a run: set-up, load, drain.

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::arrivals::{Arrivals, OpenSlots, Reconnects};
use super::connection::Connection;
use super::requests::slot_number;
use super::response::Verifier;
use super::schedule::Schedule;
use super::socket::Sources;
use super::tally::Tally;
use super::timers::Timers;
use super::usage::{Usage, UsageMeter};
use super::{HttpLoad, HttpLoadError, HttpLoadResult, HttpLoadSpec};
use crate::pace::{self, Pacer, monotonic_ns, timespec};

/// Event data of the pacing timer. No connection has it: slot numbers are far smaller.
const TIMER_TOKEN: u64 = u64::MAX;
/// Events taken at a time. Enough that the call is cheap for each, and few enough that due starts do not wait for long.
const EVENTS_MAX: usize = 256;
/// Scheduled starts made at a time before events are looked at again.
const STARTS_MAX: usize = 16;
/// First requests of a closed loop sent at a time. As many as events are handled at a time, or else those that have
/// begun would keep the thread from beginning the others, and the warm-up would be over before all have.
const FIRST_STARTS_MAX: usize = EVENTS_MAX;
/// Handshakes under way at a time in the set-up: far below any listen backlog, whose overflow costs a second each.
pub(super) const SETUP_CONNECTING_MAX: usize = 128;
/// Bytes read at a time.
const BUFFER_BYTES: usize = 65_536;

/// One run.
pub(super) struct Driver<'spec> {
    pub(super) spec: &'spec HttpLoadSpec,
    pub(super) epoll: OwnedFd,
    pacer: Pacer,
    pub(super) sources: Sources,
    pub(super) connections: Vec<Connection>,
    pub(super) timers: Timers,
    pub(super) request: Vec<u8>,
    pub(super) verifier: Verifier,
    pub(super) buffer: Vec<u8>,
    events: Vec<epoll::Event>,
    pub(super) usage: UsageMeter,
    pub(super) tally: Tally,
    pub(super) arrivals: Arrivals,
    pub(super) reconnects: Reconnects,
    /// Connections that are being opened without a request.
    pub(super) setting_up: usize,
}

impl<'spec> Driver<'spec> {
    pub(super) fn new(spec: &'spec HttpLoadSpec) -> Result<Self, HttpLoadError> {
        let epoll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(HttpLoadError::system("epoll_create1"))?;
        let pacer = Pacer::new(&epoll, TIMER_TOKEN).map_err(HttpLoadError::system("timerfd_create"))?;
        Ok(Self {
            spec,
            epoll,
            pacer,
            sources: Sources::new(spec.spread_sources),
            connections: (0..spec.sockets_max()).map(|_| Connection::vacant()).collect(),
            timers: Timers::default(),
            request: spec.request(),
            verifier: Verifier::new(spec.expected_body.as_deref()),
            buffer: vec![0; BUFFER_BYTES],
            events: Vec::with_capacity(EVENTS_MAX),
            usage: UsageMeter::new()?,
            tally: Tally::default(),
            arrivals: Arrivals::None,
            reconnects: Reconnects::default(),
            setting_up: 0,
        })
    }

    pub(super) fn run(mut self) -> Result<HttpLoadResult, HttpLoadError> {
        let used = match self.spec.load {
            HttpLoad::Closed { warmup_ns, duration_ns } => self.run_closed(warmup_ns, duration_ns)?,
            HttpLoad::Open { .. } => self.run_open()?,
            HttpLoad::OneEach { requests, spread_ns, first, stride } => {
                self.run_one_each(|start_ns| Schedule::new(start_ns, spread_ns, requests, first, stride))?
            }
        };
        if self.tally.in_flight() != 0 {
            let what = format!("{} requests are in flight on no connection", self.tally.in_flight());
            return Err(HttpLoadError::Unbalanced { what });
        }
        Ok(self.tally.into_result(used))
    }

    fn run_closed(&mut self, warmup_ns: u64, duration_ns: u64) -> Result<Usage, HttpLoadError> {
        self.set_up()?;
        let start_ns = self.wait_for_start()?;
        let begin_ns = start_ns.saturating_add(warmup_ns);
        let end_ns = begin_ns.saturating_add(duration_ns);
        self.tally.set_window(begin_ns, end_ns);
        self.tally.set_timeline(start_ns, warmup_ns.saturating_add(duration_ns));
        self.arrivals = Arrivals::Closed { end_ns };
        let mut unstarted = 0..self.connections.len();
        let mut used_before = None;
        loop {
            let now_ns = monotonic_ns();
            if used_before.is_none() && now_ns >= begin_ns {
                used_before = Some(self.usage.read()?);
            }
            if now_ns >= end_ns {
                break;
            }
            for slot in unstarted.by_ref().take(FIRST_STARTS_MAX) {
                let now_ns = monotonic_ns();
                self.begin(slot, now_ns, now_ns);
            }
            let wake_ns = match used_before {
                _ if !unstarted.is_empty() => now_ns,
                None => begin_ns,
                Some(_) => end_ns,
            };
            self.turn(now_ns, wake_ns)?;
        }
        let used_after = self.usage.read()?;
        self.drain(end_ns.saturating_add(self.spec.drain_ns))?;
        Ok(used_after.since(used_before.unwrap_or(used_after)))
    }

    fn run_one_each(&mut self, schedule: impl FnOnce(u64) -> Schedule) -> Result<Usage, HttpLoadError> {
        let start_ns = self.wait_for_start()?;
        let mut schedule = schedule(start_ns);
        self.tally.set_window(start_ns, u64::MAX);
        self.arrivals = Arrivals::OneEach(OpenSlots::new(slot_number(self.connections.len())));
        let used_before = self.usage.read()?;
        while let Some(first_ns) = schedule.peek() {
            let mut now_ns = monotonic_ns();
            let mut next_ns = Some(first_ns);
            for _ in 0..STARTS_MAX {
                let Some(intended_ns) = next_ns.filter(|&at_ns| at_ns <= now_ns) else { break };
                self.begin_scheduled(intended_ns, now_ns);
                schedule.advance();
                next_ns = schedule.peek();
                now_ns = monotonic_ns();
            }
            let Some(next_ns) = next_ns else { break };
            match pace::step(now_ns, next_ns) {
                pace::Step::Due => _ = self.turn(now_ns, now_ns)?,
                pace::Step::Spin => {
                    if self.turn(now_ns, now_ns)? == 0 {
                        self.tally.spin_ns += monotonic_ns() - now_ns;
                    }
                }
                pace::Step::Sleep { until_ns } => _ = self.turn(now_ns, until_ns)?,
            }
        }
        self.drain(schedule.end_ns().max(monotonic_ns()).saturating_add(self.spec.drain_ns))?;
        Ok(self.usage.read()?.since(used_before))
    }

    /// Opens all connections. One that cannot be opened is tried again when the load begins.
    pub(super) fn set_up(&mut self) -> Result<(), HttpLoadError> {
        let mut unopened = 0..self.connections.len();
        while !unopened.is_empty() || self.setting_up > 0 {
            while self.setting_up < SETUP_CONNECTING_MAX
                && let Some(slot) = unopened.next()
            {
                self.open(slot, monotonic_ns());
            }
            let now_ns = monotonic_ns();
            self.handle_deadlines(now_ns);
            // Where all of these have failed there is nothing to wait for.
            self.turn(now_ns, if self.setting_up == 0 { now_ns } else { u64::MAX })?;
        }
        Ok(())
    }

    pub(super) fn wait_for_start(&self) -> Result<u64, HttpLoadError> {
        let now_ns = monotonic_ns();
        let Some(start_ns) = self.spec.start_at_monotonic_ns else { return Ok(now_ns) };
        if start_ns < now_ns {
            return Err(HttpLoadError::StartPassed { late_ns: now_ns - start_ns });
        }
        pace::sleep_until(start_ns);
        Ok(start_ns)
    }

    /// Waits for requests in flight until `deadline_ns`, and cuts those that are left.
    fn drain(&mut self, deadline_ns: u64) -> Result<(), HttpLoadError> {
        self.arrivals.end();
        let mut now_ns = monotonic_ns();
        while self.tally.in_flight() > 0 && now_ns < deadline_ns {
            self.turn(now_ns, deadline_ns)?;
            now_ns = monotonic_ns();
        }
        for connection in self.connections.iter_mut().filter(|connection| connection.has_request) {
            connection.has_request = false;
            self.tally.cut(connection.times, now_ns);
        }
        Ok(())
    }

    /// Handles the deadlines that are due, and the events that are there or come before `wake_ns`; with a `wake_ns` up to
    /// `now_ns` it does not wait for any. Returns the number of events.
    pub(super) fn turn(&mut self, now_ns: u64, wake_ns: u64) -> Result<usize, HttpLoadError> {
        self.turn_with(now_ns, wake_ns, |_| {})
    }

    /// The same, with something to do after each event.
    #[inline]
    pub(super) fn turn_with(
        &mut self,
        now_ns: u64,
        wake_ns: u64,
        mut between: impl FnMut(&mut Self),
    ) -> Result<usize, HttpLoadError> {
        self.handle_deadlines(now_ns);
        let timeout = if wake_ns <= now_ns {
            Some(timespec(0))
        } else {
            if wake_ns < u64::MAX {
                self.pacer.arm(wake_ns).map_err(HttpLoadError::system("timerfd_settime"))?;
            }
            // Deadlines need no better than epoll's own milliseconds.
            self.timers.next_ns().map(|at_ns| timespec(at_ns.saturating_sub(now_ns)))
        };
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(HttpLoadError::system("epoll_wait")(errno)),
        }
        for &event in &events {
            let token = event.data.u64();
            if token != TIMER_TOKEN {
                self.on_event(token, event.flags);
                between(self);
            }
        }
        let count = events.len();
        self.events = events;
        Ok(count)
    }
}
