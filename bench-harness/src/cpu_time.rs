//! How the CPUs have spent their time since the machine was started: `/proc/stat`.

use std::fs;

/// The time of all CPUs together, and of each by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    pub(crate) all: Ticks,
    pub(crate) each: Vec<(u32, Ticks)>,
}

/// Time in ticks, of 10 ms by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    /// With nothing to do, or nothing but to wait for a disk.
    pub(crate) idle: u64,
    /// Taken by the hypervisor for others.
    pub(crate) steal: u64,
    pub(crate) total: u64,
}

impl CpuTimes {
    pub(crate) fn read() -> Option<CpuTimes> {
        CpuTimes::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// See `proc_stat(5)`: user, nice, system, idle, iowait, irq, softirq, steal, and guest times that are part of the
    /// user's.
    fn parse(text: &str) -> Option<CpuTimes> {
        let mut all = None;
        let mut each = Vec::new();
        for line in text.lines() {
            let Some((name, rest)) = line.strip_prefix("cpu").and_then(|line| line.split_once(' ')) else {
                continue;
            };
            let fields: Vec<u64> = rest.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
            let [_, _, _, idle, waiting, _, _, steal] = *fields.first_chunk()?;
            let ticks = Ticks { idle: idle + waiting, steal, total: fields[..8].iter().sum() };
            match name {
                "" => all = Some(ticks),
                number => each.push((number.parse().ok()?, ticks)),
            }
        }
        Some(CpuTimes { all: all?, each })
    }
}

impl Ticks {
    /// The share of the time from `earlier` to here in which it ran something; none where no time has passed.
    pub(crate) fn busy_share_since(self, earlier: Ticks) -> Option<f64> {
        let busy = |ticks: Ticks| ticks.total.checked_sub(ticks.idle + ticks.steal);
        share(busy(self)?, busy(earlier)?, self.total, earlier.total)
    }

    /// The share of the time from `earlier` to here that the hypervisor gave to others.
    pub(crate) fn steal_share_since(self, earlier: Ticks) -> Option<f64> {
        share(self.steal, earlier.steal, self.total, earlier.total)
    }
}

/// The share that a part has of the whole, of two counters that only grow.
#[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
pub(crate) fn share(part: u64, part_earlier: u64, whole: u64, whole_earlier: u64) -> Option<f64> {
    let (part, whole) = (part.checked_sub(part_earlier)?, whole.checked_sub(whole_earlier)?);
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "\
cpu  609064 12078 272592 2968946 5516 0 48838 13220 100 0
cpu0 301262 5536 132695 1493667 1681 0 23253 6810 100 0
cpu1 307802 6542 139897 1475279 3835 0 25585 6410 0 0
intr 1 2 3
ctxt 7
";

    #[test]
    fn each_cpu_is_read_and_guests_count_once() {
        let times = CpuTimes::parse(STAT).unwrap();
        assert_eq!(
            times.all,
            Ticks {
                idle: 2_968_946 + 5_516,
                steal: 13_220,
                total: 609_064 + 12_078 + 272_592 + 2_974_462 + 62_058
            }
        );
        assert_eq!(times.each.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1]);
        let sum: u64 = times.each.iter().map(|(_, ticks)| ticks.total).sum();
        assert_eq!(sum, times.all.total);
        assert_eq!(CpuTimes::parse("cpu0 1 2 3\n"), None);
        assert_eq!(CpuTimes::parse("cpu  1 2 x 4 5 6 7 8\n"), None);
    }

    #[test]
    fn shares_are_of_the_time_between() {
        let at = |idle, steal, total| Ticks { idle, steal, total };
        let (earlier, later) = (at(100, 10, 200), at(150, 20, 300));
        assert_eq!(later.busy_share_since(earlier), Some(0.4));
        assert_eq!(later.steal_share_since(earlier), Some(0.1));
        assert_eq!(later.busy_share_since(later), None);
        // A counter that ran backwards tells nothing.
        assert_eq!(earlier.busy_share_since(later), None);
    }
}
