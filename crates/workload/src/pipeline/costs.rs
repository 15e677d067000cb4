//! What an image costs at each stage, the same for all or varied.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::arrivals::nanoseconds;
use crate::{kernel, math};

/// What the stages take for an image, or on average. Nothing else shares their core or their device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageCosts {
    /// A wait, on no core.
    #[serde(rename = "fetch_ns", with = "nanoseconds")]
    pub fetch: Duration,
    /// CPU time.
    #[serde(rename = "decode_ns", with = "nanoseconds")]
    pub decode: Duration,
    /// Device time of each batch, however large.
    #[serde(rename = "detect_batch_ns", with = "nanoseconds")]
    pub detect_batch: Duration,
    /// Device time of each image, beside its batch's.
    #[serde(rename = "detect_image_ns", with = "nanoseconds")]
    pub detect_image: Duration,
    /// CPU time to annotate and to render.
    #[serde(rename = "post_ns", with = "nanoseconds")]
    pub post: Duration,
}

/// The most that a varied cost is of its mean. A draw above it is cut to it: 9 in 100,000 where the deviation is as large
/// as the mean, and none where it is 20 % of it.
const SHARE_MAX: f64 = 16.0;

/// How the costs of images differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Variation {
    /// Every image costs the same.
    None,
    /// Each stage of each image takes a time of its own, drawn from a log-normal distribution whose mean is the
    /// stage's cost.
    LogNormal {
        /// The standard deviation as a share of the mean; 0.2 is 20 %. Above 1 it is taken for 1.
        deviation_share: f64,
        /// The same seed gives each image the same costs, everywhere.
        seed: u64,
    },
}

/// What one image costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageCosts {
    /// A wait, on no core.
    pub fetch: Duration,
    /// CPU time.
    pub decode: Duration,
    /// Device time, beside its batch's.
    pub detect: Duration,
    /// CPU time.
    pub post: Duration,
}

impl StageCosts {
    /// What image `number` costs: a pure function of the costs, the variation and the number.
    #[must_use]
    pub fn of_image(&self, number: u64, variation: Variation) -> ImageCosts {
        self.times(variation.shares(number))
    }

    fn times(&self, [fetch, decode, detect, post]: [f64; 4]) -> ImageCosts {
        ImageCosts {
            fetch: self.fetch.mul_f64(fetch),
            decode: self.decode.mul_f64(decode),
            detect: self.detect_image.mul_f64(detect),
            post: self.post.mul_f64(post),
        }
    }

    /// The most that any image costs.
    #[must_use]
    pub fn of_any_image(&self, variation: Variation) -> ImageCosts {
        self.times(match variation {
            Variation::None => [1.0; 4],
            Variation::LogNormal { .. } => [SHARE_MAX; 4],
        })
    }

    /// The device time of a batch of these images.
    #[must_use]
    pub fn of_batch(&self, images: impl IntoIterator<Item = ImageCosts>) -> Duration {
        images.into_iter().map(|image| image.detect).fold(self.detect_batch, Duration::saturating_add)
    }

    /// The time from admission to the batcher where nothing else is in the way.
    #[must_use]
    pub fn to_batcher(&self) -> Duration {
        self.fetch + self.decode
    }
}

impl Variation {
    fn shares(self, number: u64) -> [f64; 4] {
        let Variation::LogNormal { deviation_share, seed } = self else { return [1.0; 4] };
        let share = if deviation_share.is_finite() { deviation_share.clamp(0.0, 1.0) } else { 0.0 };
        // Of the normal distribution underneath, so that the mean is 1 and the deviation is the share.
        let variance = math::ln(1.0 + share * share);
        // Numbers that follow each other must not draw from sequences that overlap.
        let mut random = kernel::mix(seed ^ kernel::mix(number));
        let mut draw = || math::exp(variance.sqrt() * math::normal(&mut random) - variance / 2.0);
        [(); 4].map(|()| draw().min(SHARE_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::super::PipelineSpec;
    use super::*;

    const VARIED: Variation = Variation::LogNormal { deviation_share: 0.2, seed: 7 };

    fn costs() -> StageCosts {
        PipelineSpec::of_the_study(2).costs
    }

    #[test]
    fn images_cost_the_same_where_nothing_varies() {
        let image = costs().of_image(9, Variation::None);
        assert_eq!(image, costs().of_image(0, Variation::None));
        let millis = [image.fetch, image.decode, image.detect, image.post].map(|cost| cost.as_millis());
        assert_eq!(millis, [40, 8, 6, 6]);
        assert_eq!(costs().of_batch([image; 16]), Duration::from_millis(126));
        assert_eq!(costs().to_batcher(), Duration::from_millis(48));
    }

    #[test]
    fn varied_costs_keep_the_mean_and_have_the_deviation() {
        const IMAGES: u64 = 20_000;
        let shares = (0..IMAGES).map(|number| costs().of_image(number, VARIED).decode.as_secs_f64() / 0.008);
        let shares: Vec<f64> = shares.collect();
        let mean = shares.iter().sum::<f64>() / IMAGES as f64;
        let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / IMAGES as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((variance.sqrt() - 0.2).abs() < 0.01, "{}", variance.sqrt());
    }

    #[test]
    fn no_image_costs_more_than_any_image_can() {
        let wild = Variation::LogNormal { deviation_share: 1.0, seed: 7 };
        let most = costs().of_any_image(wild).decode;
        let decode = |number| costs().of_image(number, wild).decode;
        assert!((0..100_000).map(decode).max() == Some(most), "some draws are cut, and to that");
        assert_eq!(costs().of_any_image(Variation::None), costs().of_image(0, Variation::None));
    }

    #[test]
    fn an_image_costs_what_its_seed_and_number_say() {
        assert_eq!(costs().of_image(3, VARIED), costs().of_image(3, VARIED));
        assert_ne!(costs().of_image(3, VARIED), costs().of_image(4, VARIED));
        let other = Variation::LogNormal { deviation_share: 0.2, seed: 8 };
        assert_ne!(costs().of_image(3, VARIED), costs().of_image(3, other));
        let nonsense = Variation::LogNormal { deviation_share: f64::NAN, seed: 8 };
        assert_eq!(costs().of_image(3, nonsense), costs().of_image(3, Variation::None));
    }
}
