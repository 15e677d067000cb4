//! `aa`: a cell measured as if it were two: the noise floor, false alarms, and whether a planted slowdown is found.

use std::rc::Rc;
use std::time::Duration;

use anyhow::Context;
use cell_protocol::Ability;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use workload::Plan;

use crate::aa::{self, Extent, Figures, Judgement, NoiseFloor, Rule, Side, Turn};
use crate::cli::{Aa as Arguments, Cli};
use crate::cmd::report;
use crate::cmd::session::{Opening, Session, seed_from_the_clock};
use crate::contestant::{Contestant, FLOOR, Field};
use crate::doctor;
use crate::environment::Machine;
use crate::estimate;
use crate::exit::{self, Ending, Unverified, usage};
use crate::experiment::{Experiment, Size, Values};
use crate::interrupt::Interrupt;
use crate::matrix::{Cell, Point};
use crate::measure::{Bench, Ceiling};
use crate::output::Forms;
use crate::place::Place;
use crate::progress::Progress;
use crate::quota;
use crate::row::FORMAT;
use crate::store;

/// Of so many runs a median has an interval; see `statistics`.
const RUNS_MOST: u32 = 1_000;

/// The whole of `aa.json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Written<'a> {
    /// The version of this format.
    format: u32,
    /// The runtime, `tokio`.
    runtime: &'a str,
    /// The variant, `current-thread`.
    variant: &'a str,
    /// How many times the cell was compared with itself.
    pairs: u32,
    /// Runs of each side of a pair.
    repetitions: u32,
    /// What the interval of a ratio is to cover.
    coverage: f64,
    /// By what factor the third side's plan is longer; null where there is none.
    planted: Option<f64>,
    noise_floor: NoiseFloor,
    #[serde(flatten)]
    judgement: &'a Judgement,
    /// Empty where the instrument does what it says.
    faults: Vec<String>,
}

/// One side of one cell, ready to be measured.
struct Arm {
    name: String,
    side: Side,
    bench: Bench,
}

pub(super) fn run(cli: &Cli, arguments: &Arguments, interrupt: &Interrupt) -> anyhow::Result<Ending> {
    let mut values = Values::load(arguments.values.experiments_file.as_deref(), Size::Quick)?;
    values.aa.pairs = arguments.pairs.unwrap_or(values.aa.pairs);
    values.aa.repetitions = arguments.repetitions.unwrap_or(values.aa.repetitions);
    let runs = values.aa.pairs.saturating_mul(values.aa.repetitions);
    if runs > RUNS_MOST {
        return Err(usage(format!(
            "{runs} runs a side (pairs x repetitions) are too many: {RUNS_MOST} are the most"
        )));
    }
    let places = Place::each(&arguments.values.cpus, &arguments.values.cpus_by, arguments.values.workers)?;
    let [place] = &places[..] else {
        return Err(usage(
            "aa measures on one number of CPUs in one way; name one with --cpus, and one with --cpus-by",
        ));
    };
    let groups = quota::prepare(&places)?.map(Rc::new);
    let field = Field::find(cli.runners.as_deref(), place.clone())?;
    let contestant = field.one(arguments.runtime.as_deref().unwrap_or(FLOOR))?;
    if let Some(reason) = contestant.refusal(Ability::Handler) {
        return Err(usage(format!("{} cannot be measured in process: {reason}", contestant.label)));
    }
    let machine = Machine::read();
    let busy = if arguments.strict { doctor::refuse_if_busy(&machine, interrupt) } else { Ok(()) };
    if interrupt.is_raised() {
        return Ok(Ending::Interrupted);
    }
    busy?;
    let seed = arguments.seed.unwrap_or_else(seed_from_the_clock);
    let rule = rule(&values, arguments.plant, seed);
    let bench = Bench {
        values,
        floor: field.floor(),
        ceiling: Ceiling::new(),
        seed,
        machine: machine.limits(),
        rounds_per_us: machine.rounds_per_us,
        groups,
        interrupt: interrupt.clone(),
    };
    let arms = arms(&bench, arguments.plant)?;
    let turns = turns(&bench, &arms, arguments.plant, seed);
    let slug = format!("aa-{}", contestant.label.replace([':', '='], "-"));
    let opening = Opening {
        size: "aa",
        experiments: vec![Experiment::Burst.name().to_owned()],
        definition: bench.values.definition(&["aa"]),
        seed,
        places: &places,
        cpus: &arguments.values.cpus,
        cpus_by: &arguments.values.cpus_by,
        field: &field,
        contestants: std::slice::from_ref(&contestant),
        machine,
        noise_floor: None,
    };
    let mut session = Session::open(opening.record(), arguments.out.as_deref(), &slug, interrupt.clone())?;
    let expected = turns
        .iter()
        .map(|(arm, _)| estimate::cell(&arm.bench.values, &arm.bench.machine, &cell(&contestant, 1)));
    let mut progress = Progress::new(turns.len(), expected.sum::<Duration>(), !arguments.no_progress);
    let mut figures = Figures::default();
    let outcome = measure(&contestant, &turns, &mut session, &mut progress, &mut figures);
    progress.finish();
    let closed = session.close(&outcome).and_then(|ending| {
        report::write(session.directory())?;
        Ok(ending)
    });
    let ending = exit::first(outcome, closed)?;
    let judgement = figures.judge(&rule);
    if ending == Ending::Interrupted && judgement.metrics.is_empty() {
        return Ok(ending);
    }
    tell(cli, &session, &contestant, &bench.values, &rule, &judgement)?;
    let faults = judgement.faults();
    if ending == Ending::Done && !faults.is_empty() {
        return Err(Unverified(faults.join("; ")).into());
    }
    Ok(ending)
}

fn rule(values: &Values, planted: Option<f64>, seed: u64) -> Rule {
    Rule {
        coverage: values.aa.coverage,
        floor_share: values.aa.floor_share,
        resamples: values.aa.resamples,
        seed,
        repetitions: usize::try_from(values.aa.repetitions).unwrap_or(usize::MAX),
        planted,
    }
}

/// Every side of every cell. A planted side differs in its plan, and both of the others in nothing.
fn arms(bench: &Bench, plant: Option<f64>) -> anyhow::Result<Vec<Arm>> {
    let mut arms = Vec::new();
    for (name, cell) in &bench.values.aa.cells {
        let longer = plant.map(|factor| aa::planted(&cell.plan, factor)).transpose();
        let longer =
            longer.map_err(|error| usage(format!("--plant makes the plan of {name} too long: {error}")))?;
        let mut arm = |side: Side, plan: Plan| {
            let mut values = bench.values.clone();
            values.capacity.burst = cell.burst(plan);
            arms.push(Arm { name: name.clone(), side, bench: Bench { values, ..bench.clone() } });
        };
        arm(Side::A, cell.plan.clone());
        arm(Side::B, cell.plan.clone());
        if let Some(longer) = longer {
            arm(Side::Planted, longer);
        }
    }
    Ok(arms)
}

/// What is measured, in its order.
fn turns<'a>(bench: &Bench, arms: &'a [Arm], plant: Option<f64>, seed: u64) -> Vec<(&'a Arm, Turn)> {
    let sides: &[Side] =
        if plant.is_some() { &[Side::A, Side::B, Side::Planted] } else { &[Side::A, Side::B] };
    let aa = &bench.values.aa;
    let extent = Extent { cells: aa.cells.len(), sides, pairs: aa.pairs, repetitions: aa.repetitions };
    let names: Vec<&String> = aa.cells.keys().collect();
    let of = |turn: &Turn| {
        arms.iter().find(|arm| arm.side == turn.side && Some(&&arm.name) == names.get(turn.cell))
    };
    aa::schedule(extent, seed).into_iter().filter_map(|turn| Some((of(&turn)?, turn))).collect()
}

fn cell(contestant: &Contestant, repetition: u32) -> Cell<'_> {
    Cell { point: Point::Burst { warm: false }, contestant, repetition }
}

fn measure(
    contestant: &Contestant,
    turns: &[(&Arm, Turn)],
    session: &mut Session,
    progress: &mut Progress,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    for ((arm, turn), number) in turns.iter().zip(1..) {
        if session.is_interrupted() {
            break;
        }
        // Of one side, all pairs are one series.
        let repetitions = arm.bench.values.aa.repetitions;
        let repetition = (turn.pair - 1) * repetitions + turn.repetition;
        session.measure(&arm.bench, (&cell(contestant, repetition), number), progress, |row| {
            row.params.insert("side".to_owned(), arm.side.name().into());
            row.evidence.insert("pair".to_owned(), Value::from(turn.pair));
            if row.status.ranks() {
                let metrics = row.metrics.iter().map(|(name, figure)| (name, figure.get()));
                figures.add(&arm.name, turn.pair, turn.side, metrics);
            }
        })?;
    }
    Ok(())
}

/// Writes `aa.json`, and prints the judgement in the format that was asked for.
fn tell(
    cli: &Cli,
    session: &Session,
    contestant: &Contestant,
    values: &Values,
    rule: &Rule,
    judgement: &Judgement,
) -> anyhow::Result<()> {
    anyhow::ensure!(
        !judgement.metrics.is_empty(),
        "no pair has figures; the reasons are in the rows in {}",
        session.directory().display()
    );
    let written = Written {
        format: FORMAT,
        runtime: &contestant.runtime,
        variant: &contestant.variant,
        pairs: values.aa.pairs,
        repetitions: values.aa.repetitions,
        coverage: rule.coverage.get(),
        planted: rule.planted,
        noise_floor: NoiseFloor::of(judgement, &contestant.label, values.aa.repetitions),
        judgement,
        faults: judgement.faults(),
    };
    store::write_json(session.directory(), "aa.json", &written).context("the judgement is lost")?;
    let file = session.directory().join("aa.json");
    Forms {
        text: &|style| format!("{}\nThe judgement is {}\n", aa::text(judgement, rule, style), file.display()),
        csv: &|| aa::table(judgement).csv(),
        json: &|| serde_json::to_string_pretty(&written),
    }
    .print(cli)
}
