//! Loop lag: shown, and by who is held up.

use std::time::Duration;

use workload::{LAG_TICK, LoopLag};

use super::metrics::scrape;
use crate::failure::{Failure, Seen, ensure};
use crate::serving::{Serving, run};
use crate::subject::{Subject, ns, server};

/// How long each handler blocks. A tick that is due meanwhile is up to so late.
const BLOCK: Duration = Duration::from_millis(600);
/// What one tick at least must be late: less than a block, since threads do not begin theirs at one instant, and more than
/// a busy machine makes of nothing.
const LATE: Duration = Duration::from_millis(400);
const TICKS: u64 = 10;

/// `/metrics` and the snapshot tell the lag, and it grows when every thread that carries requests out is blocked.
pub(crate) fn loop_lag_shows_blocking(subject: &Subject<'_>) -> Seen {
    let mut serving = subject.serve(server())?;
    serving.await_snapshot("some ticks", |snapshot| {
        snapshot.loop_lag.as_ref().is_some_and(|lag| lag.count() >= TICKS)
    })?;
    let before = lag(&mut serving)?;
    let mut client = serving.client()?;
    let samples = scrape(&mut client)?;
    let after = lag(&mut serving)?;
    let shown = samples.iter().find(|sample| sample.name == "loop_lag_seconds_count");
    let shown = shown.ok_or_else(|| Failure::Wrong("/metrics has no loop_lag_seconds_count".into()))?.value;
    #[expect(clippy::cast_precision_loss, reason = "a check has few ticks")]
    let (least, most) = (before.count() as f64, after.count() as f64);
    ensure!(
        (least..=most).contains(&shown),
        "/metrics tells {shown} ticks, and snapshots around it {least} and {most}"
    );
    let shows_p99 = |labels: &str| labels == "quantile=\"0.99\"";
    ensure!(
        samples.iter().any(|sample| sample.name == "loop_lag_seconds" && shows_p99(&sample.labels)),
        "/metrics has no loop_lag_seconds of quantile 0.99"
    );
    if subject.variant.thread_per_request {
        serving.stop()?;
        return Ok(format!("{most} ticks; a block holds up its own thread alone"));
    }
    // Twice as many as can be blocked at one time: connections are not spread evenly over processes.
    let workers = u64::try_from(subject.workers).unwrap_or(u64::MAX);
    let blocks = 2 * subject.variant.in_flight_limit.unwrap_or(workers);
    let asking = serving.asking(blocks, &run("block=600ms", 1))?;
    serving.await_counts("all blocks over", |counts| counts.completed == blocks)?;
    // The ticks that were due meanwhile come after the last block, which may be later than its count.
    let due = u64::try_from(BLOCK.as_nanos() / LAG_TICK.as_nanos()).unwrap_or(u64::MAX);
    serving.await_snapshot("the ticks of a block", |snapshot| {
        snapshot.loop_lag.as_ref().is_some_and(|lag| lag.since(&after).count() >= due)
    })?;
    let late = lag(&mut serving)?.since(&after).max_ns().unwrap_or(0);
    ensure!(
        late >= ns(LATE),
        "{blocks} blocks of {BLOCK:?} made no tick later than {:?}",
        Duration::from_nanos(late)
    );
    drop((asking, client));
    serving.stop()?;
    Ok(format!("{blocks} blocks of {BLOCK:?} made a tick {:.0?} late", Duration::from_nanos(late)))
}

fn lag(serving: &mut Serving) -> Result<LoopLag, Failure> {
    let lag = serving.snapshot()?.loop_lag;
    lag.ok_or_else(|| Failure::Wrong("a server's snapshot has no loop lag".into()))
}
