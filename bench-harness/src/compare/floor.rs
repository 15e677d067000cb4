//! The thresholds of a comparison: by how much two figures must differ to be told apart.

use crate::aa::NoiseFloor;
use crate::environment::Run;
use crate::format::count;

/// The noise floors that are known, and what stands in for those that are not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Floors {
    /// Where there are several, the largest counts.
    known: Vec<NoiseFloor>,
}

/// Where nobody has measured the floor of a metric. Less is seldom worth a decision; on a noisy machine the floor is larger
/// than this, which `aa` tells.
pub(crate) const UNMEASURED: f64 = 0.05;

impl Floors {
    /// The floor that was given, or else those that the runs have taken with them.
    pub(crate) fn of(given: Option<NoiseFloor>, runs: [&Run; 2]) -> Floors {
        match given {
            Some(given) => Floors { known: vec![given] },
            None => Floors { known: runs.into_iter().filter_map(|run| run.noise_floor.clone()).collect() },
        }
    }

    /// How far from 1 the ratio of two medians of `n` runs must be. A floor is that of medians of as many runs as `aa`
    /// took for one; of fewer it is larger, by the root of how many fewer.
    #[expect(clippy::cast_precision_loss, reason = "repetitions are few")]
    pub(super) fn threshold(&self, metric: &str, n: usize) -> f64 {
        let of = |floor: &NoiseFloor| {
            let fewer = f64::from(floor.repetitions) / n.max(1) as f64;
            Some(floor.by_metric.get(metric)? * fewer.max(1.0).sqrt())
        };
        self.known.iter().filter_map(of).reduce(f64::max).unwrap_or(UNMEASURED)
    }

    /// Where the thresholds come from.
    pub(super) fn told(&self) -> String {
        let unmeasured = format!("{:.0} %", UNMEASURED * 100.0);
        let Some(first) = self.known.first() else {
            return format!(
                "No noise floor is known: what differs by less than {unmeasured} is told by no verdict. `aa` measures the \
                 floor, and --noise takes it."
            );
        };
        let mut names: Vec<&str> =
            self.known.iter().flat_map(|floor| floor.by_metric.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        format!(
            "Thresholds are the noise floor that `aa` measured on `{}`, of medians of {} runs, for {}; for all others, \
             {unmeasured}.",
            first.measured_on,
            count(first.repetitions.into()),
            names.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_largest_floor_counts_and_fewer_runs_are_noisier() {
        let floor = |share: f64| NoiseFloor {
            measured_on: "floor".into(),
            repetitions: 20,
            by_metric: BTreeMap::from([("elapsed_ns".into(), share)]),
        };
        let run = |share: f64| Run { noise_floor: Some(floor(share)), ..Run::default() };
        let floors = Floors::of(None, [&run(0.01), &run(0.02)]);
        assert_eq!(floors.threshold("elapsed_ns", 20), 0.02);
        assert_eq!(floors.threshold("elapsed_ns", 100), 0.02);
        assert_eq!(floors.threshold("elapsed_ns", 5), 0.04);
        assert_eq!(floors.threshold("probe_p99_ns", 5), UNMEASURED);
        // What was given is taken, also where it is smaller.
        assert_eq!(
            Floors::of(Some(floor(0.005)), [&run(0.01), &run(0.02)]).threshold("elapsed_ns", 20),
            0.005
        );
        assert!(
            Floors::default().told().starts_with("No noise floor is known: what differs by less than 5 %")
        );
        assert!(floors.told().contains("of medians of 20 runs, for elapsed_ns; for all others, 5 %."));
    }
}
