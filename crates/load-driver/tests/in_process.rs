//! Requests offered in process by an open schedule, to runtimes that behave well and badly.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use execution_model::{
    HandlerRuntime, Refused, RefusedBecause, Request, Runtime, RuntimeConfig, RuntimeInfo, ShutdownTimedOut,
    VariantInfo,
};
use load_driver::honesty::honesty;
use load_driver::in_process::{Account, Board, Offer, StagedOffer, offer, offer_in_stages};
use workload::arrivals::{OpenArrivals, Spacing};
use workload::{BlockingStrategy, Job, Plan, Progress, Step};

/// What the runtime does with each request.
#[derive(Clone, Copy, Debug)]
enum Behaviour {
    /// A thread for each, which waits as it is asked to.
    Serves,
    /// Every second one is handed back; the others are never finished.
    HalfHangs,
    /// Dispatching takes longer than the gap to the next request.
    DispatchesSlowly,
}

struct Fake(Behaviour);

impl Runtime for Fake {
    const INFO: RuntimeInfo = RuntimeInfo {
        id: "fake",
        library: "std",
        library_version: "0",
        execution_model: "a thread for each request",
        suspends_by: "sleeping",
    };
    type Variant = Behaviour;

    fn variants() -> Vec<Behaviour> {
        vec![Behaviour::Serves]
    }

    fn parse_variant(name: &str) -> Result<Behaviour, String> {
        Err(format!("{name:?} has no name"))
    }

    fn describe(variant: &Behaviour, _workers: usize) -> VariantInfo {
        VariantInfo {
            name: format!("{variant:?}"),
            summary: String::new(),
            in_flight_limit: None,
            thread_per_request: true,
            refuses_offload: None,
            refuses_in_place: None,
        }
    }

    fn handler_threads(_variant: &Behaviour, _workers: usize) -> Option<usize> {
        None
    }

    fn start(variant: Behaviour, _config: &RuntimeConfig) -> io::Result<Self> {
        Ok(Self(variant))
    }

    fn shutdown(self, _deadline: Instant) -> Result<(), ShutdownTimedOut> {
        Ok(())
    }
}

impl HandlerRuntime for Fake {
    fn dispatch(&self, request: Request) -> Result<(), Refused> {
        match self.0 {
            Behaviour::DispatchesSlowly => thread::sleep(Duration::from_millis(8)),
            Behaviour::Serves | Behaviour::HalfHangs => {}
        }
        let hangs = matches!(self.0, Behaviour::HalfHangs);
        let stub = request.stub();
        let (job, ticket) = request.begin();
        if hangs && job.seed % 2 == 0 {
            drop(ticket);
            return Err(stub.refuse(RefusedBecause::QueueFull, "planted"));
        }
        thread::spawn(move || {
            for step in job.plan.steps() {
                if let Step::Wait(wait) = step {
                    thread::sleep(*wait);
                }
            }
            if hangs {
                thread::sleep(Duration::from_secs(60));
            }
            ticket.complete(Progress::new(job.seed).answer());
        });
        Ok(())
    }
}

fn measure(behaviour: Behaviour, spacing: Spacing) -> Account {
    let plan: Plan = "wait=5ms".parse().expect("a plan");
    let arrivals = OpenArrivals { rate_per_s: 200.0, spacing, seed: 9, duration: Duration::from_millis(500) };
    let job = Job { plan, seed: 0, strategy: BlockingStrategy::Inline };
    let account =
        offer(&Fake(behaviour), &Offer { job, arrivals, time_limit: Duration::from_millis(200) }, || {});
    assert!(account.is_balanced(), "{account:?}");
    assert_eq!(account.offered, arrivals.starts().count() as u64);
    assert_eq!(account.response.count(), account.completed + account.unfinished);
    assert_eq!(account.schedule_ns, 500_000_000);
    account
}

#[test]
fn an_open_schedule_is_kept_in_process() {
    for spacing in [Spacing::Constant, Spacing::Poisson] {
        let account = measure(Behaviour::Serves, spacing);
        assert_eq!((account.completed, account.rejected_total()), (account.offered, 0), "{account:?}");
        assert!(account.response.min_ns() >= Some(5_000_000 * 999 / 1_000));
        // Never early: the difference has no sign, and an early one would be enormous.
        assert!(account.send_lag.max_ns() < Some(1_000_000_000), "{account:?}");
        // The last start, and so the last dispatch, is near the schedule's end.
        assert!(account.dispatch_elapsed_ns > 400_000_000, "{account:?}");
        assert_eq!(account.offered_rate_per_s().map(f64::round), Some(2.0 * account.offered as f64));
    }
}

#[test]
fn what_has_not_ended_at_the_limit_took_at_least_this_long() {
    let account = measure(Behaviour::HalfHangs, Spacing::Constant);
    assert_eq!((account.offered, account.unfinished, account.rejected["queue-full"]), (100, 50, 50));
    // The last that hangs was intended at 495 ms, and its dispatch was followed by a wait of 200 ms.
    assert!(account.response.min_ns() >= Some(199_000_000), "{account:?}");
    assert!(account.response.max_ns() >= Some(680_000_000), "{account:?}");
    assert_eq!(account.elapsed_ns, 0);
}

#[test]
fn a_dispatch_that_takes_too_long_is_lateness_of_the_generator() {
    let account = measure(Behaviour::DispatchesSlowly, Spacing::Constant);
    assert_eq!(account.completed, 100);
    let failed: Vec<_> = honesty(&account, None).into_iter().filter(|check| !check.ok).collect();
    assert_eq!(failed.len(), 3, "{failed:?}");
    assert!(account.sent_rate_per_s() < account.offered_rate_per_s());
}

fn staged(plan: &str, time_limit: Duration) -> StagedOffer {
    let plan: Plan = plan.parse().expect("a plan");
    let job = Job { plan, seed: 0, strategy: BlockingStrategy::Inline };
    StagedOffer { job, stages: vec![4, 2, 3], time_limit }
}

#[test]
fn stages_pile_up_as_they_are_called_for() {
    let offer = staged("wait=300ms", Duration::from_secs(10));
    let board = Board::new(&offer);
    let mut waiting = Vec::new();
    let call = || {
        waiting.push(board.counts());
        true
    };
    let account = offer_in_stages(&Fake(Behaviour::Serves), &offer, board, call, || {});
    // Before each stage, and once more before they are waited for.
    let expected = [0, 4, 6, 9];
    assert_eq!(waiting.iter().map(|counts| counts.offered).collect::<Vec<_>>(), expected);
    assert_eq!(waiting.iter().map(|counts| counts.in_service).collect::<Vec<_>>(), expected);
    assert_eq!(board.counts().ended, 9);
    assert!(account.is_balanced() && account.completed == 9, "{account:?}");
    assert_eq!(account.in_flight_peak, 9);
    assert!(account.response.min_ns() >= Some(300_000_000 * 999 / 1_000), "{account:?}");
}

#[test]
fn stages_that_are_not_called_for_are_not_offered() {
    let offer = staged("wait=1ms", Duration::from_secs(10));
    let mut calls = 0;
    let call = || {
        calls += 1;
        calls < 3
    };
    let account = offer_in_stages(&Fake(Behaviour::Serves), &offer, Board::new(&offer), call, || {});
    assert!(account.is_balanced() && account.offered == 6, "{account:?}");
}

#[test]
fn a_stage_that_does_not_end_is_unfinished_at_the_limit() {
    let offer = staged("wait=1ms", Duration::from_millis(50));
    let board = Board::new(&offer);
    let account = offer_in_stages(&Fake(Behaviour::HalfHangs), &offer, board, || true, || {});
    assert!(account.is_balanced(), "{account:?}");
    assert_eq!((account.offered, account.unfinished, account.rejected["queue-full"]), (9, 4, 5));
    let counts = board.counts();
    assert_eq!((counts.in_service, counts.ended), (4, 5));
}
