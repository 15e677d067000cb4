//! The ramp: which step comes next. A pure state machine over the steps that were met and those that were not.

/// Where a ramp stands.
#[derive(Clone, Debug)]
pub(crate) struct Ramp {
    /// Steps still to climb, in ascending order.
    ahead: Vec<u64>,
    /// Stop to bisect when the first failed step is at most this share above the last one met.
    tolerance: Option<f64>,
    met: Option<Taken>,
    failed: Option<Taken>,
}

/// Two peaks that differ by no more than this share are the same.
const SAME_PEAK: f64 = 0.01;

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) requests: u64,
    pub(crate) in_flight_peak: u64,
}

impl Ramp {
    /// A ramp over `steps`, with one more at the model's own limit, where it has one.
    pub(crate) fn new(steps: &[u64], limit: Option<u64>, tolerance: Option<f64>) -> Ramp {
        let mut ahead: Vec<u64> = steps.iter().copied().chain(limit).filter(|step| *step > 0).collect();
        ahead.sort_unstable();
        ahead.dedup();
        // A limit above the last step is beyond what this ramp offers.
        if let Some(last) = steps.iter().max() {
            ahead.retain(|step| step <= last);
        }
        Ramp { ahead, tolerance, met: None, failed: None }
    }

    /// The next step to take, or none where the ramp has ended.
    pub(crate) fn next(&self) -> Option<u64> {
        let Some(failed) = self.failed else { return self.ahead.first().copied() };
        // Where not even the first step was met there is no figure yet, however coarse the ramp: halve until one is.
        let Some(met) = self.met else { return Some(failed.requests / 2).filter(|step| *step > 0) };
        // Offering more held no more: whatever lies between the two steps, the system is at its limit in both.
        let is_at_limit = (ratio(failed.in_flight_peak, met.in_flight_peak) - 1.0).abs() <= SAME_PEAK;
        let is_near =
            self.tolerance.is_none_or(|tolerance| ratio(failed.requests, met.requests) <= 1.0 + tolerance);
        let middle = geometric_mean(met.requests, failed.requests);
        let is_between = met.requests < middle && middle < failed.requests;
        (!is_at_limit && !is_near && is_between).then_some(middle)
    }

    /// Takes note of a step's outcome.
    pub(crate) fn record(&mut self, requests: u64, in_flight_peak: u64, is_met: bool) {
        self.ahead.retain(|step| *step > requests);
        let taken = Some(Taken { requests, in_flight_peak });
        if is_met {
            self.met = taken;
        } else {
            self.failed = taken;
        }
    }

    /// The largest step that was met.
    pub(crate) fn met(&self) -> Option<Taken> {
        self.met
    }

    /// The smallest step that was not met.
    pub(crate) fn failed(&self) -> Option<Taken> {
        self.failed
    }
}

#[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
fn ratio(high: u64, low: u64) -> f64 {
    high as f64 / low.max(1) as f64
}

/// Rounded to three digits that count, so that steps of several runs coincide.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "steps are far below 2^53"
)]
fn geometric_mean(low: u64, high: u64) -> u64 {
    let mean = (low as f64 * high as f64).sqrt();
    let unit = 10_f64.powf((mean.log10().floor() - 2.0).max(0.0));
    ((mean / unit).round() * unit) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Climbs against a system that holds `capacity` and never more than `limit` in flight.
    fn climb(steps: &[u64], limit: Option<u64>, tolerance: Option<f64>, capacity: u64) -> (Ramp, Vec<u64>) {
        let mut ramp = Ramp::new(steps, limit, tolerance);
        let mut taken = Vec::new();
        while let Some(step) = ramp.next() {
            taken.push(step);
            assert!(taken.len() < 50, "the ramp does not end: {taken:?}");
            ramp.record(step, step.min(limit.unwrap_or(step)), step <= capacity);
        }
        (ramp, taken)
    }

    const STEPS: [u64; 6] = [100, 1_000, 2_000, 5_000, 10_000, 20_000];

    #[test]
    fn a_system_without_a_limit_takes_every_step() {
        let (ramp, taken) = climb(&STEPS, None, Some(0.05), u64::MAX);
        assert_eq!(taken, STEPS);
        assert_eq!(
            (ramp.met().unwrap().requests, ramp.failed().map(|failed| failed.requests)),
            (20_000, None)
        );
    }

    #[test]
    fn bisection_comes_within_the_tolerance() {
        let (ramp, taken) = climb(&STEPS, None, Some(0.05), 12_345);
        let (met, failed) = (ramp.met().unwrap().requests, ramp.failed().unwrap().requests);
        assert!(met <= 12_345 && 12_345 < failed);
        assert!(ratio(failed, met) <= 1.05, "{met} and {failed}");
        assert_eq!(taken[..7], [100, 1_000, 2_000, 5_000, 10_000, 20_000, 14_100]);
    }

    #[test]
    fn a_limit_of_the_model_is_a_step_and_needs_no_bisection() {
        let (ramp, taken) = climb(&STEPS, Some(200), Some(0.05), 200);
        assert_eq!(taken, [100, 200, 1_000]);
        assert_eq!(ramp.met(), Some(Taken { requests: 200, in_flight_peak: 200 }));
    }

    #[test]
    fn a_limit_that_nobody_declared_needs_no_bisection_either() {
        // Descriptors: 20,000 are met with a few of them waiting in the accept queue, 50,000 are not.
        let mut ramp = Ramp::new(&[10_000, 20_000, 50_000], None, Some(0.05));
        ramp.record(10_000, 10_000, true);
        ramp.record(20_000, 19_991, true);
        ramp.record(50_000, 19_991, false);
        assert_eq!(ramp.next(), None);
        // A collapse is not a limit: what holds less than before says nothing of what lies between.
        let mut ramp = Ramp::new(&[10_000, 20_000], None, Some(0.05));
        ramp.record(10_000, 10_000, true);
        ramp.record(20_000, 8_000, false);
        assert_eq!(ramp.next(), Some(14_100));
    }

    #[test]
    fn a_small_limit_comes_before_the_first_step() {
        let (ramp, taken) = climb(&STEPS, Some(2), Some(0.05), 2);
        assert_eq!(taken, [2, 100]);
        assert_eq!(ramp.met().unwrap().in_flight_peak, 2);
    }

    #[test]
    fn without_a_tolerance_the_first_failure_ends_it() {
        let (ramp, taken) = climb(&[500, 1_000, 2_000], None, None, 1_500);
        assert_eq!(taken, [500, 1_000, 2_000]);
        assert_eq!(
            (ramp.met().unwrap().requests, ramp.failed().map(|failed| failed.requests)),
            (1_000, Some(2_000))
        );
    }

    #[test]
    fn a_first_step_that_fails_is_halved_until_there_is_a_figure() {
        // Two workers of sixteen threads, and the kernel gives one of them twenty connections of thirty-two.
        let (ramp, taken) = climb(&[500, 1_000], Some(32), None, 20);
        assert_eq!(taken, [32, 16]);
        assert_eq!(ramp.met().map(|met| met.requests), Some(16));
    }

    #[test]
    fn a_system_that_holds_nothing_ends_it_too() {
        let (ramp, _) = climb(&STEPS, None, Some(0.05), 0);
        assert_eq!(ramp.met(), None);
        let (ramp, _) = climb(&STEPS, None, Some(0.05), 7);
        assert_eq!(ramp.met().unwrap().requests, 7);
    }

    #[test]
    fn a_limit_above_the_last_step_is_not_offered() {
        let (_, taken) = climb(&[500, 1_000], Some(5_000), Some(0.05), u64::MAX);
        assert_eq!(taken, [500, 1_000]);
    }
}
