//! The cells of a run, and the order in which they are measured.

use cell_protocol::Ability;
use workload::kernel;

use crate::contestant::{Chosen, Contestant, FLOOR};
use crate::experiment::{Beside, Blocker, Experiment, Setting, Values};

/// One entry of the matrix: what is measured, on whom, and for the how-manieth time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) point: Point,
    pub(crate) contestant: &'a Contestant,
    /// From 1.
    pub(crate) repetition: u32,
}

/// One point of an experiment: what tells its cells apart, beside contestant and repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a run has some thousand points at most")]
pub(crate) enum Point {
    /// `capacity.burst`: the first burst of a process, or the second.
    Burst { warm: bool },
    /// `capacity.hold-tasks`: a whole ramp, in process.
    HoldTasks,
    /// `capacity.hold`: a whole ramp, over HTTP.
    Hold,
    /// `throughput.closed`, with so many connections.
    Closed { connections: u64 },
    /// `throughput.open`.
    Open,
    /// `memory.tasks`: one process, or two where the model has a queue.
    Tasks,
    /// `memory.connections`: one growing server.
    Connections,
    /// `blocking.probe`: probes beside blockers, or alone.
    Probe { beside: Option<Beside> },
    /// `blocking.pinning`.
    Pinning { blocker: Blocker },
    /// An experiment of `pipeline`, under a setting.
    Pipeline { experiment: Experiment, setting: Setting },
}

impl Point {
    /// The points of an experiment that a contestant is measured at. Of a strategy that it refuses, the first says why.
    pub(crate) fn of(experiment: Experiment, values: &Values, contestant: &Contestant) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        let mut refused = Vec::new();
        if experiment.ability() == Ability::Pipeline {
            return Point::of_pipeline(experiment, values, contestant);
        }
        for point in Point::all(experiment, values) {
            let Some(blocker) = point.blocker() else {
                points.push(point);
                continue;
            };
            // The floor of the probes is the plan on an idle machine.
            if matches!(point, Point::Probe { .. }) && contestant.runtime == FLOOR {
                continue;
            }
            if contestant.refuses(blocker.strategy).is_some() {
                if refused.contains(&blocker.strategy) {
                    continue;
                }
                refused.push(blocker.strategy);
            }
            points.push(point);
        }
        points
    }

    /// A pipeline is the same in all variants of a runtime, as good as: who wants another than the default one names it.
    /// Where the runtime has no pipeline, the first point says why.
    fn of_pipeline(experiment: Experiment, values: &Values, contestant: &Contestant) -> Vec<Point> {
        let is_wanted = match contestant.chosen {
            Chosen::Variant => true,
            Chosen::Runtime => contestant.is_default,
            Chosen::Nobody => {
                let of = values.pipeline(experiment);
                contestant.is_default && of.is_for(experiment.own_name(), &contestant.runtime)
            }
        };
        let mut points = if is_wanted { Point::all(experiment, values) } else { Vec::new() };
        if contestant.refusal(experiment.ability()).is_some() {
            points.truncate(1);
        }
        points
    }

    /// The blocker that it has.
    pub(crate) const fn blocker(self) -> Option<Blocker> {
        match self {
            Point::Probe { beside: Some(Beside { blocker, .. }) } | Point::Pinning { blocker } => {
                Some(blocker)
            }
            _ => None,
        }
    }

    /// The points of an experiment, in the order of its file.
    fn all(experiment: Experiment, values: &Values) -> Vec<Point> {
        match experiment {
            Experiment::Burst => {
                values.capacity.burst.warm.iter().map(|warm| Point::Burst { warm: *warm }).collect()
            }
            Experiment::HoldTasks => vec![Point::HoldTasks],
            Experiment::Hold => vec![Point::Hold],
            Experiment::Closed => {
                let each = values.throughput.closed.connections.iter();
                each.map(|connections| Point::Closed { connections: *connections }).collect()
            }
            Experiment::Open => vec![Point::Open],
            Experiment::Tasks => vec![Point::Tasks],
            Experiment::Connections => vec![Point::Connections],
            Experiment::Probe => {
                let each = values.blocking.probe.beside().into_iter();
                each.map(|beside| Point::Probe { beside }).collect()
            }
            Experiment::Pinning => {
                let each = values.blocking.pinning.blockers().into_iter();
                each.map(|blocker| Point::Pinning { blocker }).collect()
            }
            Experiment::Fifo1
            | Experiment::Fifo16
            | Experiment::Lanes16
            | Experiment::Join
            | Experiment::Hold8
            | Experiment::Hold4
            | Experiment::Sizing
            | Experiment::Conditions => {
                let each = values.pipeline(experiment).settings.iter();
                each.map(|setting| Point::Pipeline { experiment, setting: *setting }).collect()
            }
        }
    }

    pub(crate) const fn experiment(self) -> Experiment {
        match self {
            Point::Burst { .. } => Experiment::Burst,
            Point::HoldTasks => Experiment::HoldTasks,
            Point::Hold => Experiment::Hold,
            Point::Closed { .. } => Experiment::Closed,
            Point::Open => Experiment::Open,
            Point::Tasks => Experiment::Tasks,
            Point::Connections => Experiment::Connections,
            Point::Probe { .. } => Experiment::Probe,
            Point::Pinning { .. } => Experiment::Pinning,
            Point::Pipeline { experiment, .. } => experiment,
        }
    }

    /// What tells it apart from the experiment's other points, in words.
    fn words(self) -> String {
        match self {
            Point::Burst { warm: true } => " warm".to_owned(),
            Point::Burst { warm: false } => " cold".to_owned(),
            Point::Closed { connections } => format!(" c={connections}"),
            Point::HoldTasks | Point::Hold | Point::Open | Point::Tasks | Point::Connections => String::new(),
            Point::Probe { beside: None } => " alone".to_owned(),
            Point::Probe { beside: Some(Beside { blocker, share_percent }) } => {
                format!(" {blocker} {share_percent} %")
            }
            Point::Pinning { blocker } => format!(" {blocker}"),
            Point::Pipeline { setting, .. } if setting == Setting::default() => String::new(),
            Point::Pipeline { setting, .. } => format!(" {setting}"),
        }
    }
}

impl Cell<'_> {
    /// One line that says which cell it is.
    pub(crate) fn label(&self) -> String {
        let Cell { point, contestant, repetition } = self;
        let by = if contestant.place.quota.is_some() { " by quota" } else { "" };
        let cpus =
            contestant.place.cpu_count().map(|cpus| format!(" on {cpus} CPUs{by}")).unwrap_or_default();
        format!("{}{} {}{cpus} #{repetition}", point.experiment().name(), point.words(), contestant.label)
    }
}

/// All cells: each repetition is one pass over the matrix, in an order of its own that follows from the
/// seed, so that a drift of the machine falls on all contestants alike.
pub(crate) fn cells<'a>(
    values: &Values,
    experiments: &[Experiment],
    contestants: &'a [Contestant],
    repetitions: Option<u32>,
    seed: u64,
) -> Vec<Cell<'a>> {
    let of = |experiment: Experiment| repetitions.unwrap_or_else(|| values.repetitions(experiment));
    let passes = experiments.iter().map(|experiment| of(*experiment)).max().unwrap_or(0);
    let mut state = seed;
    let mut cells = Vec::new();
    for repetition in 1..=passes {
        let mut pass = Vec::new();
        for experiment in experiments.iter().copied().filter(|experiment| repetition <= of(*experiment)) {
            for contestant in contestants {
                let points = Point::of(experiment, values, contestant).into_iter();
                pass.extend(points.map(|point| Cell { point, contestant, repetition }));
            }
        }
        shuffle(&mut pass, &mut state);
        cells.append(&mut pass);
    }
    cells
}

/// Fisher and Yates.
pub(crate) fn shuffle<T>(items: &mut [T], state: &mut u64) {
    for last in (1..items.len()).rev() {
        *state = kernel::mix(*state);
        let bound = u64::try_from(last).unwrap_or(u64::MAX).saturating_add(1);
        let chosen = usize::try_from(*state % bound).unwrap_or(0);
        items.swap(last, chosen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_keeps_every_item_and_follows_the_seed() {
        let shuffled = |seed: u64| {
            let mut items: Vec<u32> = (0..50).collect();
            shuffle(&mut items, &mut { seed });
            items
        };
        assert_eq!(shuffled(7), shuffled(7));
        assert_ne!(shuffled(7), shuffled(8));
        let mut sorted = shuffled(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }
}
