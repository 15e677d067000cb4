//! Planned computing: it shows as CPU time that the kernel charged, and no more of it is done than there are CPUs for.

use std::time::Duration;

use workload::Plan;

use super::{check, float, ns};
use crate::row::Check;

/// Of what was planned by the calibration, as much is held to be certain: a processor's speed changes.
pub(crate) const CERTAIN_SHARE: f64 = 0.9;

/// What the compute kernel can do here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computing {
    /// Rounds in a microsecond of CPU time, as they were calibrated for the run; none where they were not.
    pub(crate) rounds_per_us: Option<f64>,
    /// The CPUs that carry requests out.
    pub(crate) cpus: u64,
    /// For how long each of them may have been used beside the time that is looked at.
    pub(crate) ahead: Duration,
}

impl Computing {
    /// The CPU time of one request of `plan`; none where it computes nothing, or where nothing was calibrated.
    pub(crate) fn planned(&self, plan: &Plan) -> Option<Duration> {
        let rounds_per_us = self.rounds_per_us.filter(|rounds| rounds.is_finite() && *rounds > 0.0)?;
        let planned = Duration::try_from_secs_f64(float(plan.rounds()) / rounds_per_us / 1e6).ok()?;
        (!planned.is_zero()).then_some(planned)
    }

    /// `completed` requests, by a client's count, against the CPU time that the kernel charged to the process which
    /// says that it carried them out.
    pub(crate) fn burnt(&self, plan: &Plan, completed: u64, cpu_ns: u64) -> Option<Check> {
        let least_ns = float(completed) * float(ns(self.planned(plan)?)) * CERTAIN_SHARE;
        check("cpu_burnt_ns", float(cpu_ns) >= least_ns, float(cpu_ns), least_ns)
    }

    /// `completed` requests in `elapsed` against the CPUs that there are. Up to `begun_before` of them may have done
    /// their computing before.
    pub(crate) fn within_cpus(
        &self,
        plan: &Plan,
        completed: u64,
        elapsed: Duration,
        begun_before: u64,
    ) -> Option<Check> {
        let planned_ns = float(ns(self.planned(plan)?)) * CERTAIN_SHARE;
        let done_ns = float(completed.saturating_sub(begun_before)) * planned_ns;
        let there_was_ns = float(self.cpus) * float(ns(elapsed.saturating_add(self.ahead)));
        check("computed_within_cpus_ns", done_ns <= there_was_ns, done_ns, there_was_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::failing;
    use super::*;

    /// 1,000 rounds a microsecond, two CPUs.
    const HERE: Computing = Computing { rounds_per_us: Some(1_000.0), cpus: 2, ahead: Duration::ZERO };

    /// 10 ms of computing.
    fn plan() -> Plan {
        "wait=1ms,compute=10000000".parse().unwrap()
    }

    #[test]
    fn work_that_was_not_done_is_caught_and_a_faster_processor_is_not() {
        let burnt = |cpu_ms: u64| failing(HERE.burnt(&plan(), 100, cpu_ms * 1_000_000));
        assert!(burnt(1_000).is_empty());
        assert!(burnt(900).is_empty());
        assert_eq!(burnt(899), ["cpu_burnt_ns"]);
        assert!(failing(HERE.burnt(&plan(), 0, 0)).is_empty());
    }

    #[test]
    fn more_than_the_cpus_can_do_is_caught_and_a_saturated_machine_is_not() {
        let within = |completed, begun_before| {
            failing(HERE.within_cpus(&plan(), completed, Duration::from_secs(1), begun_before))
        };
        assert!(within(200, 0).is_empty());
        assert_eq!(within(223, 0), ["computed_within_cpus_ns"]);
        assert!(within(223, 64).is_empty());
        // A quota was not used up before, and is there again before its period is over.
        let by_quota = Computing { ahead: Duration::from_millis(200), ..HERE };
        let within = |completed| failing(by_quota.within_cpus(&plan(), completed, Duration::from_secs(1), 0));
        assert_eq!((within(266), within(267)), (vec![], vec!["computed_within_cpus_ns".to_owned()]));
    }

    #[test]
    fn what_is_not_planned_or_not_calibrated_is_not_checked() {
        let waits: Plan = "wait=1ms".parse().unwrap();
        assert_eq!((HERE.planned(&waits), HERE.burnt(&waits, 100, 0)), (None, None));
        for rounds_per_us in [None, Some(0.0), Some(f64::NAN)] {
            let unknown = Computing { rounds_per_us, ..HERE };
            assert_eq!(unknown.burnt(&plan(), 100, 0), None);
            assert_eq!(unknown.within_cpus(&plan(), 100, Duration::ZERO, 0), None);
        }
    }
}
