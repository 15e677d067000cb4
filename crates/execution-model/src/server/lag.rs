//! Loop lag, measured inside a runtime: ticks by the clock, each of which the runtime takes note of in its own way.
//!
//! A tick is due every 10 ms, whenever the one before it came: what a timer would have felt that was due then. So a
//! block of 50 ms shows as five late ticks and not as one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use workload::{LAG_CLASSES, LAG_TICK, LoopLag, lag_class};

use crate::exposition::{Exposition, seconds};
use crate::server::ServerState;

/// The ticks of a server whose runtime keeps to one schedule.
#[derive(Debug)]
pub struct LagMeter {
    state: Arc<ServerState>,
    due: Instant,
}

impl LagMeter {
    /// The first tick is due one period from now.
    #[must_use]
    pub fn new(state: &Arc<ServerState>) -> LagMeter {
        LagMeter { state: Arc::clone(state), due: Instant::now() + LAG_TICK }
    }

    /// How long to sleep until the next tick; none where the server drains, and the meter is to end.
    #[must_use]
    pub fn pause(&self) -> Option<Duration> {
        (!self.state.is_draining()).then(|| self.due.saturating_duration_since(Instant::now()))
    }

    /// The ticks that are due have come.
    pub fn woke(&mut self) {
        loop {
            let now = Instant::now();
            let Some(late) = now.checked_duration_since(self.due) else { return };
            self.state.lag().record(late);
            self.due += LAG_TICK;
        }
    }
}

/// How many ticks came how late, in atomics of which all zeros are none.
pub(super) struct LagCounts {
    classes: [AtomicU32; LAG_CLASSES],
}

impl LagCounts {
    fn record(&self, late: Duration) {
        self.classes[lag_class(late)].fetch_add(1, Relaxed);
    }

    pub(super) fn add_to(&self, lag: &mut LoopLag) {
        for (class, ticks) in self.classes.iter().enumerate() {
            lag.add(class, ticks.load(Relaxed).into());
        }
    }
}

/// Writes a summary since the server began.
pub(super) fn write(told: &mut Exposition, lag: &LoopLag) {
    const NAME: &str = "loop_lag_seconds";
    told.head(NAME, "summary", "How late ticks of 10 ms come inside the runtime.");
    told.quantiles(NAME, &[], &[0.5, 0.9, 0.99, 1.0], |share| lag.quantile_ns(share));
    let sum: f64 = lag.iter().map(|(ns, ticks)| seconds(ns) * ticks as f64).sum();
    told.line(&format!("{NAME}_sum"), &[], sum);
    told.line(&format!("{NAME}_count"), &[], lag.count());
}

impl Default for LagCounts {
    fn default() -> LagCounts {
        LagCounts { classes: [const { AtomicU32::new(0) }; LAG_CLASSES] }
    }
}

impl std::fmt::Debug for LagCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut lag = LoopLag::default();
        self.add_to(&mut lag);
        lag.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::state::tests::state;

    #[test]
    fn a_block_is_as_many_late_ticks_as_it_holds() {
        let state = state(1, 1);
        let mut meter = LagMeter::new(&state);
        meter.woke();
        assert_eq!(state.loop_lag().count(), 0, "none is due");
        std::thread::sleep(LAG_TICK * 6);
        meter.woke();
        let lag = state.loop_lag();
        assert!(lag.count() >= 5, "{lag:?}");
        assert!(lag.max_ns() >= Some(50_000_000), "{lag:?}");
        assert!(meter.pause().is_some_and(|pause| pause <= LAG_TICK));
        state.start_draining();
        assert_eq!(meter.pause(), None);
    }

    #[test]
    fn metrics_tell_the_lag() {
        let state = state(1, 1);
        assert!(state.metrics().contains("\nloop_lag_seconds_count 0\n"));
        assert!(!state.metrics().contains("quantile"), "there is no quantile of nothing");
        (0..99).for_each(|_| state.lag().record(Duration::from_millis(1)));
        state.lag().record(Duration::from_millis(100));
        let metrics = state.metrics();
        let quantile = |name: &str| -> f64 {
            let line = metrics
                .lines()
                .find_map(|line| line.strip_prefix(&format!("loop_lag_seconds{{quantile=\"{name}\"}} ")));
            line.and_then(|value| value.parse().ok()).unwrap()
        };
        assert!((quantile("0.99") - 0.001).abs() < 0.000_04 && (quantile("1") - 0.1).abs() < 0.004);
        assert!(metrics.contains("\nloop_lag_seconds_count 100\n"));
    }
}
