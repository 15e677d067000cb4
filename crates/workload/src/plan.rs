//! A plan: the steps of one request, in order, and its text form `wait=20ms,compute=12000,block=10ms`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::job::Progress;

/// The most steps that one plan may have. A plan comes from a URL, so it is bounded.
pub const STEPS_MAX: usize = 16;
/// The longest that the waits and blocks of one plan may last together.
pub const WAIT_MAX: Duration = Duration::from_secs(600);
/// The most rounds that the compute steps of one plan may have together: at some 4 ns a round, 8 s of one core. One
/// request must not hold a core for longer than a server takes to drain, 10 s where nothing else is said.
pub const ROUNDS_MAX: u64 = 2_000_000_000;

/// One thing that a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A downstream call: no core is used, and the model waits in its own way.
    Wait(Duration),
    /// Rounds of the [`kernel`](crate::kernel): fixed work, so that its checksum can be verified.
    Compute(u64),
    /// Blocks the OS thread behind the scheduler's back, as a blocking library would.
    Block(Duration),
    /// Panics: a fault planted on purpose, to show that the rest of the server survives it.
    Panic,
}

/// The steps of one request, in order. Cheap to clone: requests of one burst share their steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// None where there are none, which takes no memory.
    steps: Option<Arc<[Step]>>,
}

impl Plan {
    /// A plan of these steps.
    ///
    /// # Errors
    ///
    /// Names the bound that the steps together exceed.
    pub fn new(steps: impl AsRef<[Step]>) -> Result<Plan, PlanError> {
        let steps = steps.as_ref();
        if steps.len() > STEPS_MAX {
            return Err(PlanError::TooManySteps { steps: steps.len() });
        }
        let plan = Plan { steps: (!steps.is_empty()).then(|| steps.into()) };
        let lasts = plan.least_duration();
        if lasts > WAIT_MAX {
            return Err(PlanError::TooLong { sum: ShortDuration(lasts).to_string() });
        }
        match plan.rounds() {
            rounds if rounds > ROUNDS_MAX => Err(PlanError::TooManyRounds { rounds }),
            _ => Ok(plan),
        }
    }

    /// The steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        self.steps.as_deref().unwrap_or_default()
    }

    /// The least time that a request can take: the sum of its waits and blocks. A response that
    /// is faster did not wait.
    #[must_use]
    pub fn least_duration(&self) -> Duration {
        let lasts = self.steps().iter().map(|step| match *step {
            Step::Wait(duration) | Step::Block(duration) => duration,
            Step::Compute(_) | Step::Panic => Duration::ZERO,
        });
        lasts.fold(Duration::ZERO, Duration::saturating_add)
    }

    /// The sum of the plan's compute rounds.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        let rounds =
            self.steps().iter().map(|step| if let Step::Compute(rounds) = *step { rounds } else { 0 });
        rounds.fold(0, u64::saturating_add)
    }

    /// The checksum that carrying out the whole plan from `seed` must give, found by doing its
    /// compute steps here.
    #[must_use]
    pub fn checksum(&self, seed: u64) -> u64 {
        let mut progress = Progress::new(seed);
        for step in self.steps() {
            match *step {
                Step::Wait(_) => progress.waited(),
                Step::Compute(rounds) => progress.compute(rounds),
                Step::Block(_) => progress.blocked(),
                Step::Panic => {}
            }
        }
        progress.answer().checksum
    }
}

/// Why a text is not a plan, in words that a caller can act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A step has no `=` and is not `panic`.
    #[error("step {step:?} is not NAME=VALUE; write wait=20ms, compute=12000 or block=10ms")]
    NotAPair {
        /// The text of the step.
        step: String,
    },
    /// A step's name is none that there is.
    #[error("unknown step {name:?}; the steps are wait, compute, block and panic")]
    UnknownStep {
        /// The name that was given.
        name: String,
    },
    /// A duration cannot be read.
    #[error("{value:?} is not a duration; write a whole number and a unit, ns, us, ms or s, such as 20ms")]
    BadDuration {
        /// The text of the value.
        value: String,
    },
    /// A number of rounds cannot be read.
    #[error("{value:?} is not a number of rounds; write a whole number, such as compute=12000")]
    BadRounds {
        /// The text of the value.
        value: String,
    },
    /// The waits and blocks are over [`WAIT_MAX`].
    #[error("the waits and blocks last {sum} together, and the most is {}s", WAIT_MAX.as_secs())]
    TooLong {
        /// How long they last.
        sum: String,
    },
    /// The compute steps are over [`ROUNDS_MAX`].
    #[error("the compute steps have {rounds} rounds together, and the most is {ROUNDS_MAX}")]
    TooManyRounds {
        /// The rounds that were asked for.
        rounds: u64,
    },
    /// The plan has more than [`STEPS_MAX`] steps.
    #[error("a plan of {steps} steps is over the most, {STEPS_MAX}")]
    TooManySteps {
        /// How many steps were given.
        steps: usize,
    },
}

impl FromStr for Plan {
    type Err = PlanError;

    /// Reads steps separated by commas. The empty text is the empty plan.
    fn from_str(text: &str) -> Result<Plan, PlanError> {
        if text.is_empty() {
            return Ok(Plan { steps: None });
        }
        let mut steps = [Step::Panic; STEPS_MAX];
        let mut count = 0;
        for step in text.split(',') {
            let slot = steps.get_mut(count);
            *slot.ok_or_else(|| PlanError::TooManySteps { steps: text.split(',').count() })? =
                parse_step(step)?;
            count += 1;
        }
        Plan::new(&steps[..count])
    }
}

fn parse_step(text: &str) -> Result<Step, PlanError> {
    if text == "panic" {
        return Ok(Step::Panic);
    }
    let Some((name, value)) = text.split_once('=') else {
        return Err(PlanError::NotAPair { step: text.to_owned() });
    };
    match name {
        "wait" => parse_duration(value).map(Step::Wait),
        "block" => parse_duration(value).map(Step::Block),
        "compute" => match value.parse() {
            Ok(rounds) => Ok(Step::Compute(rounds)),
            Err(_) => Err(PlanError::BadRounds { value: value.to_owned() }),
        },
        _ => Err(PlanError::UnknownStep { name: name.to_owned() }),
    }
}

fn parse_duration(value: &str) -> Result<Duration, PlanError> {
    let bad = || PlanError::BadDuration { value: value.to_owned() };
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = value[..digits].parse().map_err(|_| bad())?;
    let ns_per_unit: u64 = match &value[digits..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(bad()),
    };
    // An overflow is far over the longest wait, and says so rather than "not a duration".
    let ns = number.checked_mul(ns_per_unit).ok_or_else(|| PlanError::TooLong { sum: value.to_owned() })?;
    Ok(Duration::from_nanos(ns))
}

impl fmt::Display for Plan {
    /// The text form, which reads back as the same plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps().iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            step.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Step::Wait(duration) => write!(f, "wait={}", ShortDuration(duration)),
            Step::Compute(rounds) => write!(f, "compute={rounds}"),
            Step::Block(duration) => write!(f, "block={}", ShortDuration(duration)),
            Step::Panic => f.write_str("panic"),
        }
    }
}

/// A duration in the largest unit that holds it in whole numbers.
struct ShortDuration(Duration);

impl fmt::Display for ShortDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos();
        let (number, unit) = match ns {
            0 => (0, "ms"),
            _ if ns.is_multiple_of(1_000_000_000) => (ns / 1_000_000_000, "s"),
            _ if ns.is_multiple_of(1_000_000) => (ns / 1_000_000, "ms"),
            _ if ns.is_multiple_of(1_000) => (ns / 1_000, "us"),
            _ => (ns, "ns"),
        };
        write!(f, "{number}{unit}")
    }
}

impl serde::Serialize for Plan {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Plan {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Plan, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(text: &str) -> String {
        text.parse::<Plan>().unwrap_err().to_string()
    }

    #[test]
    fn reads_every_step() {
        let plan: Plan = "wait=20ms,compute=12000,block=10us,panic".parse().unwrap();
        assert_eq!(
            plan.steps(),
            [
                Step::Wait(Duration::from_millis(20)),
                Step::Compute(12_000),
                Step::Block(Duration::from_micros(10)),
                Step::Panic
            ]
        );
        assert_eq!(plan.least_duration(), Duration::from_micros(20_010));
        assert_eq!(plan.rounds(), 12_000);
        // As much as a plan may hold, to the nanosecond and the round.
        assert!("wait=300s,compute=1000000000,block=300s,compute=1000000000".parse::<Plan>().is_ok());
        assert!("".parse::<Plan>().unwrap().steps().is_empty());
    }

    #[test]
    fn says_what_is_wrong_with_a_plan() {
        assert!(error("wait").contains("is not NAME=VALUE"));
        assert!(error("sleep=1s").contains("the steps are wait, compute, block and panic"));
        assert!(error("wait=1.5s").contains("is not a duration"));
        assert!(error("wait=20").contains("is not a duration"));
        assert!(error("wait=-1ms").contains("is not a duration"));
        assert!(error("compute=ten").contains("is not a number of rounds"));
        assert!(error("wait=601s").contains("last 601s together, and the most is 600s"));
        assert!(error("wait=400s,compute=1,block=200001ms").contains("last 600001ms together"));
        assert!(error("wait=99999999999999999s").contains("last 99999999999999999s together"));
        assert!(error("compute=2000000001").contains("2000000001 rounds together"));
        assert!(
            error("compute=1500000000,wait=1ms,compute=500000001").contains("2000000001 rounds together")
        );
        let most = u64::MAX;
        assert!(error(&format!("compute={most},compute={most}")).contains("rounds together"));
        assert!(error(&["wait=1ms"; 17].join(",")).contains("over the most, 16"));
        assert!(error("wait=1ms,").contains("is not NAME=VALUE"));
    }

    #[test]
    fn a_checksum_depends_on_seed_rounds_and_every_step() {
        let checksum = |text: &str, seed| text.parse::<Plan>().unwrap().checksum(seed);
        let whole = checksum("wait=1ms,compute=5,block=1ms", 3);
        assert_ne!(whole, checksum("wait=1ms,compute=5,block=1ms", 4));
        assert_ne!(whole, checksum("wait=1ms,compute=4,block=1ms", 3));
        assert_ne!(whole, checksum("wait=1ms,compute=5", 3));
        assert_ne!(whole, checksum("compute=5,block=1ms", 3));
        assert_ne!(whole, checksum("block=1ms,compute=5,wait=1ms", 3));
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..37_500_000_000_u64).prop_map(|ns| Step::Wait(Duration::from_nanos(ns))),
            (0..ROUNDS_MAX / 16).prop_map(Step::Compute),
            (0..37_500_000_000_u64).prop_map(|ns| Step::Block(Duration::from_nanos(ns))),
            Just(Step::Panic),
        ]
    }

    proptest! {
        #[test]
        fn the_text_form_reads_back(steps in prop::collection::vec(any_step(), 0..=STEPS_MAX)) {
            let plan = Plan::new(&steps).unwrap();
            prop_assert_eq!(plan.to_string().parse::<Plan>().unwrap(), plan);
        }

        #[test]
        fn no_text_panics_the_parser(text in "\\PC*") {
            drop(text.parse::<Plan>());
        }
    }
}
