//! The columns of the decision table: what each asks, and which cell of a variant answers it.

use serde_json::Value;

use crate::contestant::FLOOR;
use crate::experiment::Experiment;
use crate::format::{bytes, count, metric, ns};
use crate::summary::Group;

/// A column of the table.
pub(super) struct Question {
    pub(super) title: &'static str,
    /// Whose cells answer it.
    pub(super) experiment: Experiment,
    pub(super) condition: fn(&Chosen) -> String,
    pub(super) answer: for<'a> fn(&Chosen, &[&'a Group]) -> Option<Answer<'a>>,
    /// A value of its metric, as text.
    pub(super) format: fn(&str, f64) -> String,
}

/// The group that answers, and what is told of it.
#[derive(Clone, Debug)]
pub(super) struct Answer<'a> {
    pub(super) group: &'a Group,
    /// By which it is ranked.
    pub(super) metric: &'static str,
    /// Of which the interval is.
    interval_of: &'static str,
    /// In the place of that metric.
    text: Option<String>,
    pub(super) note: Option<String>,
    /// Whether it is the same question for this variant as for others.
    pub(super) is_comparable: bool,
}

/// Conditions that depend on what was run: one for all variants.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chosen {
    /// The largest share of the workers' time, in percent, that is no overload.
    share: Option<u64>,
    /// The fewest connections of a closed loop.
    connections: Option<u64>,
}

pub(super) const QUESTIONS: [Question; 11] = [
    Question {
        title: "burst efficiency",
        experiment: Experiment::Burst,
        condition: |_| {
            "bound / elapsed of a burst, cold; more is better, ranked where no limit bounds it".to_owned()
        },
        answer: burst,
        format: metric,
    },
    Question {
        title: "in-flight capacity, in process",
        experiment: Experiment::HoldTasks,
        condition: |_| {
            "most that wait at once within the objective, and what ended it; more is better".to_owned()
        },
        answer: |_, own| capacity(own, Experiment::HoldTasks),
        format: metric,
    },
    Question {
        title: "in-flight capacity, HTTP",
        experiment: Experiment::Hold,
        condition: |_| "the same with a connection a request; more is better".to_owned(),
        answer: |_, own| capacity(own, Experiment::Hold),
        format: metric,
    },
    Question {
        title: "memory a task",
        experiment: Experiment::Tasks,
        condition: |_| {
            "one more waiting request: PSS, page tables and kernel stacks; less is better".to_owned()
        },
        answer: task,
        format: |_, value| bytes(value),
    },
    Question {
        title: "memory a connection, user / kernel",
        experiment: Experiment::Connections,
        condition: |_| {
            "one more idle connection: PSS / page tables, kernel stacks and slab of both ends; less is better, \
             by all but the slab; the interval is of the PSS"
                .to_owned()
        },
        answer: connection,
        format: |_, value| bytes(value),
    },
    Question {
        title: "probe p99, inline",
        experiment: Experiment::Probe,
        condition: |chosen| {
            format!("beside blockers that sleep on their thread{}; less is better", chosen.of_time())
        },
        answer: inline,
        format: metric,
    },
    Question {
        title: "probe p99, mitigated",
        experiment: Experiment::Probe,
        condition: |_| {
            "beside the same blockers, offloaded or in place, whichever is less; less is better".to_owned()
        },
        answer: mitigated,
        format: metric,
    },
    Question {
        title: "requests/s",
        experiment: Experiment::Closed,
        condition: |chosen| {
            let connections = chosen.connections.map(|number| format!(" over {} connections", count(number)));
            format!("an empty plan{}, as fast as it goes; more is better", connections.unwrap_or_default())
        },
        answer: |chosen, own| closed(chosen, own, "throughput_per_s"),
        format: metric,
    },
    Question {
        title: "CPU a request",
        experiment: Experiment::Closed,
        condition: |_| "of the server, in the same cell; less is better".to_owned(),
        answer: |chosen, own| closed(chosen, own, CPU_METRIC),
        format: metric,
    },
    Question {
        title: "pipeline, bulk images/s",
        experiment: Experiment::Lanes16,
        condition: |_| "batches of up to 16, interactive images first (lanes16); more is better".to_owned(),
        answer: |_, own| lanes16(own, "bulk_images_per_s"),
        format: metric,
    },
    Question {
        title: "pipeline, interactive p50",
        experiment: Experiment::Lanes16,
        condition: |_| "in the same cell, from the intended start; less is better".to_owned(),
        answer: |_, own| lanes16(own, "interactive_p50_ns"),
        format: metric,
    },
];

impl Chosen {
    pub(super) fn of(groups: &[Group]) -> Chosen {
        let param = |experiment: Experiment, name: &'static str| {
            of(groups.iter(), experiment).filter_map(move |group| group.param(name))
        };
        Chosen {
            share: param(Experiment::Probe, "blocker_share_percent").filter(|share| *share < 100).max(),
            connections: param(Experiment::Closed, "connections").min(),
        }
    }

    fn of_time(&self) -> String {
        self.share.map(|share| format!(" for {share} % of the workers' time")).unwrap_or_default()
    }
}

impl<'a> Answer<'a> {
    fn new(group: &'a Group, metric: &'static str) -> Answer<'a> {
        Answer { group, metric, interval_of: metric, text: None, note: None, is_comparable: true }
    }

    /// The figure as text, marked where it is a lower bound.
    pub(super) fn figure(&self, question: &Question) -> Option<String> {
        let value = self.group.median(self.metric)?;
        let text = self.text.clone().unwrap_or_else(|| (question.format)(self.metric, value));
        Some(if self.is_lower_bound() { format!(">= {text}") } else { text })
    }

    /// `[571 B, 583 B] 93.8 %`, or what it is of instead.
    pub(super) fn interval(&self, question: &Question) -> Option<String> {
        let interval = self.group.interval(self.interval_of)?;
        let end = |value: f64| (question.format)(self.metric, value);
        let ends = format!("[{}, {}]", end(interval.low.get()), end(interval.high.get()));
        Some(if interval.is_of_fit {
            format!("{ends} fit")
        } else {
            format!("{ends} {:.1} %", interval.coverage * 100.0)
        })
    }

    /// CPU a request is exact where the client limits the rate.
    fn is_lower_bound(&self) -> bool {
        self.group.censored == Some(true) && self.metric != CPU_METRIC
    }
}

const CPU_METRIC: &str = "cpu_ns_per_request";

fn burst<'a>(_: &Chosen, own: &[&'a Group]) -> Option<Answer<'a>> {
    let warm = |group: &Group| group.cell.params.get("warm").and_then(Value::as_bool) == Some(true);
    let bursts = || of(own.iter().copied(), Experiment::Burst);
    let cold = bursts().find(|group| !warm(group))?;
    let limit = limit(cold).map(|limit| format!("limit {}", count(limit)));
    let warmed = bursts().find(|group| warm(group) && group.status.ranks());
    let warmed = warmed.and_then(|group| group.median("efficiency")).map(|share| format!("warm {share:.3}"));
    let note = [limit, warmed].into_iter().flatten().collect::<Vec<_>>().join(", ");
    Some(Answer {
        note: Some(note).filter(|note| !note.is_empty()),
        is_comparable: self::limit(cold).is_none(),
        ..Answer::new(cold, "efficiency")
    })
}

fn capacity<'a>(own: &[&'a Group], experiment: Experiment) -> Option<Answer<'a>> {
    let verdict = of(own.iter().copied(), experiment).find(|group| group.param("requests").is_none())?;
    Some(Answer { note: verdict.limited_by.clone(), ..Answer::new(verdict, "in_flight_capacity") })
}

/// What waits in a pool's queue, where the model has a pool: its places are paid for before the first request comes.
fn task<'a>(_: &Chosen, own: &[&'a Group]) -> Option<Answer<'a>> {
    let is_queued = |group: &Group| text(group, "waiting") == Some("queued");
    let tasks = || of(own.iter().copied(), Experiment::Tasks);
    let in_service = tasks().find(|group| !is_queued(group))?;
    let answer = |group: &'a Group, note: Option<String>| Answer {
        note,
        ..Answer::new(group, "total_bytes_per_unit")
    };
    let is_pool = limit(in_service).is_some() || in_service.metrics.is_empty();
    match tasks().find(|group| is_queued(group)).filter(|_| is_pool) {
        Some(queued) => {
            let places = limit(queued).map(|limit| format!(" of {} places", count(limit)));
            let note = format!("in the queue{}", places.unwrap_or_default());
            Some(Answer { is_comparable: false, ..answer(queued, Some(note)) })
        }
        None => {
            let note = user_and_kernel(in_service)
                .filter(|(_, kernel)| *kernel >= 1.0)
                .map(|(user, kernel)| format!("user {}, kernel {}", bytes(user), bytes(kernel)));
            Some(answer(in_service, note))
        }
    }
}

fn connection<'a>(_: &Chosen, own: &[&'a Group]) -> Option<Answer<'a>> {
    let group = of(own.iter().copied(), Experiment::Connections).next()?;
    let slab = group.median("slab_bytes_per_unit");
    let text = user_and_kernel(group).map(|(user, kernel)| match slab {
        Some(slab) => format!("{} / {}", bytes(user), bytes(kernel + slab)),
        None => format!("{} / {} and slab", bytes(user), bytes(kernel)),
    });
    Some(Answer { text, interval_of: "pss_bytes_per_unit", ..Answer::new(group, "total_bytes_per_unit") })
}

/// PSS, and page tables with kernel stacks.
fn user_and_kernel(group: &Group) -> Option<(f64, f64)> {
    let kernel = group.median("page_table_bytes_per_unit")? + group.median("kernel_stack_bytes_per_unit")?;
    Some((group.median("pss_bytes_per_unit")?, kernel))
}

/// What the innocent feel beside blockers that keep their thread; alone, where there is no model to block.
fn inline<'a>(chosen: &Chosen, own: &[&'a Group]) -> Option<Answer<'a>> {
    let probes = || of(own.iter().copied(), Experiment::Probe);
    let alone = probes().find(|group| share(group) == Some(0));
    let beside = probes().find(|group| {
        share(group) == chosen.share
            && text(group, "blocker") == Some("block")
            && text(group, "strategy") == Some("inline")
    });
    let note = alone.and_then(|group| group.median("probe_p99_ns")).map(|p99| format!("alone {}", ns(p99)));
    match (beside, alone) {
        (Some(group), _) => Some(Answer { note, ..Answer::new(group, "probe_p99_ns") }),
        (None, Some(group)) if group.cell.runtime == FLOOR => Some(Answer {
            note: Some("alone".to_owned()),
            is_comparable: false,
            ..Answer::new(group, "probe_p99_ns")
        }),
        _ => None,
    }
}

fn mitigated<'a>(chosen: &Chosen, own: &[&'a Group]) -> Option<Answer<'a>> {
    let others = || {
        let is_other = |group: &&Group| text(group, "strategy").is_some_and(|strategy| strategy != "inline");
        of(own.iter().copied(), Experiment::Probe).filter(is_other)
    };
    let at_share =
        others().filter(|group| share(group) == chosen.share && text(group, "blocker") == Some("block"));
    let rank =
        |group: &&Group| (!group.status.ranks(), group.median("probe_p99_ns").unwrap_or(f64::INFINITY));
    let best = at_share.min_by(|a, b| {
        let ((a_last, a_p99), (b_last, b_p99)) = (rank(a), rank(b));
        a_last.cmp(&b_last).then(a_p99.total_cmp(&b_p99))
    });
    if let Some(group) = best {
        let how = match (text(group, "strategy"), group.param("offload_threads")) {
            (Some("offload"), Some(threads)) => format!("offloaded to {} threads", count(threads)),
            (Some("in-place"), _) => "in place".to_owned(),
            (strategy, _) => strategy.unwrap_or_default().to_owned(),
        };
        return Some(Answer { note: Some(how), ..Answer::new(group, "probe_p99_ns") });
    }
    others().find(|group| group.metrics.is_empty()).map(|group| Answer::new(group, "probe_p99_ns"))
}

fn closed<'a>(chosen: &Chosen, own: &[&'a Group], metric: &'static str) -> Option<Answer<'a>> {
    let group = of(own.iter().copied(), Experiment::Closed)
        .find(|group| group.param("connections") == chosen.connections)?;
    let is_exact = group.censored != Some(true) || metric == CPU_METRIC;
    Some(Answer { is_comparable: is_exact, ..Answer::new(group, metric) })
}

/// The study's own pipeline, and no other setting of it.
fn lanes16<'a>(own: &[&'a Group], metric: &'static str) -> Option<Answer<'a>> {
    let mut cells = of(own.iter().copied(), Experiment::Lanes16);
    let group = cells.find(|group| text(group, "setting") == Some(""))?;
    Some(Answer::new(group, metric))
}

fn of<'a>(
    groups: impl Iterator<Item = &'a Group>,
    experiment: Experiment,
) -> impl Iterator<Item = &'a Group> {
    groups.filter(move |group| group.cell.experiment == experiment.name())
}

fn share(group: &Group) -> Option<u64> {
    group.param("blocker_share_percent")
}

fn text<'a>(group: &'a Group, param: &str) -> Option<&'a str> {
    group.cell.params.get(param)?.as_str()
}

fn limit(group: &Group) -> Option<u64> {
    group.evidence.get("in_flight_limit")?.as_u64()
}
