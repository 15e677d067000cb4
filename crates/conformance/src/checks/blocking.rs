//! What a step that keeps its thread holds up, and what each strategy frees.

use std::time::Duration;

use workload::BlockingStrategy;

use crate::failure::{Failure, Seen, ensure};
use crate::serving::expect_status;
use crate::subject::{Subject, burst, plan, server};

/// In process: blocks inline keep as many threads as the description says, so they take rounds.
pub(crate) fn blocks_keep_their_threads(subject: &Subject<'_>) -> Seen {
    let Some(threads) = subject.variant.handler_threads else {
        ensure!(
            subject.variant.thread_per_request,
            "it does not say how many threads carry handlers out, and requests have none of their own"
        );
        return Ok("each request has its thread".into());
    };
    let block = plan("block=100ms");
    // One more than two rounds.
    let blocks = 2 * threads + 1;
    let least = block.least_duration() * 3;
    let result = subject.offer(burst(&block, blocks))?;
    ensure!(result.completed == blocks, "{} of {blocks} blocks completed", result.completed);
    let elapsed = Duration::from_nanos(result.elapsed_ns);
    ensure!(
        elapsed >= least,
        "{blocks} blocks of 100 ms on {threads} threads need {least:?}, and were over after {elapsed:?}"
    );
    Ok(format!("{blocks} blocks on {threads} threads took {elapsed:.2?}"))
}

/// Over HTTP: while all that could keep a worker is carried out elsewhere, or in place, the workers answer others.
pub(crate) fn strategies_free_the_workers(subject: &Subject<'_>) -> Seen {
    let rounds = subject.calibration.rounds(Duration::from_millis(150));
    let mut seen = Vec::new();
    for strategy in [BlockingStrategy::Offload, BlockingStrategy::InPlace] {
        if subject.refuses(strategy).is_some() {
            seen.push(format!("{strategy} refused"));
            continue;
        }
        for step in ["block=1s".to_owned(), format!("compute={rounds}")] {
            frees(subject, strategy, &step)?;
        }
        seen.push(format!("{strategy} frees"));
    }
    Ok(seen.join(", "))
}

/// Order and not time is what is looked at, so that a busy machine changes nothing.
fn frees(subject: &Subject<'_>, strategy: BlockingStrategy, step: &str) -> Result<(), Failure> {
    let keepers = 2 * u64::try_from(subject.workers).unwrap_or(u64::MAX);
    let mut serving = subject.serve(server())?;
    let mut others = serving.client()?;
    let path = format!("/run/{step}?strategy={strategy}&seed=3");
    let mut asking = serving.asking(keepers, &path)?;
    let counts = serving.await_counts("all of them accepted", |counts| counts.accepted == keepers)?;
    expect_status(&others.get("/healthz")?, 200, "/healthz")?;
    let over = (counts.completed, serving.counts()?.completed);
    ensure!(
        over == (0, 0),
        "{strategy}: of {keepers} x {step}, {} were over before the last was accepted, and {} before another \
         request was answered",
        over.0,
        over.1
    );
    for client in &mut asking {
        expect_status(&client.response()?, 200, &path)?;
    }
    drop((asking, others));
    serving.stop()
}
