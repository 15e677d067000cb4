//! A server's limits and counts: who is admitted, and what `/metrics` and snapshots tell.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

use workload::{Answer, BlockingStrategy, LoopLag, ServerCounts};

use crate::panic::Panicked;
use crate::runtime::VariantInfo;
use crate::server::lag::LagCounts;
use crate::server::level::{self, Level, Reading};
use crate::server::metrics;

/// How long a server waits after accepting failed, before it tries again.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(10);

/// How often what is in flight is read before a reading will do in which it changed. Each takes less time than a
/// request, so that more than a few are rare.
const READS_MAX: usize = 1_000;

/// The most plans in service that a server can count; it admits no more.
pub const IN_FLIGHT_MAX: u64 = level::NUMBER_MAX;

/// The limits of a server: the same for every model.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// The most plans admitted at one time: in service, or queued for it where the model has a queue. More than a
    /// million are no limit: nothing counts above [`IN_FLIGHT_MAX`].
    pub in_flight: u64,
    /// The most connections.
    pub connections: u64,
    /// How long a connection may be idle between requests.
    pub idle: Duration,
    /// How long a request may take to arrive whole, and a response to be taken.
    pub request: Duration,
}

/// A server's limits and counts, shared by all of its connections.
#[derive(Debug)]
pub struct ServerState {
    limits: ServerLimits,
    variant: VariantInfo,
    /// A part for each process that serves: one, where the model has no processes.
    parts: &'static [Counts],
    /// The part that this process counts in.
    own: usize,
}

/// What one process of a server counts. All zeros is a valid start, so it may lie in fresh memory that
/// several processes map: a limit then holds for all of them, and each can tell the counts of all.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Counts {
    accepted: AtomicU64,
    completed: AtomicU64,
    rejected: AtomicU64,
    failed: AtomicU64,
    refused: AtomicU64,
    admitted: AtomicU64,
    in_flight: Level,
    in_flight_peak: AtomicU64,
    connections_accepted: AtomicU64,
    connections_rejected: AtomicU64,
    connections: AtomicU64,
    accept_out_of_descriptors: AtomicU64,
    accept_failed: AtomicU64,
    connections_unstartable: AtomicU64,
    lag: LagCounts,
    /// In the first part, for all of them.
    draining: AtomicBool,
}

impl ServerState {
    /// The state of a server of `variant` that has just begun.
    #[must_use]
    pub fn new(limits: ServerLimits, variant: VariantInfo) -> Arc<ServerState> {
        // It lives as long as the process, which serves once.
        ServerState::shared(limits, variant, Box::leak(Box::new([Counts::default()])), 0)
    }

    /// The state of a server whose processes share `parts`, as the process that counts in part `own`
    /// sees it.
    #[must_use]
    pub fn shared(
        limits: ServerLimits,
        variant: VariantInfo,
        parts: &'static [Counts],
        own: usize,
    ) -> Arc<ServerState> {
        let limits = ServerLimits { in_flight: limits.in_flight.min(IN_FLIGHT_MAX), ..limits };
        Arc::new(ServerState { limits, variant, parts, own })
    }

    /// Settles the part of a process that was killed: its connections are closed, and what they waited
    /// for has failed. Nobody may count in that part meanwhile.
    pub fn settle_killed(&self, part: usize) {
        let counts = &self.parts[part];
        counts.in_flight.fall_to_zero(now_ns());
        counts.admitted.store(0, Relaxed);
        counts.connections.store(0, Relaxed);
        counts.failed.store(counts.accepted.load(Relaxed) - counts.completed.load(Relaxed), Relaxed);
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &ServerLimits {
        &self.limits
    }

    /// Takes a place for one plan, or says that none is free.
    #[must_use]
    pub fn admit(self: &Arc<Self>) -> Option<Place> {
        let counts = self.own();
        let before = counts.admitted.fetch_add(1, SeqCst);
        if before + self.others(|counts| counts.admitted.load(SeqCst)) >= self.limits.in_flight
            || self.is_draining()
        {
            counts.admitted.fetch_sub(1, Relaxed);
            counts.rejected.fetch_add(1, Relaxed);
            return None;
        }
        counts.accepted.fetch_add(1, Relaxed);
        Some(Place { parts: self.parts, own: self.own, begun: false })
    }

    /// Counts a connection that was accepted, or says that it is one too many.
    #[must_use]
    pub fn open_connection(self: &Arc<Self>) -> Option<OpenConnection> {
        let counts = self.own();
        let before = counts.connections.fetch_add(1, SeqCst);
        let open = before + self.others(|counts| counts.connections.load(SeqCst));
        if open >= self.limits.connections || self.is_draining() {
            counts.connections.fetch_sub(1, Relaxed);
            counts.connections_rejected.fetch_add(1, Relaxed);
            return None;
        }
        counts.connections_accepted.fetch_add(1, Relaxed);
        Some(OpenConnection { state: Arc::clone(self) })
    }

    /// Counts a failure to accept and says how long to wait before the next try: without a pause, a
    /// server that is out of descriptors would spin.
    pub fn accept_failed(&self, error: &io::Error) -> Duration {
        let out_of_descriptors = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
        let errno = rustix::io::Errno::from_io_error(error);
        match errno {
            Some(rustix::io::Errno::CONNABORTED | rustix::io::Errno::INTR) => return Duration::ZERO,
            Some(errno) if out_of_descriptors.contains(&errno) => &self.own().accept_out_of_descriptors,
            _ => &self.own().accept_failed,
        }
        .fetch_add(1, Relaxed);
        ACCEPT_BACK_OFF
    }

    /// Counts a connection that could not be given what the model needs for one.
    pub fn connection_unstartable(&self) {
        self.own().connections_unstartable.fetch_add(1, Relaxed);
    }

    /// Begins to refuse new connections and requests, in all processes.
    pub fn start_draining(&self) {
        self.parts[0].draining.store(true, Relaxed);
    }

    /// Whether the server is draining.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.parts[0].draining.load(Relaxed)
    }

    /// The counts at this instant, of all processes.
    #[must_use]
    pub fn counts(&self) -> ServerCounts {
        let (in_flight, now_ns) = self.in_flight();
        let mut all = ServerCounts {
            at_monotonic_ns: now_ns,
            in_flight: in_flight.number,
            in_flight_integral_ns: in_flight.integral_ns(now_ns),
            processes: self.parts.len() as u64,
            ..ServerCounts::default()
        };
        let mut admitted = 0;
        for counts in self.parts {
            let get = |count: &AtomicU64| count.load(Relaxed);
            admitted += get(&counts.admitted);
            all.accepted += get(&counts.accepted);
            all.completed += get(&counts.completed);
            all.rejected += get(&counts.rejected);
            all.failed += get(&counts.failed);
            all.refused += get(&counts.refused);
            // Each is a peak of all processes, seen by one of them.
            all.in_flight_peak = all.in_flight_peak.max(get(&counts.in_flight_peak));
            let accepted = get(&counts.connections_accepted);
            all.connections_accepted += accepted;
            all.connections_accepted_most = all.connections_accepted_most.max(accepted);
            all.connections_rejected += get(&counts.connections_rejected);
            all.connections += get(&counts.connections);
            all.accept_out_of_descriptors += get(&counts.accept_out_of_descriptors);
            all.accept_failed += get(&counts.accept_failed);
            all.connections_unstartable += get(&counts.connections_unstartable);
        }
        all.queued = admitted.saturating_sub(all.in_flight);
        all
    }

    /// How many plans wait to be carried out, in all processes: of the counts the one that a queue looks at for each
    /// request. Those that begin meanwhile may be counted in or out.
    #[must_use]
    pub fn queued(&self) -> u64 {
        let of = |counts: &Counts| counts.admitted.load(Relaxed).saturating_sub(counts.in_flight.number());
        self.parts.iter().map(of).sum()
    }

    /// What is in flight in all processes, and an instant at which it was.
    fn in_flight(&self) -> (Reading, u64) {
        let read = || {
            let mut sum = Reading::default();
            self.parts.iter().for_each(|counts| sum.add(counts.in_flight.read()));
            sum
        };
        let mut last = read();
        for _ in 0..READS_MAX {
            let now_ns = now_ns();
            let before = std::mem::replace(&mut last, read());
            // Where something began or ended meanwhile, the instant is that of neither.
            if last == before {
                return (last, now_ns);
            }
        }
        (last, now_ns())
    }

    /// How late the runtime's ticks came, in all processes.
    #[must_use]
    pub fn loop_lag(&self) -> LoopLag {
        let mut lag = LoopLag::default();
        self.parts.iter().for_each(|counts| counts.lag.add_to(&mut lag));
        lag
    }

    /// The counts in the Prometheus text exposition format.
    #[must_use]
    pub fn metrics(&self) -> String {
        metrics::text(&self.counts(), &self.loop_lag())
    }

    /// Why a plan with this strategy cannot be carried out by this variant, where it cannot.
    #[must_use]
    pub fn refuses(&self, strategy: BlockingStrategy) -> Option<&'static str> {
        self.variant.refuses(strategy)
    }

    /// Counts a request that was answered with a 4xx.
    pub(crate) fn request_refused(&self) {
        self.own().refused.fetch_add(1, Relaxed);
    }

    pub(super) fn lag(&self) -> &'static LagCounts {
        &self.own().lag
    }

    fn own(&self) -> &'static Counts {
        &self.parts[self.own]
    }

    fn others(&self, gauge: impl Fn(&Counts) -> u64) -> u64 {
        others(self.parts, self.own, gauge)
    }
}

/// The sum of a gauge over the processes that are not `own`.
fn others(parts: &[Counts], own: usize, gauge: impl Fn(&Counts) -> u64) -> u64 {
    let others = parts.iter().enumerate().filter(|(part, _)| *part != own);
    others.map(|(_, counts)| gauge(counts)).sum()
}

/// `CLOCK_MONOTONIC`, which is the same in every process.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let (seconds, nanoseconds) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    seconds * 1_000_000_000 + nanoseconds
}

/// A plan's place among those that the server has accepted. One that is dropped before its service
/// began counts as rejected.
#[derive(Debug)]
pub struct Place {
    // The counts and not the state that has them: a share in that would be taken and given back for each plan.
    parts: &'static [Counts],
    own: usize,
    begun: bool,
}

impl Place {
    /// Begins the service: the queue wait is over.
    #[must_use]
    pub fn begin(mut self) -> Service {
        self.begun = true;
        let counts = self.counts();
        let own = counts.in_flight.rise(now_ns());
        let in_flight = own + others(self.parts, self.own, |counts| counts.in_flight.number());
        // A plain look first: the peak rarely moves, and a write would take the line from other cores.
        if in_flight > counts.in_flight_peak.load(Relaxed) {
            counts.in_flight_peak.fetch_max(in_flight, Relaxed);
        }
        Service { place: self, completed: false }
    }

    fn counts(&self) -> &'static Counts {
        &self.parts[self.own]
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let counts = self.counts();
        counts.admitted.fetch_sub(1, Relaxed);
        if !self.begun {
            counts.accepted.fetch_sub(1, Relaxed);
            counts.rejected.fetch_add(1, Relaxed);
        }
    }
}

/// A plan in service. One that is dropped without [`complete`](Service::complete) counts as failed.
#[derive(Debug)]
pub struct Service {
    place: Place,
    completed: bool,
}

impl Service {
    /// The plan was carried out.
    pub fn complete(mut self) {
        self.completed = true;
    }

    /// The handler has ended, with an answer or a panic, which is handed on.
    pub fn end(self, answer: Result<Answer, Panicked>) -> Result<Answer, Panicked> {
        if answer.is_ok() {
            self.complete();
        }
        answer
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let counts = self.place.counts();
        counts.in_flight.fall(now_ns());
        if self.completed { &counts.completed } else { &counts.failed }.fetch_add(1, Relaxed);
    }
}

/// A connection that counts as open until this is dropped.
#[derive(Debug)]
pub struct OpenConnection {
    state: Arc<ServerState>,
}

impl OpenConnection {
    /// The state of the server that it belongs to.
    #[must_use]
    pub fn state(&self) -> &Arc<ServerState> {
        &self.state
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.state.own().connections.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
pub(crate) mod tests;
