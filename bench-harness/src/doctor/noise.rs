//! How noisy the machine is now, and from when on that is too much.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use load_driver::hiccup::HiccupMeter;
use load_driver::priority::Priority;
use serde::Serialize;
use statistics::Percentile;

use crate::cpu_time::CpuTimes;
use crate::environment::Noise;
use crate::interrupt::Interrupt;
use crate::percentile::percentile_ns;

/// What was heard in a short while. None is not available, or not supported by so few samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct NoiseNow {
    pub(crate) duration_ns: u64,
    /// How long the machine kept a thread from running that had nothing in its way: the hypervisor, interrupts, timers.
    pub(crate) stall_p50_ns: Option<u64>,
    pub(crate) stall_p99_ns: Option<u64>,
    pub(crate) stall_max_ns: Option<u64>,
    /// How late the same thread woke, whatever the cause: other threads of this machine too.
    pub(crate) lateness_p50_ns: Option<u64>,
    pub(crate) lateness_p99_ns: Option<u64>,
    pub(crate) lateness_max_ns: Option<u64>,
    pub(crate) load_1min: Option<f64>,
    /// The share of all CPUs' time in which something ran, this program among it.
    pub(crate) busy_share: Option<f64>,
    pub(crate) busy_share_by_cpu: BTreeMap<u32, f64>,
    /// The share of all CPUs' time that the hypervisor gave to others.
    pub(crate) steal_share: Option<f64>,
    /// The share of the time in which some task waited for a CPU.
    pub(crate) pressure_share: Option<f64>,
    /// Periods in which a quota held this control group back.
    pub(crate) throttled_periods: Option<u64>,
}

/// More than this share of all CPU time is somebody else's work. This program needs 1 % of one CPU while it listens.
const BUSY_SHARE_MOST: f64 = 0.1;
/// More than this share of all CPU time, taken by the hypervisor, shows in tails.
pub(crate) const STEAL_SHARE_MOST: f64 = 0.01;
/// A task waited for a CPU in more than this share of the time.
const PRESSURE_SHARE_MOST: f64 = 0.1;
/// A load for each CPU that is more than this: half of them had work over the last minute.
const LOAD_EACH_MOST: f64 = 0.5;
/// The send lag that an honest generator may have at p99: where the machine stalls for longer, it is not met.
const STALL_P99_MOST: Duration = Duration::from_millis(1);

/// Whether so much load is too much for so many CPUs.
pub(crate) fn is_loaded(load_1min: f64, cpus: usize) -> bool {
    load_1min > LOAD_EACH_MOST * u32::try_from(cpus).map_or(f64::INFINITY, f64::from)
}

impl NoiseNow {
    /// Listens for so long, or until it is interrupted: a meter that sleeps and notes how late it wakes, and counters before and after.
    pub(crate) fn listen(duration: Duration, interrupt: &Interrupt) -> io::Result<NoiseNow> {
        let (noise_before, times_before, begin) = (Noise::read(), CpuTimes::read(), Instant::now());
        let meter = HiccupMeter::start(&[], Priority::Usual)?;
        interrupt.sleep_until(begin + duration);
        let hiccups = meter.stop();
        let (noise, times, elapsed) = (Noise::read(), CpuTimes::read(), begin.elapsed());
        let mut now = NoiseNow {
            duration_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            load_1min: noise.load_1min,
            pressure_share: pressure_share(&noise_before, &noise, elapsed),
            throttled_periods: noise
                .throttled_periods
                .zip(noise_before.throttled_periods)
                .map(|(after, before)| after.saturating_sub(before)),
            lateness_p50_ns: percentile_ns(&hiccups.lateness, Percentile::P50),
            lateness_p99_ns: percentile_ns(&hiccups.lateness, Percentile::P99),
            lateness_max_ns: hiccups.lateness.max_ns(),
            ..NoiseNow::default()
        };
        if let Some(stalls) = &hiccups.stalls {
            now.stall_p50_ns = percentile_ns(stalls, Percentile::P50);
            now.stall_p99_ns = percentile_ns(stalls, Percentile::P99);
            now.stall_max_ns = stalls.max_ns();
        }
        if let Some((before, after)) = times_before.zip(times) {
            now.busy_share = after.all.busy_share_since(before.all);
            now.steal_share = after.all.steal_share_since(before.all);
            now.busy_share_by_cpu = after
                .each
                .iter()
                .filter_map(|(cpu, ticks)| {
                    let (_, earlier) = before.each.iter().find(|(other, _)| other == cpu)?;
                    Some((*cpu, ticks.busy_share_since(*earlier)?))
                })
                .collect();
        }
        Ok(now)
    }

    /// Why this is too much noise to measure in; empty where it is not. `cpus` are those that this process may use.
    pub(crate) fn reasons(&self, cpus: Option<usize>) -> Vec<String> {
        let mut reasons = Vec::new();
        let percent = |share: f64| share * 100.0;
        if let Some((load, cpus)) = self.load_1min.zip(cpus).filter(|(load, cpus)| is_loaded(*load, *cpus)) {
            reasons.push(format!(
                "load {load:.2} over the last minute on {cpus} CPUs (at most {LOAD_EACH_MOST} for each)"
            ));
        }
        let shares = [
            (self.busy_share, BUSY_SHARE_MOST, "of the CPU time was used"),
            (self.steal_share, STEAL_SHARE_MOST, "of the CPU time went to others by the hypervisor"),
            (self.pressure_share, PRESSURE_SHARE_MOST, "of the time a task waited for a CPU"),
        ];
        for (share, most, what) in shares {
            if let Some(share) = share.filter(|share| *share > most) {
                reasons.push(format!("{:.1} % {what} (at most {:.0} %)", percent(share), percent(most)));
            }
        }
        let stall = self.stall_p99_ns.map(Duration::from_nanos).filter(|stall| *stall > STALL_P99_MOST);
        if let Some(stall) = stall {
            reasons.push(format!("it stalls for {stall:.1?} at p99 (at most {STALL_P99_MOST:?})"));
        }
        if let Some(periods) = self.throttled_periods.filter(|periods| *periods > 0) {
            reasons.push(format!("a CPU quota held this control group back in {periods} periods"));
        }
        reasons
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
fn pressure_share(before: &Noise, after: &Noise, elapsed: Duration) -> Option<f64> {
    let waited_us = after.cpu_pressure_us?.checked_sub(before.cpu_pressure_us?)?;
    let elapsed_us = elapsed.as_micros();
    (elapsed_us > 0).then(|| (waited_us as f64 / elapsed_us as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> NoiseNow {
        NoiseNow {
            duration_ns: 2_000_000_000,
            stall_p50_ns: Some(20_000),
            stall_p99_ns: Some(1_000_000),
            load_1min: Some(1.0),
            busy_share: Some(0.1),
            steal_share: Some(0.01),
            pressure_share: Some(0.1),
            throttled_periods: Some(0),
            ..NoiseNow::default()
        }
    }

    #[test]
    fn each_kind_of_noise_is_a_reason_of_its_own() {
        // At its bounds, and where nothing is known, a machine is not refused.
        assert_eq!(quiet().reasons(Some(2)), [""; 0]);
        assert_eq!(NoiseNow::default().reasons(None), [""; 0]);
        let cases = [
            (NoiseNow { load_1min: Some(1.01), ..quiet() }, "load 1.01 over the last minute on 2 CPUs"),
            (
                NoiseNow { busy_share: Some(0.25), ..quiet() },
                "25.0 % of the CPU time was used (at most 10 %)",
            ),
            (NoiseNow { steal_share: Some(0.011), ..quiet() }, "1.1 % of the CPU time went to others"),
            (NoiseNow { pressure_share: Some(0.2), ..quiet() }, "20.0 % of the time a task waited"),
            (NoiseNow { stall_p99_ns: Some(1_500_000), ..quiet() }, "stalls for 1.5ms at p99 (at most 1ms)"),
            (NoiseNow { throttled_periods: Some(3), ..quiet() }, "in 3 periods"),
        ];
        for (noise, expected) in cases {
            let reasons = noise.reasons(Some(2));
            assert!(reasons.len() == 1 && reasons[0].contains(expected), "{reasons:?}");
        }
    }

    #[test]
    fn listening_hears_this_machine() {
        let heard = NoiseNow::listen(Duration::from_millis(200), &Interrupt::default()).unwrap();
        assert!((200_000_000..5_000_000_000).contains(&heard.duration_ns), "{heard:?}");
        // Some 200 ticks of the meter are enough for a median, and not for p99.
        assert!(heard.lateness_p50_ns <= heard.lateness_max_ns && heard.lateness_max_ns.is_some());
        assert!(heard.lateness_p99_ns.is_none() || heard.duration_ns > 900_000_000, "{heard:?}");
        assert!(heard.busy_share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{heard:?}");
        assert!(!heard.busy_share_by_cpu.is_empty() || heard.busy_share.is_none(), "{heard:?}");
    }
}
