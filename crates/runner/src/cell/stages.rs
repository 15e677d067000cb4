//! A cell whose requests pile up stage by stage, as the harness calls for them.
//!
//! As in [`arrivals`], the first thread offers them and another one obeys the harness.

use std::process;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use cell_protocol::{CellSpec, Command, Event, Ready, Snapshot, StagesTask};
use execution_model::{Job, Runtime};
use load_driver::in_process::{Board, StagedOffer};
use workload::BlockingStrategy;

use super::{arrivals, commands, ends_with_the_process, say, snapshot};
use crate::abilities::{HandlerAbility, OfferInStages};
use crate::ending::end;
use crate::usage::usage;

pub(super) fn run<R: Runtime>(
    runtime: R,
    ability: &HandlerAbility<R>,
    task: &StagesTask,
    spec: &CellSpec,
) -> anyhow::Result<()> {
    let offer = StagedOffer {
        job: Job { plan: task.plan.clone(), seed: task.seed, strategy: BlockingStrategy::Inline },
        stages: task.stages.clone(),
        time_limit: Duration::from_nanos(task.time_limit_ns),
    };
    let board = Board::new(&offer);
    let runtime = Arc::new(runtime);
    let obeyed = Arc::clone(&runtime);
    let drain = Duration::from_nanos(spec.drain_ns);
    let ((call, calls), (done, is_done)) = (mpsc::channel(), mpsc::channel());
    let obey = move || process::exit(end::<R>(obey(obeyed, board, drain, call, &is_done)).into());
    let obeying = thread::Builder::new().name("commands".into()).spawn(obey);
    let obeying = obeying.context("cannot start the thread that obeys commands")?;
    measure(runtime, ability.offer_in_stages, &offer, board, &calls, &done);
    // The thread ends the process, or panics.
    let Err(_panicked) = obeying.join();
    bail!("the thread that obeys commands has panicked")
}

/// Does what the harness says until it says "stop", or is gone.
fn obey<R: Runtime>(
    runtime: Arc<R>,
    board: &'static Board,
    drain: Duration,
    call: Sender<()>,
    is_done: &Receiver<u64>,
) -> anyhow::Result<()> {
    let runtime = ends_with_the_process(runtime);
    say(&Event::Ready(Ready { pid: process::id(), listen: None }))?;
    for command in commands() {
        match command? {
            // It fails where all stages have come and gone, and there is nothing more to call for.
            Command::Go => drop(call.send(())),
            Command::Snapshot => {
                let requests = Some(board.counts());
                say(&Event::Snapshot(Snapshot { requests, ..snapshot(runtime.as_ref()) }))?;
            }
            Command::Stop => {
                // Stages that were not called for by now never will be.
                drop(call);
                return arrivals::stop(runtime, Some(is_done), drain);
            }
        }
    }
    // The harness is gone: end at once.
    Ok(())
}

/// Offers the stages, says what came of them, and tells how many requests are unfinished.
fn measure<R: Runtime>(
    runtime: Arc<R>,
    offer_with: OfferInStages<R>,
    offer: &StagedOffer,
    board: &'static Board,
    calls: &Receiver<()>,
    done: &Sender<u64>,
) {
    let mut used = Vec::with_capacity(2);
    let account = offer_with(&runtime, offer, board, &mut || calls.recv().is_ok(), &mut || {
        used.push(usage(&runtime.worker_processes()));
    });
    // Whoever shuts it down must be its last owner.
    drop(runtime);
    let unfinished = account.unfinished;
    let mut result = arrivals::result(account);
    result.usage = used[1].since(used[0]);
    // Where the harness is gone there is nobody to tell.
    let _gone = say(&Event::Result(Box::new(result)));
    let _gone = done.send(unfinished);
}
