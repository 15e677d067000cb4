//! What can be said of few samples: medians and their intervals, ratios, slopes, and how often chance alone looks like
//! a difference. Pure: no clock, no thread, no socket; whatever is random comes from a seed.
//!
//! The sample is the run. Requests within one run share its process, its minute and its machine, so a million of them
//! are one sample of what another run would give.
//!
//! No figure here is undefined. Samples refuse what is not finite, and what cannot be computed is a
//! [`StatisticsError`] that says why.

mod binomial;
mod bootstrap;
mod error;
mod interval;
mod level;
mod line;
mod noise;
mod percentile;
mod sample;

pub use binomial::Binomial;
pub use bootstrap::{Bootstrap, RUNS_LEAST, Ratio, Slope};
pub use error::StatisticsError;
pub use interval::{Interval, median_interval};
pub use level::Level;
pub use line::{Line, Point};
pub use noise::{Bound, distance, upper_bound};
pub use percentile::Percentile;
pub use sample::Sample;
