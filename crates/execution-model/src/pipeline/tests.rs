//! The pipeline on a virtual clock, and with threads.

mod beside_prediction;
mod bounds;
mod cores;
mod drivers;
mod policies;
mod simulation;
