//! What a batching policy can choose, and the policies that are compared.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::lane::Lane;
use crate::arrivals::nanoseconds;

/// How images are ordered at every stage, who is admitted, and what makes a batch.
///
/// Sizes are in images and at least 1. Where images are taken by arrival, a batch has one limit, `batch_max`, and lanes
/// count for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Which of the images that wait at a stage is next.
    pub order: Order,
    /// The most images in a batch.
    pub batch_max: usize,
    /// The most bulk images in a batch. A running batch is not preempted: a smaller one ends sooner.
    pub bulk_max: usize,
    /// The most bulk images in a batch that begins while an interactive image is on its way to it.
    pub bulk_before_interactive_max: usize,
    /// The most images in a batch that carries an interactive one.
    pub batch_with_interactive_max: usize,
    /// The longest that a device that could work waits for a batch to fill. It does not wait at all for a batch that is
    /// full, or where nothing is on the way that can be there in time.
    #[serde(rename = "window_ns", with = "nanoseconds")]
    pub window: Duration,
    /// What an interactive image does to the batch that is being filled.
    pub on_interactive: OnInteractive,
    /// The longest that a device that could work waits for an interactive image that is about to arrive. Zero: it does
    /// not wait for one.
    #[serde(rename = "hold_ns", with = "nanoseconds")]
    pub hold: Duration,
    /// The slots in flight that bulk work leaves to interactive work.
    pub interactive_reserved: usize,
}

/// Which of the images that wait is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The one that came first: one queue for both lanes.
    Arrival,
    /// The interactive one, where there is one: a queue for each lane.
    InteractiveFirst,
}

/// What an interactive image does to the batch that is being filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnInteractive {
    /// It is in the next batch, which goes when it would have gone without it.
    Join,
    /// The batch goes at once, with as many bulk images as are there and fit.
    Flush,
    /// The batch goes at once, with what it has gathered: an interactive image that finds a device free, or that a
    /// device finds when it becomes free, goes alone.
    FlushGathered,
}

const WINDOW: Duration = Duration::from_millis(20);

impl Policy {
    /// One image a batch, by arrival.
    pub const FIFO1: Policy = Policy {
        order: Order::Arrival,
        batch_max: 1,
        bulk_max: 1,
        bulk_before_interactive_max: 1,
        batch_with_interactive_max: 1,
        window: WINDOW,
        on_interactive: OnInteractive::Join,
        hold: Duration::ZERO,
        interactive_reserved: 0,
    };

    /// Up to 16 images a batch, by arrival.
    pub const FIFO16: Policy = Policy {
        batch_max: 16,
        bulk_max: 16,
        bulk_before_interactive_max: 16,
        batch_with_interactive_max: 16,
        ..Policy::FIFO1
    };

    /// Interactive images first at every stage; one of them flushes the batch.
    pub const LANES16: Policy = Policy {
        order: Order::InteractiveFirst,
        on_interactive: OnInteractive::FlushGathered,
        ..Policy::FIFO16
    };

    /// Interactive images have slots of their own, are first at every stage and in the next batch, however many bulk
    /// images wait for it, and no batch is the smaller for them.
    pub const JOIN: Policy =
        Policy { on_interactive: OnInteractive::Join, interactive_reserved: 8, ..Policy::LANES16 };

    /// As `join`, and the device is held for an interactive image that is about to arrive, whose batch is of up to 8.
    ///
    /// It is known 48 ms ahead, at the study's costs. A batch of 16, which takes 126 ms, would keep it waiting for most
    /// of that; what begins while it is on its way is of up to 4, and takes 54 ms.
    pub const HOLD8: Policy = Policy {
        bulk_before_interactive_max: 4,
        batch_with_interactive_max: 8,
        on_interactive: OnInteractive::Flush,
        hold: Duration::from_millis(20),
        ..Policy::JOIN
    };

    /// As `hold8`, with a batch of up to 4, and of up to 2 while it is on its way.
    pub const HOLD4: Policy =
        Policy { bulk_before_interactive_max: 2, batch_with_interactive_max: 4, ..Policy::HOLD8 };

    /// Every policy with its name, in the order in which reports show them.
    pub const ALL: [(&str, Policy); 6] = [
        ("fifo1", Policy::FIFO1),
        ("fifo16", Policy::FIFO16),
        ("lanes16", Policy::LANES16),
        ("join", Policy::JOIN),
        ("hold8", Policy::HOLD8),
        ("hold4", Policy::HOLD4),
    ];

    /// The most images in a batch that begins with an image of that lane, where so many interactive images are on
    /// their way.
    pub(super) fn size_max(&self, first: Lane, interactive_on_the_way: usize) -> usize {
        let most = match (self.order, first) {
            (Order::Arrival, _) => self.batch_max,
            (Order::InteractiveFirst, Lane::Interactive) => self.batch_with_interactive_max,
            (Order::InteractiveFirst, Lane::Bulk) if interactive_on_the_way > 0 => {
                self.bulk_max.min(self.bulk_before_interactive_max)
            }
            (Order::InteractiveFirst, Lane::Bulk) => self.bulk_max,
        };
        most.min(self.batch_max).max(1)
    }
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Policy, UnknownPolicy> {
        let named = Policy::ALL.into_iter().find(|(known, _)| *known == name);
        named.map(|(_, policy)| policy).ok_or_else(|| UnknownPolicy { name: name.to_owned() })
    }
}

/// A policy's name is none that there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown policy {name:?}; the policies are fifo1, fifo16, lanes16, join, hold8 and hold4")]
pub struct UnknownPolicy {
    /// The name that was given.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_found_by_its_name_and_survives_a_message() {
        for (name, policy) in Policy::ALL {
            assert_eq!(name.parse(), Ok(policy));
            let text = serde_json::to_string(&policy).unwrap();
            assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy, "{text}");
            assert!(UnknownPolicy { name: "x".into() }.to_string().contains(name));
        }
        assert!("fifo".parse::<Policy>().is_err());
    }
}
