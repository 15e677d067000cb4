//! What else went on while a run did.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text;
use crate::cgroup::Group;
use crate::cpu_time::{self, CpuTimes};

/// What else went on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Noise {
    /// Tasks that ran or wanted to, over the last minute.
    pub(crate) load_1min: Option<f64>,
    /// Ticks, of 10 ms by default, that the hypervisor gave to others since the start of the machine.
    pub(crate) steal_ticks: Option<u64>,
    /// All ticks since the start of the machine.
    pub(crate) cpu_ticks: Option<u64>,
    /// Microseconds in which some task waited for a CPU.
    pub(crate) cpu_pressure_us: Option<u64>,
    /// Periods in which a quota held the control group back.
    pub(crate) throttled_periods: Option<u64>,
}

impl Noise {
    pub(crate) fn read() -> Noise {
        let ticks = CpuTimes::read().map(|times| times.all);
        Noise {
            load_1min: text("/proc/loadavg").and_then(|load| load.split(' ').next()?.parse().ok()),
            steal_ticks: ticks.map(|ticks| ticks.steal),
            cpu_ticks: ticks.map(|ticks| ticks.total),
            cpu_pressure_us: text("/proc/pressure/cpu")
                .and_then(|pressure| pressure.lines().next()?.rsplit_once("total=")?.1.parse().ok()),
            throttled_periods: Group::read(Path::new("/")).throttled_periods,
        }
    }

    /// The share of all CPU time from `earlier` to here that the hypervisor gave to others.
    pub(crate) fn steal_share_since(&self, earlier: &Noise) -> Option<f64> {
        cpu_time::share(self.steal_ticks?, earlier.steal_ticks?, self.cpu_ticks?, earlier.cpu_ticks?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_null() {
        let text = serde_json::to_string(&Noise::default()).unwrap();
        assert!(text.contains(r#""steal_ticks":null"#), "{text}");
        assert_eq!(Noise::default().steal_share_since(&Noise::default()), None);
    }

    #[test]
    fn steal_is_a_share_of_all_ticks() {
        let at = |steal, all| Noise { steal_ticks: Some(steal), cpu_ticks: Some(all), ..Noise::default() };
        assert_eq!(at(15, 1_000).steal_share_since(&at(5, 500)), Some(0.02));
    }
}
