//! What the laws say of given values, for `predict`: each law's inputs, its figures, and the same as text.

pub(crate) mod amdahl;
mod figure;
mod inputs;
pub(crate) mod little;
pub(crate) mod pipeline;
pub(crate) mod pool;
mod value;

pub(crate) use figure::Prediction;
pub(crate) use inputs::given;
