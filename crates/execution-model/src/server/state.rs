//! A server's limits and counts: who is admitted, and what `/metrics` and snapshots tell.

use std::fmt::Write;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use workload::{Answer, BlockingStrategy, ServerCounts};

use crate::panic::Panicked;
use crate::runtime::VariantInfo;

/// How long a server waits after accepting failed, before it tries again.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(10);

/// The limits of a server: the same for every model.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// The most plans admitted at one time: in service, or queued for it where the model has a queue.
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
    epoch: Instant,
    draining: AtomicBool,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicU64,
    completed: AtomicU64,
    rejected: AtomicU64,
    failed: AtomicU64,
    refused: AtomicU64,
    admitted: AtomicU64,
    in_flight: AtomicU64,
    in_flight_peak: AtomicU64,
    /// The sum of finish minus start over the plans that have ended, less the starts of those in
    /// flight, all wrapping: adding `now` for each in flight gives the integral.
    integral_ns: AtomicU64,
    connections_accepted: AtomicU64,
    connections_rejected: AtomicU64,
    connections: AtomicU64,
    accept_out_of_descriptors: AtomicU64,
    accept_failed: AtomicU64,
    connections_unstartable: AtomicU64,
}

impl ServerState {
    /// The state of a server of `variant` that has just begun.
    #[must_use]
    pub fn new(limits: ServerLimits, variant: VariantInfo) -> Arc<ServerState> {
        Arc::new(ServerState {
            limits,
            variant,
            epoch: Instant::now(),
            draining: AtomicBool::new(false),
            counts: Counts::default(),
        })
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &ServerLimits {
        &self.limits
    }

    /// Takes a place for one plan, or says that none is free.
    #[must_use]
    pub fn admit(self: &Arc<Self>) -> Option<Place> {
        let counts = &self.counts;
        if counts.admitted.fetch_add(1, Relaxed) >= self.limits.in_flight || self.is_draining() {
            counts.admitted.fetch_sub(1, Relaxed);
            counts.rejected.fetch_add(1, Relaxed);
            return None;
        }
        counts.accepted.fetch_add(1, Relaxed);
        Some(Place { state: Arc::clone(self), begun: false })
    }

    /// Counts a connection that was accepted, or says that it is one too many.
    #[must_use]
    pub fn open_connection(self: &Arc<Self>) -> Option<OpenConnection> {
        let counts = &self.counts;
        if counts.connections.fetch_add(1, Relaxed) >= self.limits.connections || self.is_draining() {
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
            Some(errno) if out_of_descriptors.contains(&errno) => &self.counts.accept_out_of_descriptors,
            _ => &self.counts.accept_failed,
        }
        .fetch_add(1, Relaxed);
        ACCEPT_BACK_OFF
    }

    /// Counts a connection that could not be given what the model needs for one.
    pub fn connection_unstartable(&self) {
        self.counts.connections_unstartable.fetch_add(1, Relaxed);
    }

    /// Begins to refuse new connections and requests.
    pub fn start_draining(&self) {
        self.draining.store(true, Relaxed);
    }

    /// Whether the server is draining.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    /// The counts at this instant.
    #[must_use]
    pub fn counts(&self) -> ServerCounts {
        let counts = &self.counts;
        let get = |count: &AtomicU64| count.load(Relaxed);
        let in_flight = get(&counts.in_flight);
        ServerCounts {
            accepted: get(&counts.accepted),
            completed: get(&counts.completed),
            rejected: get(&counts.rejected),
            failed: get(&counts.failed),
            refused: get(&counts.refused),
            queued: get(&counts.admitted).saturating_sub(in_flight),
            in_flight,
            in_flight_peak: get(&counts.in_flight_peak),
            in_flight_integral_ns: get(&counts.integral_ns)
                .wrapping_add(in_flight.wrapping_mul(self.now_ns())),
            connections_accepted: get(&counts.connections_accepted),
            connections_rejected: get(&counts.connections_rejected),
            connections: get(&counts.connections),
            accept_out_of_descriptors: get(&counts.accept_out_of_descriptors),
            accept_failed: get(&counts.accept_failed),
            connections_unstartable: get(&counts.connections_unstartable),
        }
    }

    /// The counts in the Prometheus text exposition format.
    #[must_use]
    pub fn metrics(&self) -> String {
        let counts = self.counts();
        let mut text = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, value: u64| {
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}")
                .expect("writing to a string cannot fail");
        };
        metric("requests_in_flight", "gauge", "Plans being carried out.", counts.in_flight);
        metric("requests_queued", "gauge", "Plans accepted that wait to be carried out.", counts.queued);
        metric("requests_in_flight_peak", "gauge", "The most plans in flight so far.", counts.in_flight_peak);
        metric("requests_accepted_total", "counter", "Plans accepted.", counts.accepted);
        metric("requests_completed_total", "counter", "Plans carried out.", counts.completed);
        metric("requests_rejected_total", "counter", "Plans answered 503.", counts.rejected);
        metric(
            "requests_failed_total",
            "counter",
            "Plans accepted that panicked or were torn down.",
            counts.failed,
        );
        metric("requests_refused_total", "counter", "Requests answered 4xx.", counts.refused);
        metric("connections", "gauge", "Connections open.", counts.connections);
        metric("connections_accepted_total", "counter", "Connections accepted.", counts.connections_accepted);
        metric(
            "connections_rejected_total",
            "counter",
            "Connections over the limit.",
            counts.connections_rejected,
        );
        text
    }

    /// Why a plan with this strategy cannot be carried out by this variant, where it cannot.
    #[must_use]
    pub fn refuses(&self, strategy: BlockingStrategy) -> Option<&'static str> {
        self.variant.refuses(strategy)
    }

    /// Counts a request that was answered with a 4xx.
    pub(crate) fn request_refused(&self) {
        self.counts.refused.fetch_add(1, Relaxed);
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A plan's place among those that the server has accepted. One that is dropped before its service
/// began counts as rejected.
#[derive(Debug)]
pub struct Place {
    state: Arc<ServerState>,
    begun: bool,
}

impl Place {
    /// Begins the service: the queue wait is over.
    #[must_use]
    pub fn begin(mut self) -> Service {
        self.begun = true;
        let counts = &self.state.counts;
        let in_flight = counts.in_flight.fetch_add(1, Relaxed) + 1;
        // A plain look first: the peak rarely moves, and a write would take the line from other cores.
        if in_flight > counts.in_flight_peak.load(Relaxed) {
            counts.in_flight_peak.fetch_max(in_flight, Relaxed);
        }
        counts.integral_ns.fetch_sub(self.state.now_ns(), Relaxed);
        Service { place: self, completed: false }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let counts = &self.state.counts;
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
        let state = &self.place.state;
        state.counts.integral_ns.fetch_add(state.now_ns(), Relaxed);
        state.counts.in_flight.fetch_sub(1, Relaxed);
        if self.completed { &state.counts.completed } else { &state.counts.failed }.fetch_add(1, Relaxed);
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
        self.state.counts.connections.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn state(in_flight: u64, connections: u64) -> Arc<ServerState> {
        let limits = ServerLimits {
            in_flight,
            connections,
            idle: Duration::from_secs(60),
            request: Duration::from_secs(10),
        };
        let variant = VariantInfo {
            name: "only".into(),
            summary: String::new(),
            in_flight_limit: None,
            thread_per_request: false,
            refuses_offload: None,
            refuses_in_place: Some("it cannot"),
        };
        ServerState::new(limits, variant)
    }

    #[test]
    fn admission_ends_at_the_limit_and_every_plan_is_counted_once() {
        let state = state(3, 1);
        let first = state.admit().unwrap().begin();
        let second = state.admit().unwrap().begin();
        let queued = state.admit().unwrap();
        assert_eq!((state.counts().in_flight, state.counts().queued), (2, 1));
        assert!(state.admit().is_none());
        first.complete();
        drop(second);
        drop(queued);
        state.start_draining();
        assert!(state.admit().is_none());
        let counts = state.counts();
        let seen = (counts.accepted, counts.completed, counts.failed, counts.rejected, counts.in_flight_peak);
        assert_eq!(seen, (2, 1, 1, 3, 2));
        assert_eq!((counts.in_flight, counts.queued), (0, 0));
    }

    #[test]
    fn the_integral_counts_what_is_still_in_flight() {
        let state = state(2, 1);
        let _stays = state.admit().unwrap().begin();
        std::thread::sleep(Duration::from_millis(20));
        let so_far = state.counts().in_flight_integral_ns;
        assert!((20_000_000..2_000_000_000).contains(&so_far), "{so_far}");
    }

    #[test]
    fn connections_end_at_their_limit() {
        let state = state(2, 1);
        let open = state.open_connection().unwrap();
        assert!(state.open_connection().is_none());
        drop(open);
        assert!(state.open_connection().is_some());
        assert_eq!(state.counts().connections_rejected, 1);
    }

    #[test]
    fn a_lack_of_descriptors_is_told_from_other_failures() {
        let state = state(1, 1);
        let fail = |errno: rustix::io::Errno| state.accept_failed(&errno.into());
        assert!(!fail(rustix::io::Errno::MFILE).is_zero());
        assert!(!fail(rustix::io::Errno::NOMEM).is_zero());
        assert!(fail(rustix::io::Errno::CONNABORTED).is_zero());
        let counts = state.counts();
        assert_eq!((counts.accept_out_of_descriptors, counts.accept_failed), (1, 1));
    }
}
