//! The batching pipeline, as pure values: what an image costs, who is admitted, and what makes a batch.
//!
//! An image is fetched (a wait), decoded (CPU), detected (a device, or CPU, by the batch), and annotated and rendered
//! (CPU, here called post). Interactive images and bulk images share the stages.
//!
//! Nothing here waits. A driver holds these state machines under its own lock, asks what now, and waits in its own way
//! for the earlier of a change and an instant. Instants are durations since the pipeline's start.

mod admission;
mod batcher;
mod bytes;
mod costs;
mod counts;
mod expected;
mod lane;
mod policy;
mod queue;
mod spec;
mod stage;

pub use admission::{Admission, AdmissionFull, Turn};
pub use batcher::{Batch, Batcher, Next, Unoffered};
pub use bytes::{BytesInFlight, Form};
pub use costs::{ImageCosts, StageCosts, Variation};
pub use counts::{LaneCounts, PipelineLevels};
pub use expected::Expected;
pub use lane::{ByLane, Lane};
pub use policy::{OnInteractive, Order, Policy, UnknownPolicy};
pub use queue::{LaneQueue, QueueFull};
pub use spec::{Detector, ImageBytes, PipelineSpec, Workers};
pub use stage::{ByStage, Fault, PlannedFault, Stage};
