//! The pipeline on a virtual clock, and with threads.

mod cores;
mod drivers;
mod policies;
mod simulation;
