//! How the loop shows how late its executor is: a tick at a time, handed over as work would be.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use execution_model::server::{LagMeter, ServerState};
use workload::LAG_TICK;

/// The loop's end: hands a tick over at each instant at which one is due, unless the last one is still on its way. A pool
/// that is behind has no more than one in its queue.
#[derive(Debug)]
pub(crate) struct Ticker {
    home: Arc<Home>,
    next: Instant,
}

/// A tick on its way to where work is carried out.
#[derive(Debug)]
pub struct Tick {
    meter: Option<LagMeter>,
    home: Arc<Home>,
}

/// The meter, while no tick is on its way.
#[derive(Debug)]
struct Home {
    meter: Mutex<Option<LagMeter>>,
}

impl Ticker {
    pub(crate) fn new(state: &Arc<ServerState>) -> Ticker {
        let meter = Mutex::new(Some(LagMeter::new(state)));
        Ticker { home: Arc::new(Home { meter }), next: Instant::now() + LAG_TICK }
    }

    /// When to ask for a tick.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// A tick, where it is time for one and none is on its way.
    pub(crate) fn tick(&mut self, now: Instant) -> Option<Tick> {
        if now < self.next {
            return None;
        }
        while self.next <= now {
            self.next += LAG_TICK;
        }
        let meter = self.home.meter().take()?;
        Some(Tick { meter: Some(meter), home: Arc::clone(&self.home) })
    }
}

impl Tick {
    /// It has come to where work is carried out. One that is dropped before, because a queue is full, has not come: it
    /// is still due.
    pub fn comes(mut self) {
        if let Some(meter) = &mut self.meter {
            meter.woke();
        }
    }
}

impl Drop for Tick {
    fn drop(&mut self) {
        *self.home.meter() = self.meter.take();
    }
}

impl Home {
    fn meter(&self) -> MutexGuard<'_, Option<LagMeter>> {
        self.meter.lock().expect("nothing panics under this lock")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use execution_model::VariantInfo;
    use execution_model::server::ServerLimits;

    use super::*;

    fn state() -> Arc<ServerState> {
        let long = Duration::from_secs(60);
        let limits = ServerLimits { in_flight: 1, connections: 1, idle: long, request: long };
        let variant = VariantInfo {
            name: "only".into(),
            summary: String::new(),
            in_flight_limit: None,
            thread_per_request: false,
            refuses_offload: None,
            refuses_in_place: None,
        };
        ServerState::new(limits, variant)
    }

    #[test]
    fn one_tick_is_on_its_way_at_a_time_and_tells_of_all_that_were_due() {
        let state = state();
        let mut ticker = Ticker::new(&state);
        assert!(ticker.tick(Instant::now()).is_none());
        std::thread::sleep(LAG_TICK * 2);
        let tick = ticker.tick(Instant::now()).unwrap();
        assert!(ticker.next() > Instant::now() - LAG_TICK);
        std::thread::sleep(LAG_TICK * 5);
        assert!(ticker.tick(Instant::now()).is_none());
        tick.comes();
        let lag = state.loop_lag();
        assert!(lag.count() >= 6 && lag.max_ns() >= Some(60_000_000), "{lag:?}");
        std::thread::sleep(LAG_TICK * 2);
        assert!(ticker.tick(Instant::now()).is_some());
    }

    #[test]
    fn a_tick_for_which_there_was_no_room_is_still_due() {
        let state = state();
        let mut ticker = Ticker::new(&state);
        std::thread::sleep(LAG_TICK * 2);
        drop(ticker.tick(Instant::now()).unwrap());
        assert_eq!(state.loop_lag().count(), 0);
        std::thread::sleep(LAG_TICK * 3);
        ticker.tick(Instant::now()).unwrap().comes();
        assert!(state.loop_lag().max_ns() >= Some(40_000_000));
    }
}
