//! What arithmetic says of probes beside blockers: how busy what carries them is, and how many probes find all of it taken.

use prediction::erlang::{share_held_by_a_queue_each, share_held_by_one_queue};
use workload::arrivals::Spacing;
use workload::{BlockingStrategy, Plan, Step};

use crate::audit::Regime;
use crate::experiment::Keeps;

/// Where no more probes than this are held up, a window is steady.
const HELD_AT_MOST: f64 = 0.05;

/// What is known before anything is measured. Loads are in erlangs: threads, or CPUs, that are kept on average.
#[derive(Clone, Debug)]
pub(super) struct Demand<'a> {
    pub(super) probe: &'a Plan,
    pub(super) probes_per_s: f64,
    pub(super) spacing: Spacing,
    /// The threads that carry handlers out; none where each request has its own.
    pub(super) handler_threads: Option<u64>,
    /// Whether a probe that waits keeps its thread.
    pub(super) waits_keep: bool,
    pub(super) blockers: Option<Blocked>,
}

/// The blockers' part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocked {
    pub(super) keeps: Keeps,
    pub(super) strategy: BlockingStrategy,
    pub(super) erlangs: f64,
    /// As many as can go on at one time; none where nothing limits them.
    pub(super) at_once: Option<u64>,
}

impl Demand<'_> {
    /// The share of what carries the blockers out that they ask for; none where nothing limits them.
    #[expect(clippy::cast_precision_loss, reason = "threads are few")]
    pub(super) fn carrier_busy_share(&self) -> Option<f64> {
        let blockers = self.blockers?;
        Some(blockers.erlangs / blockers.at_once? as f64)
    }

    /// Whether more is asked for than there is.
    #[expect(clippy::cast_precision_loss, reason = "threads are few")]
    pub(super) fn is_overload(&self) -> bool {
        let too_many = |threads: u64| self.on_handler_threads() >= threads as f64;
        self.carrier_busy_share().is_some_and(|share| share >= 1.0)
            || self.handler_threads.is_some_and(too_many)
    }

    /// What is to be expected of a window. One that blockers stop now and then is not like its other half.
    pub(super) fn regime(&self) -> Regime {
        match self.held_shares() {
            _ if self.is_overload() => Regime::Saturated,
            Some((_, most)) if most <= HELD_AT_MOST => Regime::Steady,
            _ => Regime::Fitful,
        }
    }

    /// The least and the largest share of probes that is held up; none where that does not follow from the arrivals. Least
    /// where the threads share one queue, and who finds one finds one again after a wait. Most where each thread has its
    /// own, and each turn of a probe is another draw.
    pub(super) fn held_shares(&self) -> Option<(f64, f64)> {
        if self.spacing != Spacing::Poisson {
            return None;
        }
        let computes_elsewhere = |blockers: Blocked| {
            let takes_cpu = blockers.keeps == Keeps::Compute;
            // Elsewhere, or each on a thread of its own: they compete for CPUs, which the kernel shares out.
            takes_cpu && (blockers.strategy != BlockingStrategy::Inline || self.handler_threads.is_none())
        };
        if self.blockers.is_some_and(computes_elsewhere) {
            return None;
        }
        let Some(threads) = self.kept_at_once() else { return Some((0.0, 0.0)) };
        let erlangs = self.on_handler_threads();
        let waits = self.probe.steps().iter().filter(|step| matches!(step, Step::Wait(_))).count();
        let turns = if self.waits_keep { 1 } else { waits + 1 };
        let free = 1.0 - share_held_by_a_queue_each(erlangs, threads);
        let most = 1.0 - free.powi(i32::try_from(turns).unwrap_or(i32::MAX));
        Some((share_held_by_one_queue(erlangs, threads), most))
    }

    /// The handler threads, or the CPUs where inline blockers that compute find fewer of these.
    fn kept_at_once(&self) -> Option<u64> {
        let inline = self.blockers.filter(|blockers| blockers.strategy == BlockingStrategy::Inline);
        let threads = self.handler_threads?;
        Some(inline.and_then(|blockers| blockers.at_once).map_or(threads, |limit| limit.min(threads)))
    }

    fn on_handler_threads(&self) -> f64 {
        let probes =
            if self.waits_keep { self.probes_per_s * self.probe.least_duration().as_secs_f64() } else { 0.0 };
        let inline = self.blockers.filter(|blockers| blockers.strategy == BlockingStrategy::Inline);
        probes + inline.map_or(0.0, |blockers| blockers.erlangs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(plan: &Plan, threads: Option<u64>, blockers: Option<Blocked>) -> Demand<'_> {
        Demand {
            probe: plan,
            probes_per_s: 1_000.0,
            spacing: Spacing::Poisson,
            handler_threads: threads,
            waits_keep: false,
            blockers,
        }
    }

    fn blocked(
        keeps: Keeps,
        strategy: BlockingStrategy,
        erlangs: f64,
        at_once: Option<u64>,
    ) -> Option<Blocked> {
        Some(Blocked { keeps, strategy, erlangs, at_once })
    }

    #[test]
    fn inline_blockers_hold_up_as_many_as_erlang_says_and_no_more_than_each_draw() {
        let plan = "wait=5ms".parse().unwrap();
        let half = blocked(Keeps::Block, BlockingStrategy::Inline, 1.0, Some(2));
        let (least, most) = demand(&plan, Some(2), half).held_shares().unwrap();
        assert!((least - 1.0 / 3.0).abs() < 1e-9 && (most - 0.75).abs() < 1e-9, "{least} {most}");
        assert_eq!(demand(&plan, Some(2), half).carrier_busy_share(), Some(0.5));
        assert_eq!(demand(&plan, Some(2), half).regime(), Regime::Fitful);
        let whole = blocked(Keeps::Block, BlockingStrategy::Inline, 2.0, Some(2));
        assert_eq!(demand(&plan, Some(2), whole).held_shares(), Some((1.0, 1.0)));
        assert_eq!(demand(&plan, Some(2), whole).regime(), Regime::Saturated);
        // One thread of two workers: half of the workers' time is all of its own.
        let only = blocked(Keeps::Block, BlockingStrategy::Inline, 1.0, Some(1));
        assert!(demand(&plan, Some(1), only).is_overload());
    }

    #[test]
    fn who_sleeps_elsewhere_holds_up_nobody_and_who_computes_shares_cpus() {
        let plan = "wait=5ms".parse().unwrap();
        let offloaded = blocked(Keeps::Block, BlockingStrategy::Offload, 3.0, Some(4));
        assert_eq!(demand(&plan, Some(2), offloaded).held_shares(), Some((0.0, 0.0)));
        assert_eq!(demand(&plan, Some(2), offloaded).regime(), Regime::Steady);
        assert_eq!(
            demand(&plan, None, blocked(Keeps::Block, BlockingStrategy::Inline, 3.0, None)).held_shares(),
            Some((0.0, 0.0))
        );
        let computing = blocked(Keeps::Compute, BlockingStrategy::Offload, 1.0, Some(2));
        assert_eq!(demand(&plan, Some(2), computing).held_shares(), None);
        let more_than_cpus = blocked(Keeps::Compute, BlockingStrategy::Offload, 2.0, Some(2));
        assert!(demand(&plan, Some(2), more_than_cpus).is_overload());
    }

    #[test]
    fn probes_that_keep_their_thread_are_a_load_of_their_own() {
        let plan = "wait=5ms".parse().unwrap();
        let pool = |threads, blockers| Demand { waits_keep: true, ..demand(&plan, Some(threads), blockers) };
        // 1,000 a second for 5 ms each keep five threads.
        assert!(pool(2, None).is_overload() && !pool(200, None).is_overload());
        assert_eq!(pool(2, None).held_shares(), Some((1.0, 1.0)));
        let (least, most) = pool(200, None).held_shares().unwrap();
        assert!(least < 1e-9 && (most - 0.025).abs() < 1e-9, "{least} {most}");
        assert_eq!(Demand { spacing: Spacing::Constant, ..pool(200, None) }.held_shares(), None);
    }
}
